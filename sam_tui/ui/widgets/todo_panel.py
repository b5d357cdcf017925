"""The todo list of the conversation, live."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.todos import Todo

_GLYPHS = {"not-started": "○", "in-progress": "◐", "completed": "✓", "blocked": "✗"}
_STYLES = {
    "not-started": "$foreground",
    "in-progress": "bold $accent",
    "completed": "$text-muted",
    "blocked": "$error",
}
_MARKS = {"low": "", "medium": "", "high": " !", "critical": " !!"}


def done_of(items: "Sequence[Todo]") -> tuple[int, int]:
    """(completed, all)."""
    return sum(item.status == "completed" for item in items), len(items)


def todo_line(item: "Todo") -> Content:
    """One item: its glyph, title, urgency, progress, and why it is blocked."""
    style = _STYLES[item.status]
    progress = (
        f" {item.progress:.0%}"
        if item.progress is not None and item.status == "in-progress"
        else ""
    )
    line = Content.assemble(
        (f"{_GLYPHS[item.status]} ", style),
        (one_line(item.title), style),
        (_MARKS[item.priority], "$warning"),
        (progress, "$accent"),
    )
    if item.status == "blocked" and item.blocked_reason:
        return line.append(Content(f"\n  {one_line(item.blocked_reason)}").stylize("$text-muted"))
    return line


class TodoPanel(VerticalScroll, can_focus=False):
    """Shows the items in their order; the border counts them."""

    def __init__(self) -> None:
        super().__init__(id="todos")
        self._body = Static(markup=False)
        self.border_title = Content("todos")
        self.items: tuple[Todo, ...] = ()

    def compose(self) -> ComposeResult:
        """One static holds all lines."""
        yield self._body

    def on_mount(self) -> None:
        """An empty list says so."""
        self.show(())

    def show(self, items: "Sequence[Todo]") -> None:
        """Replace the list, and keep the item in progress in view."""
        self.items = tuple(items)
        if not items:
            self.border_subtitle = ""
            self._body.update(Content("Nothing to do yet.").stylize("$text-muted"))
            return
        done, total = done_of(items)
        self.border_subtitle = Content(f"{done} of {total} done")
        lines = [todo_line(item) for item in items]
        self._body.update(Content("\n").join(lines))
        current = next((i for i, item in enumerate(items) if item.status == "in-progress"), None)
        if current is not None:
            above = sum(len(line.plain.splitlines()) for line in lines[:current])
            self.scroll_to(y=max(0, above - 2), animate=False)
