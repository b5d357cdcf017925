"""Images that lie over cells (iTerm2, sixel), erased in time so that no pixel remains at a wrong place.

An image is drawn when all cells of its picture are on the screen and have been for a moment. A terminal
that draws a cell erases the image there. So when a cell of the picture changes or moves, every cell
below the image is written again; and when cells below it were written, the image is drawn again.
Meanwhile the terminal does not scroll rows, because terminals treat images differently then.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from sam_tui.ui.driver.cell_rows import CellRow
from sam_tui.ui.driver.images import graphics
from sam_tui.ui.driver.images.marks import cell_of, cell_text, is_picture_cell
from sam_tui.ui.driver.images.placements import Placement, Placements

SETTLED = 0.1
"""Seconds without scrolling after which an image is sent, so that scrolling does not send it often."""
_MOST_WRITTEN = 700_000
"""The most bytes of one image; more would hold up a slow terminal."""
_MOST_CACHED = 8
"""How many encoded images are cached."""


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """The cells of a picture on the screen."""

    top: int
    left: int
    columns: int
    rows: int

    def meets(self, written: Mapping[int, list[int]]) -> bool:
        """Whether one of its cells is among the written ones, which are columns by row."""
        inside = range(self.left, self.left + self.columns)
        rows = range(self.top, self.top + self.rows)
        return any(column in inside for row in rows for column in written.get(row, ()))


Starts = dict[tuple[int, int], int]
"""For a row of cells: (number, row) of each picture whose row is complete in it, with its first column."""


@dataclass(slots=True)
class Overlays:
    """The images over the cells of one terminal.

    ``cell_size`` returns the pixels of a cell, zeros if unknown. ``later`` draws the screen after so
    many seconds, even if nothing changes; ``after`` does so once a function has run in a thread.
    """

    placements: Placements
    cell_size: Callable[[], tuple[int, int]]
    later: Callable[[float], object]
    after: Callable[[Callable[[], object]], object]
    clock: Callable[[], float] = time.monotonic
    _drawn: dict[int, ImagePlace] = field(default_factory=dict[int, ImagePlace])
    _standing: dict[int, tuple[ImagePlace, float]] = field(
        default_factory=dict[int, tuple[ImagePlace, float]]
    )
    """Fully visible pictures, each with the time since which it has not moved."""
    _starts: dict[int, tuple[CellRow, Starts]] = field(
        default_factory=dict[int, tuple[CellRow, Starts]]
    )
    _images: dict[tuple[int, int, int], str] = field(
        default_factory=dict[tuple[int, int, int], str]
    )
    """Encoded images by number, cell width and cell height; empty if a picture cannot be encoded."""
    _clears: bool = False

    def forget(self) -> None:
        """All cells will be written again: the images over them have to be erased first."""
        self._clears = self._clears or bool(self._drawn)
        self._drawn, self._standing, self._starts = {}, {}, {}

    def clearing(self) -> str:
        """The sequences that erase all images that ``forget`` marked."""
        clears, self._clears = self._clears, False
        return "\x1b[0m\x1b[2J" if clears else ""

    def lost(self, rows: Mapping[int, CellRow], height: int) -> list[ImagePlace]:
        """The places of images that no longer belong there, now that the cells are these."""
        standing: dict[int, tuple[ImagePlace, float]] = {}
        for number, area in self._whole(rows, height).items():
            before = self._standing.get(number)
            same = before is not None and before[0] == area
            standing[number] = before if before is not None and same else (area, self.clock())
        self._standing = standing
        still_drawn = {
            number: area
            for number, area in self._drawn.items()
            if number in standing and standing[number][0] == area
        }
        lost = [area for number, area in self._drawn.items() if number not in still_drawn]
        self._drawn = still_drawn
        return lost

    def drawn(self, written: Mapping[int, list[int]]) -> str:
        """The sequences that draw the visible images; ``written`` are the cells just written."""
        parts: list[str] = []
        for number, (area, since) in self._standing.items():
            if number in self._drawn and not area.meets(written):
                continue
            self._drawn.pop(number, None)
            remaining = since + SETTLED - self.clock()
            if remaining > 0:
                self.later(remaining)
            elif image := self._image(number):
                parts.append(f"\x1b[{area.top + 1};{area.left + 1}H{image}")
                self._drawn[number] = area
        return f"\x1b7{''.join(parts)}\x1b8" if parts else ""

    def _whole(self, rows: Mapping[int, CellRow], height: int) -> dict[int, ImagePlace]:
        """Return the pictures with every cell in its place; not in the last row, which may scroll."""
        starts = {y: self._starts_of(y, row) for y, row in rows.items() if y < height - 1}
        whole: dict[int, ImagePlace] = {}
        for top, row_starts in starts.items():
            for (number, row), left in row_starts.items():
                placement = self.placements.placed.get(number)
                if row or placement is None:
                    continue
                columns, count = placement.size
                below = (starts.get(top + at, {}).get((number, at)) for at in range(count))
                if all(column == left for column in below):
                    whole[number] = ImagePlace(top, left, columns, count)
        return whole

    def _starts_of(self, y: int, row: CellRow) -> Starts:
        cached = self._starts.get(y)
        if cached is None or cached[0] is not row:
            cached = self._starts[y] = (row, self._find_starts(row.texts))
        return cached[1]

    def _find_starts(self, texts: list[str | None]) -> Starts:
        starts: Starts = {}
        column = 0
        while column < len(texts):
            text = texts[column]
            if text is None or not is_picture_cell(text):
                column += 1
                continue
            number, row, first = cell_of(text)
            placement = self.placements.placed.get(number)
            columns = placement.size[0] if placement is not None and not first else 1
            cells = [cell_text(number, row, at) for at in range(columns)]
            if not first and texts[column : column + columns] == cells:
                starts[number, row] = column
            column += columns
        return starts

    def _image(self, number: int) -> str:
        """The sequence that draws a picture at the cursor; empty until it is computed."""
        placement = self.placements.placed.get(number)
        key = (number, *self.cell_size())
        if key not in self._images and placement is not None:
            while len(self._images) >= _MOST_CACHED:
                self._images.pop(next(iter(self._images)))
            self._images[key] = ""
            self.after(partial(self._make, key, placement))
        return self._images.get(key, "")

    def _make(self, key: tuple[int, int, int], placement: Placement) -> None:
        columns, rows = placement.size
        _, width, height = key
        if self.placements.protocol == "iterm":
            image = graphics.iterm_image(placement.graphic.png, columns, rows)
        elif width and height:
            # Whole sixels: some terminals draw the last of them whole, beyond the cells.
            size = columns * width, rows * height // 6 * 6
            image = graphics.sixel_image(graphics.scaled(placement.graphic.pixels(), *size))
        else:
            return
        if len(image) <= _MOST_WRITTEN:
            self._images[key] = image
