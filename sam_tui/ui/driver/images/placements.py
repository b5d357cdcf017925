"""Pictures on the screen: cells that say which part of which image they are, and the output for them.

A cell of a picture is a half block with marks behind it, which no terminal gives a cell. Where the
terminal takes no images, or the cell is covered, tinted or cut, the half block is drawn. kitty's images are
drawn by the cells themselves. Those of iTerm2 and sixel lie over cells: they are drawn only where all cells
of the picture stand; see ``overlays``.
"""

import secrets
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field

from rich.style import Style

from sam_tui.core.ports.documents import Pixels
from sam_tui.ui.driver.cell_rows import Pen, pen_of_colour
from sam_tui.ui.driver.images import graphics, marks

_MOST_PICTURES = 40
"""How many pictures keep their pixels; older ones are drawn as half blocks again."""


@dataclass(frozen=True, slots=True)
class Graphic:
    """An image that a terminal can draw."""

    png: bytes
    width: int
    height: int
    palette: bytes

    @classmethod
    def of(cls, pixels: Pixels) -> "Graphic":
        """The graphic of some pixels."""
        return cls(graphics.png_of(pixels), pixels.width, pixels.height, pixels.palette)

    def pixels(self) -> Pixels:
        """The pixels, decoded from the PNG data."""
        start = self.png.index(b"IDAT")
        size = int.from_bytes(self.png[start - 4 : start], "big")
        lines = zlib.decompress(self.png[start + 4 : start + 4 + size])
        step = self.width + 1
        indices = b"".join(lines[at + 1 : at + step] for at in range(0, len(lines), step))
        return Pixels(self.width, self.height, self.palette, indices)


@dataclass(slots=True)
class Placement:
    """A picture in a grid of cells."""

    number: int
    graphic: Graphic
    cells: marks.Cells
    sent: bool = False
    """Whether the image was transmitted to kitty."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return len(self.cells[0]), len(self.cells)


@dataclass(slots=True)
class Placements:
    """The pictures that were drawn lately on a terminal that takes images in this way."""

    protocol: marks.Protocol
    tmux: bool = False
    placed: OrderedDict[int, Placement] = field(default_factory=OrderedDict[int, Placement])
    _next: int = 0
    _first_id: int = field(default_factory=lambda: 0x10000 + secrets.randbelow(0xEF0000))
    _removed: list[int] = field(default_factory=list[int])
    _waiting: list[Placement] = field(default_factory=list[Placement])
    """Images still to be transmitted to kitty."""

    def add(self, graphic: Graphic, cells: marks.Cells) -> int:
        """The number of a picture in these cells, for ``cell_text``."""
        for number, placement in self.placed.items():
            if placement.graphic is graphic and placement.cells == cells:
                self.placed.move_to_end(number)
                return number
        number = self._next % marks.DIGITS**2
        self._next += 1
        self.placed[number] = Placement(number, graphic, cells)
        while len(self.placed) > _MOST_PICTURES:
            oldest, placement = self.placed.popitem(last=False)
            if placement.sent:
                self._removed.append(oldest)
        return number

    def cells(self, text: str, style: Style | None, pen: Pen) -> list[tuple[str, Pen]] | None:
        """The cells of a text that consists of picture cells; None for any other text."""
        parts = [text[at : at + marks.CELL] for at in range(0, len(text), marks.CELL)]
        if not all(map(marks.is_picture_cell, parts)):
            return None
        return [self._cell(part, style, pen) for part in parts]

    def _cell(self, text: str, style: Style | None, pen: Pen) -> tuple[str, Pen]:
        number, row, column = marks.cell_of(text)
        placement = self.placed.get(number)
        if placement is None or style is None or style.color is None or style.bgcolor is None:
            return marks.HALF, pen
        columns, rows = placement.size
        if row >= rows or column >= columns:
            return marks.HALF, pen
        if (style.color.triplet, style.bgcolor.triplet) != placement.cells[row][column]:
            return marks.HALF, pen  # tinted or marked
        if self.protocol != "kitty":
            return text, pen
        if not placement.sent:
            placement.sent = True
            self._waiting.append(placement)
        number += self._first_id
        return (
            graphics.kitty_cell(row, column),
            pen_of_colour(number >> 16, number >> 8 & 255, number & 255),
        )

    def transmissions(self) -> str:
        """The sequences to write before the cells: images to send and images to remove."""
        parts = [
            graphics.kitty_removal(self._first_id + number, tmux=self.tmux)
            for number in self._removed
        ]
        for placement in self._waiting:
            png, number = placement.graphic.png, self._first_id + placement.number
            parts.append(graphics.kitty_image(number, png, *placement.size, tmux=self.tmux))
        self._removed, self._waiting = [], []
        return "".join(parts)

    def forget(self) -> None:
        """The terminal may have lost all it had."""
        for placement in self.placed.values():
            placement.sent = False

    def end(self) -> str:
        """Have the terminal forget all images that it was handed."""
        self._removed += [n for n, placement in self.placed.items() if placement.sent]
        for placement in self.placed.values():
            placement.sent = False
        self._waiting = []
        return self.transmissions()
