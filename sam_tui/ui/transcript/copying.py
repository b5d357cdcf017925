"""What a selection over rows means as text."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

if TYPE_CHECKING:
    from sam_tui.ui.transcript.render.rows import Row

ROW_BITS = 20
"""A place is ``order << ROW_BITS | row``: it names a row for as long as its block lives."""


def row_coordinate(order: int, row: int) -> int:
    """The vertical coordinate of a row in a selection."""
    return order << ROW_BITS | row


def order_of(where: int) -> int:
    """The order of the block that a place is in."""
    return where >> ROW_BITS


class Copy:
    """Collects the selected part of rows: soft wraps joined, decoration left out."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def take(self, row: "Row", span: tuple[int, int]) -> None:
        """A row, of which the characters of ``span`` are selected (end -1: to its end)."""
        if row.ornament:
            return
        start, end = span
        end = len(row.text) if end == -1 else min(end, len(row.text))
        begins = start <= row.start
        text = row.text[max(start, row.start) : max(end, row.start)]
        if row.glue is not None and self._lines:
            self._lines[-1] += row.glue + text
            return
        self._lines.append((row.prefix if begins else "") + text)

    def gap(self) -> None:
        """A blank row between blocks."""
        self._lines.append("")

    def whole(self, text: str) -> None:
        """A block that lies inside the selection and is not drawn."""
        self._lines.append(text.rstrip("\n"))

    def text(self) -> str:
        """All of it."""
        return "\n".join(line.rstrip() for line in self._lines)


def take_rows(copy: Copy, rows: "Sequence[Row]", order: int, selection: Selection) -> None:
    """Add the selected rows of one block."""
    for number, row in enumerate(rows):
        span = selection.get_span(row_coordinate(order, number))
        if span is not None:
            copy.take(row, span)


def paint_selected(row: "Row", span: tuple[int, int], style: Style) -> Strip:
    """The row's strip with the selected characters in the selection's style."""
    start, end = span
    strip = row.strip
    first = cell_len(row.text[:start])
    last = cell_len(row.text) if end == -1 else cell_len(row.text[:end])
    if last <= first:
        return strip
    parts: Iterable[Strip] = (
        strip.crop(0, first),
        Strip(Segment.apply_style(strip.crop(first, last), post_style=style), last - first),
        strip.crop(last, strip.cell_length),
    )
    return Strip.join(parts)
