"""Cells of pictures as text: a half block, with marks that say which cell of which picture it is."""

from collections.abc import Callable
from typing import Literal

Protocol = Literal["kitty", "iterm", "sixel"]
"""How a terminal accepts images."""
Colour = tuple[int, int, int]
Cells = tuple[tuple[tuple[Colour, Colour], ...], ...]
"""Rows of cells, each with the colours of its upper and its lower half."""
PlacePicture = Callable[[Cells], int]
"""Registers a picture and returns its number for ``cell_text``."""
HALF = "▀"
MARK = 0xE0100
DIGITS = 240
"""The number of variation selectors from ``MARK`` on; terminals give them no cell."""
CELL = 5
"""The characters of a cell's text."""


def cell_text(number: int, row: int, column: int) -> str:
    """The text of one cell of a picture."""
    digits = (row, column, *divmod(number, DIGITS))
    return HALF + "".join(chr(MARK + digit) for digit in digits)


def is_picture_cell(text: str | None) -> bool:
    """Whether this is the text of a cell of a picture."""
    return text is not None and len(text) == CELL and text[0] == HALF and min(text[1:]) >= chr(MARK)


def cell_of(text: str) -> tuple[int, int, int]:
    """The number of a picture, and the row and column of its cell."""
    row, column, high, low = (ord(mark) - MARK for mark in text[1:])
    return high * DIGITS + low, row, column
