"""Dialogs over the chat: picking from a list, and the help."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sam_tui.core.errors import SamError
from sam_tui.ui.action_tables.groups import grouped
from sam_tui.ui.actions import ACTIONS, WorkbenchAction, keys_of
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens import STYLES
from sam_tui.ui.widgets.choice_list import ChoiceList
from sam_tui.ui.widgets.key_frame import KeyFrame
from sam_tui.ui.widgets.line_input import FilterLine


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a picker: label and detail; ``note`` is displayed while the line is marked."""

    label: str
    detail: str = ""
    note: str = ""


_FRAME = 2
"""The rows of a frame."""
_LEAST, _TALLEST = 3, 24
"""The least and the most rows of a list."""
Preview = Callable[[int], Sequence[str]]
"""Returns the preview of a choice, by its index, as lines."""


class NoteBelow(Static):
    """Text below a list. It reserves its rows, because on a low screen the list would push it out of the
    frame: as many as its longest text needed, so that the list does not jump."""

    def __init__(self, options: OptionList, words: str = "") -> None:
        super().__init__(words, markup=False, classes="note")
        self._options = options
        self._longest = 0
        self._width = 0

    def on_resize(self, event: events.Resize) -> None:
        """Compute the number of rows, and again if the new width wraps the words differently."""
        if event.size.width != self._width:
            self._width, self._longest = event.size.width, 0
        self._longest = max(self._longest, event.size.height)
        self.make_room()

    def make_room(self) -> None:
        """Give the list the height that this text and the rest of the frame leave."""
        frame = self.screen.size.height * 9 // 10 - _FRAME
        beside = [w for w in self.siblings if w is not self._options and w.display]
        rows = sum(w.outer_size.height + w.styles.margin.height for w in beside)
        self._options.styles.max_height = min(_TALLEST, max(_LEAST, frame - rows - self._longest))


class Dialog(ModalScreen[int | None]):
    """Goes away with Esc, and with the key that interrupts."""

    CSS_PATH = STYLES
    BINDINGS = [Binding("escape,ctrl+c,ctrl+q", "leave", "Close", show=False)]  # noqa: RUF012

    def action_leave(self) -> None:
        """Close without a choice."""
        self.dismiss(None)


class Picker(Dialog):
    """A list to choose from, narrowed by typing. The result is the index among all choices.

    ``load`` brings the choices; ``empty`` says what to do when there are none, ``hint`` is a remark
    while there are some, ``keys`` names further keys. ``preview`` returns the lines below a marked
    choice, by its index. Keys apply to the choices that match the words typed before them, also while
    the choices load.
    """

    AUTO_FOCUS = "Input"
    _first = 0
    """The index of the choice that is marked while no search words are typed."""

    def __init__(
        self,
        title: str,
        load: Callable[[], Awaitable[Sequence[Choice]]],
        *,
        empty: str,
        hint: str = "",
        keys: str = "Enter chooses · Esc closes",
        preview: Preview | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._preview = preview
        self._keys = keys
        self._load = load
        self._empty = empty
        self._hint = hint
        self._choices: Sequence[Choice] = ()
        self._narrowed: str | None = None
        """The words that filter the list; None until the choices are loaded."""
        self._ahead: list[tuple[str, Callable[[], None]]] = []
        """Keys pressed before the choices were loaded, each with the words typed before it."""
        self._list = ChoiceList(id="choices")
        self._keys_of_list = {**self._list.moves, "enter": self._list.action_select}
        words = "type to filter, ↑↓ and Enter to choose"
        self._filter = FilterLine(self._take, placeholder=words)
        self._list.can_focus = False
        self._note = NoteBelow(self._list, "Looking…")
        self._frame = KeyFrame()

    def compose(self) -> ComposeResult:
        """Filter line, list, note."""
        self._frame.border_title = Content(self._title)
        self._frame.say_keys(self._keys)
        with self._frame:
            yield self._filter
            yield self._list
            yield self._note

    def on_mount(self) -> None:
        """Bring the choices without holding the screen up."""
        self.run_worker(self._fill(), name="picker", exit_on_error=True)

    async def _fill(self) -> None:
        try:
            self._choices = await self._load()
        except SamError as error:
            self._empty = f"{error.title}: {error.explain()}"
        if not self._choices:
            self._filter.placeholder = ""
            self._frame.say_keys("Esc closes")
        typed = self._filter.value
        for before, act in self._ahead:
            if self._narrowed != before:
                self._narrow(before)
            act()
        if self._narrowed != typed:
            self._narrow(typed)

    def _take(self, key: str, typed: str) -> bool:
        """Move through the list or choose, once it matches the words typed before; False for other keys."""
        act = self._keys_of_list.get(key)
        if act is None and not typed:
            act = self._list.ends.get(key)
        if act is None:
            return False
        if self._narrowed is None:
            self._ahead.append((typed, act))
            return True
        if self._narrowed != typed:
            self._narrow(typed)
        act()
        return True

    def _narrow(self, typed: str) -> None:
        self._narrowed = typed
        words = typed.lower().split()
        self._list.clear_options()
        self._list.add_options(
            Option(_choice_line(choice), id=str(index))
            for index, choice in enumerate(self._choices)
            if all(word in f"{choice.label} {choice.detail}".lower() for word in words)
        )
        if self._list.option_count:
            self._list.highlighted = 0 if words else self._first
        else:
            self._say(f"Nothing matches. {self._hint}".rstrip() if self._choices else self._empty)

    def type(self, words: str) -> None:
        """Narrow the list to these words, as if the person had typed them."""
        self._filter.value = words

    def renew(self, choices: Sequence[Choice]) -> None:
        """Show the same choices in other words; the marked one stays marked."""
        at, self._choices = self._list.highlighted, choices
        self._narrow(self._filter.value)
        self._list.highlighted = at

    def _say(self, note: str) -> None:
        self._note.display = bool(note)
        self._note.update(Content(note))

    @property
    def marked(self) -> int | None:
        """The index of the marked choice among all choices; None if none is marked."""
        option = self._list.highlighted_option
        return int(option.id) if option is not None and option.id is not None else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Display the note and preview of the marked choice."""
        event.stop()
        if (marked := self.marked) is not None:
            lines = self._preview(marked) if self._preview is not None else ()
            self._say(
                "\n".join([*lines, f"{self._choices[marked].note} {self._hint}".strip()]).strip()
            )

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the choices that match the typed words."""
        event.stop()
        if self._narrowed not in (None, self._filter.value):
            self._narrow(self._filter.value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen, by key or by click."""
        event.stop()
        if event.option_id is not None:
            self.dismiss(int(event.option_id))


def _choice_line(choice: Choice) -> Content:
    label = Content(one_line(choice.label, 80))
    if not choice.detail:
        return label
    return Content.assemble(label, ("  " + one_line(choice.detail, 80), "$text-muted"))


_ABOUT_TERMINAL = (
    "In the terminal every key goes to the program. Ctrl+] pressed twice returns to the "
    "prompt; pressed once it reaches the program too. Shift+PgUp, Shift+PgDn and the wheel "
    "scroll, unless a program fills the screen. Drag to select and copy; double click selects "
    "words, triple click lines, Alt a block; use Shift in programs that take the mouse. "
    "Ctrl+click opens a link."
)


def how(action: WorkbenchAction) -> str:
    """The keys and the command of an action."""
    command = f"/{action.slash} {action.argument}".strip() if action.slash else action.typed
    return " · ".join(part for part in (keys_of(action), command) if part)


class HelpScreen(Dialog):
    """All keys and commands, made from the table of actions, by subject; typing narrows them."""

    BINDINGS = [Binding("f1,enter", "leave", "Close", show=False)]  # noqa: RUF012
    AUTO_FOCUS = "Input"

    def __init__(self) -> None:
        super().__init__()
        self._filter = Input(placeholder="type to search", id="filter")
        self._texts: dict[Static, str] = {}
        """The text by which each line is found; a heading is found by all lines under it."""

    def compose(self) -> ComposeResult:
        """Every action with its keys and command, and its help below."""
        with KeyFrame() as frame:
            frame.border_title = Content("help")
            frame.say_keys("↑↓ scrolls · Esc closes")
            yield self._filter
            with VerticalScroll():
                for heading, actions in grouped(ACTIONS):
                    found_by = " ".join(f"{how(a)} {a.title} {a.help}" for a in actions)
                    yield self._line(Content(heading).stylize("bold $accent"), found_by)
                    for action in actions:
                        yield from self._lines(action)
                yield self._line(Content(f"\n{_ABOUT_TERMINAL}"), _ABOUT_TERMINAL)

    def _lines(self, action: WorkbenchAction) -> Iterator[Static]:
        text = f"{how(action)} {action.title} {action.help}"
        line = Content.assemble((how(action), "$primary"), "  ", (action.title, "bold"))
        yield self._line(line, text)
        yield self._line(Content(action.help), text, "about")

    def _line(self, content: Content, found_by: str, classes: str = "") -> Static:
        line = Static(content, markup=False, classes=classes)
        self._texts[line] = found_by.lower()
        return line

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the actions that contain the typed words."""
        event.stop()
        words = event.value.lower().split()
        for line, text in self._texts.items():
            line.display = all(word in text for word in words)

    def on_key(self, event: events.Key) -> None:
        """Scroll while the filter has the keys; ? closes as it opened."""
        scroll = self.query_one(VerticalScroll)
        moves = {
            "up": scroll.scroll_up,
            "down": scroll.scroll_down,
            "pageup": scroll.scroll_page_up,
            "pagedown": scroll.scroll_page_down,
        }
        if event.key in moves:
            event.stop()
            event.prevent_default()
            moves[event.key](animate=False)
        elif event.key == "question_mark" and not self._filter.value:
            event.stop()
            event.prevent_default()
            self.action_leave()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter closes."""
        event.stop()
        self.action_leave()
