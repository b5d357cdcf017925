"""Operations on rectangles and columns that the library lacks (VT420: DECFRA, DECERA, DECSERA, DECCRA,
DECIC, DECDC; SL, SR).

They use its functions: moving, printing and erasing, with other modes switched off meanwhile. The
checksum of a rectangle (DECRQCRA) is left out: it would tell any program what others have left on the
screen.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sam_tui.adapters.terminal.emulator.ghostty import (
    cell_layout,
    drawn_as_output,
    packed_cell,
    set_mode,
)
from sam_tui.adapters.terminal.emulator.modes import MARGINS

_PUT_ASIDE = ((4, True), (6, False), (7, False))
"""IRM, DECOM and DECAWM: the number of each mode, and whether it is an ANSI mode."""
MOST_CELLS = 32 * 1024
"""The most cells that one piece of output may change, because a few bytes can request a whole screen."""
_LEAST_CELLS = 64
"""The number of cells as which the smallest operation counts."""
_ROW = 4
"""The number of cells as which a row counts if the library moves it as a whole."""
_PLAIN_PEN, _ASCII = b"\x1b[m", b"\x0f\x1b(B"
_ORIGIN = 6


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells: first and last column and row, from 0."""

    left: int
    top: int
    right: int
    bottom: int


class Rectangles:
    """The rectangle operations of one terminal.

    ``ask`` returns the library's value of a setting (DECRQSS), ``sets`` the sequence that restores the
    character sets after G0 was set to ASCII.
    """

    def __init__(
        self, terminal: Any, ask: Callable[[bytes], bytes], sets: Callable[[], bytes]
    ) -> None:
        self._terminal = terminal
        self._ask, self._sets = ask, sets
        self._protected_at = cell_layout()["protected"][0]
        self._left = MOST_CELLS

    def renew(self) -> None:
        """Restore the limit of cells for another piece of output."""
        self._left = MOST_CELLS

    def act(self, body: bytes) -> None:
        """Carry out a sequence, given without its ESC: numbers, ``$`` and a letter."""
        numbers = [int(part or 0) for part in body[1:-2].split(b";")]
        _OPERATIONS[body[-1:]](self, numbers)

    def fill(self, numbers: list[int]) -> None:
        """DECFRA: a character, in the present colours."""
        character, *edges = numbers
        rectangle = self._rectangle(edges)
        if rectangle is None or not (32 <= character <= 126 or 160 <= character <= 255):
            return
        text = chr(character).encode()
        with self._steady():
            for first, last in self._spans(rectangle.left, rectangle.right):
                for row in range(rectangle.top, rectangle.bottom + 1):
                    self._terminal.feed(_at(row, first) + text * (last - first + 1))

    def erase(self, numbers: list[int]) -> None:
        """DECERA."""
        rectangle = self._rectangle(numbers)
        if rectangle is not None:
            with self._steady():
                for row in range(rectangle.top, rectangle.bottom + 1):
                    self._erase(row, rectangle.left, rectangle.right)

    def erase_unprotected(self, numbers: list[int]) -> None:
        """DECSERA: erase the cells that DECSCA does not protect."""
        rectangle = self._rectangle(numbers)
        if rectangle is None:
            return
        with self._steady():
            for row in range(rectangle.top, rectangle.bottom + 1):
                for first, last in self._unprotected(row, rectangle.left, rectangle.right):
                    self._erase(row, first, last)

    def copy(self, numbers: list[int]) -> None:
        """DECCRA: characters and their colours to another place; there are no pages."""
        rectangle = self._rectangle(numbers[:4])
        if rectangle is None:
            return
        area, origin = self._area()
        top, left = (max(1, number) - 1 for number in [*numbers[5:7], 1, 1][:2])
        top, left = top + origin[1], left + origin[0]
        last = min(left + rectangle.right - rectangle.left, area.right)
        if left > last or top > area.bottom:
            return
        bottom = min(rectangle.bottom, rectangle.top + area.bottom - top)
        # Read everything before writing, because source and target may overlap.
        parts = [
            (
                first,
                end,
                self._drawn(
                    rectangle.left + first - left,
                    rectangle.left + end - left,
                    rectangle.top,
                    bottom,
                ),
            )
            for first, end in self._spans(left, last)
        ]
        pen, sets = self._ask(b"m"), self._sets()
        with self._steady():
            if sets:
                self._terminal.feed(_ASCII)
            for first, end, rows in parts:
                for row, text in enumerate(rows, top):
                    self._terminal.feed(_PLAIN_PEN)
                    self._erase(row, first, end)
                    self._terminal.feed(_at(row, first) + text)
            self._terminal.feed(b"\x1b[" + pen + sets)

    def shift(self, body: bytes) -> None:
        """DECIC, DECDC, SL, SR, DECBI, DECFI: insert or delete columns of the region, or move by one."""
        column, row = self._terminal.cursor
        columns = self._terminal.size[0]
        left, right, top, bottom = self._region()
        within = left <= column + 1 <= right and top <= row + 1 <= bottom
        count = 1
        if body in (b"6", b"9"):
            if not within or column != (left if body == b"6" else right) - 1:
                self._terminal.feed(b"\x1b[D" if body == b"6" else b"\x1b[C")
                return
            column = left - 1
        else:
            count = int(body[1:-2] or 1) or 1
            if body[-2:-1] == b" ":  # the whole region, wherever the cursor is
                column, within = left - 1, True
        self._left -= max(_LEAST_CELLS, (bottom - top + 1) * _ROW)
        if self._left < 0 or not within:
            return
        change = b"\x1b[%d" % min(count, columns) + (b"@" if body[-1:] in b"6}A" else b"P")
        with self._steady():
            rows = range(top - 1, bottom)
            self._terminal.feed(b"".join(_at(number, column) + change for number in rows))

    def _drawn(self, left: int, right: int, top: int, bottom: int) -> list[bytes]:
        return drawn_as_output(self._terminal, (left, top), (right, bottom))

    def _spans(self, left: int, right: int) -> list[tuple[int, int]]:
        """Columns in parts that can be printed: printing stops at the right margin."""
        columns = self._terminal.size[0]
        margin = _numbers(self._ask(b"s"))[1] if self._terminal.mode(MARGINS) else columns
        parts = ((left, min(right, margin - 1)), (max(left, margin), right))
        return [(first, last) for first, last in parts if first <= last]

    def _region(self) -> tuple[int, int, int, int]:
        """The first and last column and the first and last row within the margins, counted from 1."""
        top, bottom = _numbers(self._ask(b"r"))
        margins = self._terminal.mode(MARGINS)
        left, right = _numbers(self._ask(b"s")) if margins else (1, self._terminal.size[0])
        return left, right, top, bottom

    def _area(self) -> tuple[Area, tuple[int, int]]:
        """The area that may be changed, and the column and row that count as the first."""
        columns, rows = self._terminal.size
        if not self._terminal.mode(_ORIGIN):
            return Area(0, 0, columns - 1, rows - 1), (0, 0)
        left, right, top, bottom = self._region()
        return Area(left - 1, top - 1, right - 1, bottom - 1), (left - 1, top - 1)

    def _rectangle(self, edges: list[int]) -> Area | None:
        """The cells of a rectangle; None if it has none, or too many for this piece of output."""
        area, (across, down) = self._area()
        first_row, first_column, last_row, last_column = [*edges, 0, 0, 0, 0][:4]
        top, left = max(first_row, 1) - 1 + down, max(first_column, 1) - 1 + across
        bottom = min(last_row - 1 + down if last_row else area.bottom, area.bottom)
        right = min(last_column - 1 + across if last_column else area.right, area.right)
        if top > bottom or left > right:
            return None
        self._left -= max(_LEAST_CELLS, (bottom - top + 1) * (right - left + 1))
        return Area(left, top, right, bottom) if self._left >= 0 else None

    @contextmanager
    def _steady(self) -> Generator[None]:
        """Switch off wrapping, insert and origin mode, and restore them and the cursor afterwards."""
        column, row = self._terminal.cursor
        before = [(mode, ansi) for mode, ansi in _PUT_ASIDE if self._terminal.mode(mode, ansi=ansi)]
        for mode, ansi in before:
            set_mode(self._terminal, mode, False, ansi=ansi)
        try:
            yield
        finally:
            self._terminal.feed(_at(row, column))
            for mode, ansi in before:
                set_mode(self._terminal, mode, True, ansi=ansi)

    def _erase(self, row: int, left: int, right: int) -> None:
        self._terminal.feed(_at(row, left) + b"\x1b[%dX" % (right - left + 1))

    def _unprotected(self, row: int, left: int, right: int) -> list[tuple[int, int]]:
        """Stretches of a row that DECSCA does not protect."""

        def protected(column: int) -> int:
            return packed_cell(self._terminal, column, row) >> self._protected_at & 1

        stretches = [
            (key, list(cells)) for key, cells in groupby(range(left, right + 1), protected)
        ]
        return [(cells[0], cells[-1]) for key, cells in stretches if not key]


def _at(row: int, column: int) -> bytes:
    return b"\x1b[%d;%dH" % (row + 1, column + 1)


def _numbers(setting: bytes) -> tuple[int, int]:
    """The two numbers of a setting such as ``2;4r``."""
    first, second = setting[:-1].split(b";")
    return int(first), int(second)


_OPERATIONS: Mapping[bytes, Callable[[Rectangles, list[int]], None]] = {
    b"x": Rectangles.fill,
    b"z": Rectangles.erase,
    b"{": Rectangles.erase_unprotected,
    b"v": Rectangles.copy,
}
"""The operations by the last byte of their sequence."""
