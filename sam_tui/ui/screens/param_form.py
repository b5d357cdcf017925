"""What a workflow wants to know before it begins."""

from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sam_tui.ui.plain import one_line
from sam_tui.ui.screens import STYLES


class ParamForm(ModalScreen[dict[str, str] | None]):
    """A line for each parameter. The result maps their names to what was typed; None: not now."""

    CSS_PATH = STYLES
    BINDINGS = [Binding("escape,ctrl+c,ctrl+q", "leave", "Close", show=False)]  # noqa: RUF012
    AUTO_FOCUS = "Input"

    def __init__(self, workflow: str, params: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self._workflow = workflow
        self._params = params
        self._fields = {name: Input(value=_default(about)) for name, about in params.items()}
        self._note = Static("", markup=False, classes="note")

    def compose(self) -> ComposeResult:
        """Each parameter with what it means."""
        with Vertical() as frame:
            frame.border_title = Content(f"start {one_line(self._workflow, 60)}")
            frame.border_subtitle = Content("Enter: next, and begin · Esc: not now")
            with VerticalScroll():
                for name, about in self._params.items():
                    yield Static(_label(name, about), markup=False)
                    yield self._fields[name]
            yield self._note

    def action_leave(self) -> None:
        """Close without a start."""
        self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next line that is wanted, or be done."""
        event.stop()
        fields = list(self._fields.values())
        after = fields[fields.index(event.input) + 1 :]
        if after:
            after[0].focus()
            return
        for name, field in self._fields.items():
            if self._params[name].get("required") and not field.value.strip():
                self._note.update(Content(f"{name} is needed.").stylize("$warning"))
                field.focus()
                return
        self.dismiss({name: f.value for name, f in self._fields.items() if f.value.strip()})


def _default(about: Mapping[str, Any]) -> str:
    value = about.get("default")
    return value if isinstance(value, str) else ""


def _label(name: str, about: Mapping[str, Any]) -> Content:
    need = "" if about.get("required") else " (may stay empty)"
    choices = about.get("choices") or ()
    offered = f" · one of {', '.join(map(str, choices))}" if choices else ""
    words = one_line(f"{about.get('description', '')}{offered}", 160)
    return Content.assemble((name, "bold"), (need, "$text-disabled"), f"  {words}")
