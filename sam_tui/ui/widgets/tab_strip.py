"""One row that names the conversations of the window, with the state of each."""

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.widgets import Static

from sam_tui.ui.messages import ActionAsked

_MARKS: Mapping[str, tuple[str, str]] = {
    "asks": (" ? asks", "bold $warning"),
    "works": (" ▸ works", "$primary"),
    "finished": (" ✓ done", "$success"),
    "failed": (" ! failed", "$error"),
    "limit": (" ! stopped", "$warning"),
    "cancelled": (" cancelled", "$text-muted"),
}
"""The text and style of each state; a conversation without a turn has no state."""
_ON_SHOW, _BEHIND = "$background on $primary", "$foreground on $border-blurred"


class TabLabel(NamedTuple):
    """A tab: the title of its conversation, its state, and whether it is on show."""

    title: str
    state: str
    on_show: bool


class TabStrip(Static):
    """The tabs from left to right, as many as fit around the one on show. A click shows one."""

    def __init__(self) -> None:
        super().__init__(markup=False, id="conversations")
        self._labels: Sequence[TabLabel] = ()
        self._places: list[tuple[int, int, int]] = []

    def show_tabs(self, labels: Sequence[TabLabel]) -> None:
        """Draw the strip again if a label has changed."""
        if labels != self._labels:
            self._labels = labels
            self._write()

    def on_resize(self) -> None:
        """Show as many tabs as fit."""
        self._write()

    def on_click(self, event: events.Click) -> None:
        """Show the tab that was clicked."""
        event.stop()
        for start, end, number in self._places:
            if start <= event.x < end:
                self.post_message(ActionAsked("conversation", str(number)))

    def _write(self) -> None:
        labels, column = self._fitting(), 1
        self._places = []
        parts = [("‹" if labels and labels[0][0] > 1 else " ", "$text-muted")]
        for number, label in labels:
            end = column + _width(number, label)
            self._places.append((column, end, number))
            column = end
            state, style = _MARKS.get(label.state, ("", ""))
            ground = _ON_SHOW if label.on_show else _BEHIND
            parts.append((f" {number} {label.title}", ground))
            parts.append((f"{state} ", ground if label.on_show else f"{style} on $border-blurred"))
            parts.append((" ", ""))
        parts.append(("›" if labels and labels[-1][0] < len(self._labels) else "", "$text-muted"))
        self.update(Content.assemble(*parts))

    def _fitting(self) -> list[tuple[int, TabLabel]]:
        """The numbers and tabs that fit; the one farthest from the one on show gives way first."""
        labels = list(enumerate(self._labels, 1))
        centre = next((number for number, label in labels if label.on_show), 1)
        while len(labels) > 1 and sum(starmap(_width, labels)) > self.size.width - 2:
            before, behind = centre - labels[0][0], labels[-1][0] - centre
            labels.pop(0 if before > behind else -1)
        return labels


def _width(number: int, label: TabLabel) -> int:
    """Cells of a tab with the blank behind it."""
    return cell_len(f" {number} {label.title}{_MARKS.get(label.state, ('', ''))[0]}  ")
