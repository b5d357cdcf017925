"""Screens for the person's settings: the list of all, the themes, and the tour."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sam_tui.core.errors import SamError
from sam_tui.settings.table import SECTIONS, SETTINGS, Setting, Value
from sam_tui.settings.user import UserSettings
from sam_tui.settings.values import expected, from_text, toml
from sam_tui.ui import theme
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice, Dialog, NoteBelow, Picker
from sam_tui.ui.widgets.choice_list import ChoiceList, take_key
from sam_tui.ui.widgets.key_frame import KeyFrame

_AT_ONCE = ("screen.theme",)
"""Settings that take effect immediately."""


class ThemePicker(Picker):
    """The looks; the marked one is shown at once."""

    def __init__(self, names: Sequence[str], current: str) -> None:
        async def load() -> Sequence[Choice]:
            return [Choice(name, _about(name, current)) for name in names]

        super().__init__(
            "choose a theme", load, empty="", keys="Enter chooses · Esc changes nothing"
        )
        self._names = names
        self._first = names.index(current)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Use the marked look at once."""
        if event.option_id is not None and (name := self._names[int(event.option_id)]) != "auto":
            self.app.theme = name  # pyright: ignore[reportUnknownMemberType]


def _value(value: Value) -> Content:
    if value in ("", ()):
        return Content("not set").stylize("$text-muted")
    return Content(one_line(toml(value), 40))


def _about(name: str, current: str) -> str:
    words = "light or dark, as the terminal"
    if name != "auto":
        words = "dark" if theme.LOOKS[name].dark else "light"
    return f"{words} · in use" if name == current else words


class SettingsScreen(Dialog):
    """All settings, filtered by typing and changed on Enter; the fault of a value is shown below."""

    AUTO_FOCUS = "#filter"
    BINDINGS = [Binding("ctrl+d", "unset", "Default", show=False, priority=True)]  # noqa: RUF012

    def __init__(self, settings: UserSettings) -> None:
        super().__init__()
        self._settings = settings
        self._filter = Input(placeholder="type to filter, ↑↓ and Enter to change", id="filter")
        self._list = ChoiceList(id="choices")
        self._list.can_focus = False
        self._value = Input(id="value")
        self._value.display = False
        self._note = NoteBelow(self._list)
        self._changing: Setting | None = None

    def compose(self) -> ComposeResult:
        """Filter line, list, the value that is changed, and a note."""
        with KeyFrame() as frame:
            frame.border_title = Content("settings")
            frame.say_keys("Enter changes · Ctrl+D: default · Esc closes")
            yield self._filter
            yield self._list
            yield self._value
            yield self._note

    def on_mount(self) -> None:
        """Fill the list with all settings."""
        self._fill()

    def _fill(self) -> None:
        words, settings = self._filter.value.lower().split(), self._settings.settings
        at = self._marked
        self._list.clear_options()
        for setting in SETTINGS:
            text = f"{setting.key} {setting.about} {SECTIONS[setting.section]}".lower()
            if all(word in text for word in words):
                origin = str(settings.origin(setting.key))
                line = Content.assemble(
                    (f"{setting.key:<26} ", "$primary"),
                    _value(settings[setting.key]),
                    (f"  {one_line(origin, 60)}" if origin != "default" else "", "$text-muted"),
                )
                self._list.add_option(Option(line, id=setting.key))
        if self._list.option_count:
            keys = [option.id for option in self._list.options]
            self._list.highlighted = keys.index(at.key) if at is not None and at.key in keys else 0
        self._tell(self._about())

    @property
    def _marked(self) -> Setting | None:
        option = self._list.highlighted_option
        return next((s for s in SETTINGS if option is not None and s.key == option.id), None)

    def _about(self) -> str:
        setting = self._marked
        if setting is None:
            return "Nothing matches."
        more = f" Variable {setting.env}." if setting.env else ""
        origin = str(self._settings.settings.origin(setting.key))
        source = f" Set by {origin}." if origin != "default" else ""
        return f"{setting.about.replace('`', '')}: {expected(setting)}.{more}{source}"

    def _tell(self, text: str, style: str = "$text-muted") -> None:
        self._note.update(Content(one_line(text, 400)).stylize(style))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Describe the marked setting."""
        event.stop()
        if self._changing is None:
            self._tell(self._about())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the settings that match the typed words."""
        event.stop()
        if event.input is self._filter:
            self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Change the marked one, or take the value."""
        event.stop()
        if self._changing is not None:
            setting = self._changing
            self._take(setting, event.value)
        elif (setting := self._marked) is not None:
            self._change(setting)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click is as Enter."""
        event.stop()
        if (setting := self._marked) is not None:
            self._change(setting)

    def _change(self, setting: Setting) -> None:
        value = self._settings.settings[setting.key]
        if setting.kind == "switch":
            self._set(setting, not value)
        elif setting.choices and setting.kind == "text":
            at = setting.choices.index(str(value))
            self._set(setting, setting.choices[(at + 1) % len(setting.choices)])
        else:
            self._changing = setting
            text = ", ".join(value) if isinstance(value, tuple) else str(value)
            self._value.value = "" if value == setting.default else text
            self._value.placeholder = f"{setting.key}: {expected(setting)}"
            self._value.display = True
            self.set_focus(self._value)

    def _take(self, setting: Setting, text: str) -> None:
        try:
            value = from_text(setting, text) if text.strip() else None
        except SamError as wrong:
            self._tell(wrong.explain(), "$error")
            return
        self._set(setting, value)
        self._leave_value()

    def _set(self, setting: Setting, value: Value | None) -> None:
        try:
            self._settings.set(setting.key, value)
        except SamError as wrong:
            self._tell(wrong.explain(), "$error")
            return
        self._fill()
        origin = self._settings.settings.origin(setting.key)
        if value is not None and origin.layer != "user":
            self._tell(f"Saved, but {origin} overrides it.", "$warning")
        else:
            when = "" if setting.key in _AT_ONCE else " It applies from the next start on."
            self._tell(f"Saved in {self._settings.path}.{when}")

    def action_unset(self) -> None:
        """Take the marked one out of the person's own file."""
        if self._changing is None and (setting := self._marked) is not None:
            self._set(setting, None)

    def action_leave(self) -> None:
        """Cancel the change of a value, or close."""
        if self._changing is not None:
            self._leave_value()
        else:
            super().action_leave()

    def _leave_value(self) -> None:
        self._changing = None
        self._value.display = False
        self.set_focus(self._filter)

    def on_key(self, event: events.Key) -> None:
        """Move through the list while the filter has the keys."""
        if self._changing is None:
            take_key(event, self._list.moves)


TOUR = (
    "You write below; Enter sends. While the agent works, Enter adds to its turn and Esc cancels it.",
    "@ names a file, / a command, ! runs a command of yours. F1 lists all keys and commands, Ctrl+P "
    "searches them.",
    "The agent reads and edits in this folder as the mode allows (Shift+Tab changes it). Its "
    "commands run in a sandbox. For anything else it asks you here first.",
    "F2 shows todos and terminals. /undo reverts a change, /rewind returns to a message, "
    "/audit shows every decision.",
    "/model chooses the model, /key stores a provider's key, /theme sets the theme, /settings "
    "everything else.",
)
"""The steps of the tour of the workbench."""


class TourScreen(Dialog):
    """One step after the other; Esc skips the rest."""

    BINDINGS = [Binding("enter,space,right", "next", "Next", show=False)]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self._step = 0
        self._text = Static("", markup=False)
        self._frame = KeyFrame(self._text)

    def compose(self) -> ComposeResult:
        """The step."""
        yield self._frame

    def on_mount(self) -> None:
        """Begin."""
        self._show()

    def _show(self) -> None:
        self._frame.border_title = Content(f"tour {self._step + 1} of {len(TOUR)}")
        last = self._step + 1 == len(TOUR)
        self._frame.say_keys("Enter: done" if last else "Enter: on · Esc: skip")
        self._text.update(Content(TOUR[self._step]))

    def action_next(self) -> None:
        """The next step, or the end."""
        self._step += 1
        if self._step == len(TOUR):
            self.dismiss(None)
        else:
            self._show()
