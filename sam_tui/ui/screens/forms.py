"""Forms: whether to go to another host, a key for a host, parameters of a workflow, a file to write."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sam_tui.ui.key_guard import KeyGuard, Patience
from sam_tui.ui.plain import one_line, visible, visible_line
from sam_tui.ui.screens import STYLES
from sam_tui.ui.widgets.key_frame import KeyFrame
from sam_tui.ui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from sam_tui.core.workflow.definitions.model import Parameter


class ParamForm(ModalScreen[dict[str, str] | None]):
    """A line for each parameter. The result maps their names to the typed text; None: not now."""

    CSS_PATH = STYLES
    BINDINGS = [Binding("escape,ctrl+c,ctrl+q", "leave", "Close", show=False)]  # noqa: RUF012
    AUTO_FOCUS = "Input"

    def __init__(self, workflow: str, params: "Mapping[str, Parameter]") -> None:
        super().__init__()
        self._workflow = workflow
        self._params = params
        self._fields = {
            name: LineInput(partial(self._done, number), value=_default(about))
            for number, (name, about) in enumerate(params.items(), 1)
        }
        self._note = Static("", markup=False, classes="note")

    def compose(self) -> ComposeResult:
        """A field for each parameter, with its meaning."""
        with KeyFrame() as frame:
            frame.border_title = Content(f"start {one_line(self._workflow, 60)}")
            frame.say_keys("Enter: next, then begin · Esc: not now")
            with VerticalScroll():
                for name, about in self._params.items():
                    yield Static(_label(name, about), markup=False)
                    yield self._fields[name]
            yield self._note

    def action_leave(self) -> None:
        """Close without a start."""
        self.dismiss(None)

    def _done(self, number: int, _value: str) -> None:
        """Go to the next line; after the last one finish, unless a required value is missing."""
        if number < len(self._fields):
            self.set_focus([*self._fields.values()][number])
            return
        for name, field in self._fields.items():
            if self._params[name].required and not field.value.strip():
                self._note.update(Content(f"{name} is needed.").stylize("$warning"))
                self.set_focus(field)
                return
        self.dismiss({name: f.value for name, f in self._fields.items() if f.value.strip()})


def _default(about: "Parameter") -> str:
    return about.default if isinstance(about.default, str) else ""


def _label(name: str, about: "Parameter") -> Content:
    need = "" if about.required else " (optional)"
    offered = f" · one of {', '.join(map(str, about.choices))}" if about.choices else ""
    words = one_line(f"{about.description}{offered}", 160)
    return Content.assemble((name, "bold"), (need, "$text-disabled"), f"  {words}")


class FileForm(ModalScreen[None]):
    """Asks for a path. ``write`` gets the path; the dialog stays open while it returns an error."""

    CSS_PATH = STYLES
    BINDINGS = [Binding("escape,ctrl+c,ctrl+q", "leave", "Close", show=False)]  # noqa: RUF012
    AUTO_FOCUS = "Input"

    def __init__(self, title: str, path: str, write: Callable[[str], str]) -> None:
        super().__init__()
        self._title = title
        self._write = write
        self._line = LineInput(self._done, value=path, placeholder="a path, or ~/…")
        self._note = Static("", markup=False, classes="note")

    def compose(self) -> ComposeResult:
        """Compose a line for the path, and the fault of the last one."""
        with KeyFrame() as frame:
            frame.border_title = Content(one_line(self._title, 60))
            frame.say_keys("Enter writes it · Esc: not now")
            yield self._line
            yield self._note

    def action_leave(self) -> None:
        """Close; nothing is written."""
        self.dismiss(None)

    def _done(self, path: str) -> None:
        if trouble := self._write(path.strip()):
            self._note.update(Content(visible(trouble)).stylize("$warning"))
        else:
            self.dismiss(None)


class HostQuestion(ModalScreen[bool]):
    """Whether requests may go to another host from now on. Enter chooses nothing."""

    CSS_PATH = STYLES

    def __init__(self, before: str, after: str, model: str, patience: Patience) -> None:
        super().__init__()
        self._hosts = before, after
        self._model = model
        self._guard = KeyGuard(patience)

    def compose(self) -> ComposeResult:
        """Compose both hosts, and the data that would be sent to the new one."""
        before, after = (visible_line(host) for host in self._hosts)
        with KeyFrame() as frame:
            frame.border_title = Content("go to another host?")
            frame.say_keys("S switches · Esc stays")
            hosts = Content.assemble("From ", (before, "bold"), " to ", (after, "bold"), ".")
            yield Static(hosts, markup=False)
            lead = f"{after} receives the whole conversation with your next message, for "
            yield Static(Content(f"{lead}{one_line(self._model, 80)}."), markup=False)

    def on_mount(self) -> None:
        """Ignore keys of the first moment, which the person meant for something else."""
        self._guard.rearm()
        self.call_after_refresh(self._guard.rearm)

    def on_key(self, event: events.Key) -> None:
        """S switches, Esc stays; nothing else means anything."""
        event.stop()
        event.prevent_default()
        if event.key in ("escape", "ctrl+c", "ctrl+q"):
            self.dismiss(False)
        elif self._guard.hears() and event.key.lower() == "s":
            self.dismiss(True)


class KeyForm(ModalScreen[str]):
    """Asks for the key of a host, without showing it. Empty: the host needs none.

    ``keeps``: whether the key can be stored for later runs, and then whether it will be.
    """

    CSS_PATH = STYLES
    BINDINGS = [  # noqa: RUF012
        Binding("escape,ctrl+c,ctrl+q", "leave", "Close", show=False),
        Binding("ctrl+o", "use_once", "Only now", show=False, priority=True),
    ]
    AUTO_FOCUS = "Input"

    def __init__(self, host: str, why: str, *, keeps: bool = False) -> None:
        super().__init__()
        self._host = host
        self._why = why
        self.keeps = keeps
        self._line = Input(password=True, placeholder="key")

    def compose(self) -> ComposeResult:
        """Compose the reason for the question, and a line for the key."""
        with KeyFrame() as frame:
            frame.border_title = Content(f"a key for {one_line(self._host, 60)}")
            frame.say_keys(
                "Enter stores it · Ctrl+O: this time only · Esc: not now"
                if self.keeps
                else "Enter uses it until the program ends · Esc: not now"
            )
            yield Static(Content(visible(self._why)), markup=False)
            yield self._line

    def action_leave(self) -> None:
        """Close without a key."""
        self.dismiss("")

    def action_use_once(self) -> None:
        """Take the key until the program ends."""
        if key := self._line.value.strip():
            self.keeps = False
            self.dismiss(key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the key."""
        event.stop()
        if event.value.strip():
            self.dismiss(event.value.strip())
