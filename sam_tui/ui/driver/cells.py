"""The cells on the terminal, recorded so that only changed cells are written.

Textual writes every row of a widget that asked to be drawn. ``DrawnCells`` stores the written cells and
renders an update as the difference: rows that moved are moved by the terminal (DL and IL within
margins), cells that look the same are passed over, and colours are sent where they change.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.color import ColorSystem
from rich.console import Console
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Size
from textual.strip import Strip

from sam_tui.ui.driver.cell_rows import PLAIN, CellRow, Pen, StripCells
from sam_tui.ui.driver.clusters import PLACEHOLDER

if TYPE_CHECKING:
    from textual.app import App

    from sam_tui.ui.driver.images.overlays import Overlays
    from sam_tui.ui.driver.images.placements import Placements

_GAP = 4
"""A gap of up to so many cells is written again, because that takes fewer bytes than moving the cursor."""
_LEAST_ERASED = 12
"""From so many blanks on, an erase sequence takes fewer bytes than spaces."""
_ERASES = re.compile(
    r"xterm|xterm-(256color|direct|ghostty)|linux|foot.*|alacritty.*|wezterm|contour.*|mintty.*|konsole.*"
)
"""Values of ``TERM`` for terminals that erase in the background colour, by terminfo or their makers."""
_LEAST_MOVED = 80
"""Rows are moved only if that saves writing at least so many cells."""
_BLANKS = frozenset({None, " "})
"""The texts of cells that show nothing."""
_MARKS = "\U000e0100"
"""The first code point of the marks for cells of a picture; marks are not written to the terminal."""
_UNKNOWN = "\ufffd"
"""Replaces kitty's placeholder in text from outside."""
Look = tuple[str | None, ...]
Piece = tuple[int, int, Strip]
"""A row, a column, and the cells to write there."""


def erases_in_ground(environment: Mapping[str, str]) -> bool:
    """Whether an environment's terminal erases cells in the current background colour."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if environment.get("STY") or program == "Apple_Terminal":
        return (
            False  # GNU screen, and Terminal.app, whose terminfo entry promises more than it does
        )
    return bool(_ERASES.fullmatch(term)) or (
        program == "tmux" and term.startswith(("screen", "tmux"))
    )


class DrawnCells:
    """The cells on the terminal, as far as this program wrote them."""

    def __init__(self, *, erases: bool = False) -> None:
        self.erases = erases
        """Whether the terminal erases cells in the current background colour (ECH, ``bce`` of terminfo)."""
        self._size = Size(0, 0)
        self._rows: dict[int, CellRow] = {}
        self._cells = StripCells()
        self.rows_drawn = 0
        """The number of rows that were written so far."""
        self.pictures: Placements | None = None
        """The pictures whose cells are marked; None unless the terminal draws images in place of cells."""
        self.overlays: Overlays | None = None
        """The images drawn over cells, if the terminal supports that."""

    def forget(self) -> None:
        """Forget all cells: the next update is written whole."""
        self._rows = {}
        if self.overlays is not None:
            self.overlays.forget()

    def ending(self) -> str:
        """The sequences by which the terminal forgets the images that it was sent."""
        return self.pictures.end() if self.pictures is not None else ""

    def difference(self, update: object, size: Size) -> object:
        """A renderable with only the changed cells of an update; other renderables pass unchanged."""
        if not isinstance(update, ChopsUpdate | LayoutUpdate):
            return update
        if size != self._size:
            self.forget()
            self._size = size
        return CellUpdate(self, update)

    def _changed(self, pieces: Iterator[Piece], colours: ColorSystem) -> dict[int, CellRow]:
        """Return the rows that the pieces change, in their new form."""
        target: dict[int, CellRow] = {}
        for y, x, strip in pieces:
            row = target.get(y) or self._row(y)
            if row.strips.get(x) != strip and 0 <= x < self._size.width and y < self._size.height:
                if y not in target:
                    target[y] = row = row.copy()
                row.put(x, strip, self._cells.of(strip, colours, self.pictures))
        return target

    def _write_rows(self, target: dict[int, CellRow], output: "Output") -> dict[int, list[int]]:
        """Write the cells that changed; returns their columns by row."""
        written: dict[int, list[int]] = {}
        for y in sorted(target):
            if columns := target[y].changed(self._row(y)):
                output.row(y, target[y], columns)
                written[y] = columns
            self._rows[y] = target[y]
        self.rows_drawn += len(written)
        return written

    def render(self, pieces: Iterator[Piece], console: Console) -> str:
        """The sequences that bring the pieces to the terminal."""
        colours = console._color_system or ColorSystem.TRUECOLOR  # pyright: ignore[reportPrivateUsage]
        target = self._changed(pieces, colours)
        over = self.overlays
        uncovered = over is not None and self._uncover(over, target)
        if not target and over is None:
            return ""
        output = Output(console, erases=self.erases and not uncovered)
        if len(target) > 2 and over is None:
            self._move_rows(target, output)
        written = self._write_rows(target, output)
        before = self.pictures.transmissions() if self.pictures is not None else ""
        if over is None:
            return before + output.text()
        return over.clearing() + output.text() + over.drawn(written)

    def _uncover(self, over: "Overlays", target: dict[int, CellRow]) -> bool:
        """Mark all cells below images that have to go as unwritten; whether there are any such images."""
        lost = over.lost({**self._rows, **target}, self._size.height)
        for area in lost:
            for y in range(area.top, area.top + area.rows):
                before = self._row(y).copy()
                target.setdefault(y, self._row(y))
                before.texts[area.left : area.left + area.columns] = [None] * area.columns
                self._rows[y] = before
        return bool(lost)

    def _row(self, y: int) -> CellRow:
        row = self._rows.get(y)
        return row if row is not None else CellRow(self._size.width)

    def _move_rows(self, target: dict[int, CellRow], output: "Output") -> None:
        """Have the terminal move rows that were shown elsewhere, if that saves enough output."""
        move = _moved(self._rows, target)
        if move is None:
            return
        top, bottom, by = move
        rows = range(top, bottom + 1)
        shifted = {
            y: self._row(y + by) if top <= y + by <= bottom else CellRow(self._size.width)
            for y in rows
        }
        after = {y: target.get(y) or self._row(y) for y in rows}
        spared = sum(after[y].distance(self._row(y)) - after[y].distance(shifted[y]) for y in rows)
        if spared < _LEAST_MOVED:
            return
        output.move_rows(top, bottom, by)
        for y in rows:
            target[y] = after[y]
            self._rows[y] = shifted[y]


def _moved(rows: dict[int, CellRow], target: dict[int, CellRow]) -> tuple[int, int, int] | None:
    """The first and last row of a part whose rows moved up by so many rows (down: fewer than 0)."""
    positions: dict[Look, list[int]] = {}
    for y, row in rows.items():
        positions.setdefault(_look(row), []).append(y)
    moves = [
        (y, before - y)
        for y, row in target.items()
        if not _BLANKS.issuperset(row.texts)
        for before in positions.get(_look(row), ())
        if before != y
    ]
    if not moves:
        return None
    by, _ = Counter(by for _, by in moves).most_common(1)[0]
    ends = [end for y, other in moves if other == by for end in (y, y + by)]
    return min(ends), max(ends), by


def _look(row: CellRow) -> Look:
    """The left half of a row, by which a moved row is recognised; the right half may not have moved."""
    return tuple(row.texts[: len(row.texts) // 2])


class Output:
    """Builds the shortest sequences that draw cells."""

    def __init__(self, console: Console, *, erases: bool) -> None:
        self._console = console
        self._erases = erases
        self._parts: list[str] = []
        self._pen = PLAIN
        self._cursor: tuple[int, int] | None = None
        """Row and column, if known."""

    def move_rows(self, top: int, bottom: int, by: int) -> None:
        """Move the rows of a part up (or down, by less than 0), and forget those that come in."""
        moved = f"{by}M" if by > 0 else f"{-by}L"
        self._parts.append(f"\x1b[{top + 1};{bottom + 1}r\x1b[{top + 1};1H\x1b[{moved}\x1b[r")
        self._cursor = None

    def row(self, y: int, row: CellRow, columns: list[int]) -> None:
        """Write the cells of a row that stand in some columns."""
        done = 0
        self._cursor = None
        for column in columns:
            if column < done:
                continue
            at = column
            while at and row.texts[at] == "":
                at -= 1
            if (row.texts[at] or "").startswith("\x1b"):
                start = max(start for start in row.whole if start <= at)
                done = self._write_whole(y, start, row.whole[start])
                continue
            self._go(y, at, row)
            done = self._erase(at, row) or self._write(at, row)

    def _erase(self, at: int, row: CellRow) -> int:
        """Erase many blanks of one look; returns the column behind them, 0 where there are not so many."""
        pen, end = row.pens[at], at
        if not self._erases or pen.attributes:
            return 0
        while end < len(row.texts) and row.texts[end] == " " and row.pens[end] is pen:
            end += 1
        if end - at < _LEAST_ERASED:
            return 0
        if not self._draws(" ", pen):
            self._change(pen)
        self._parts.append(f"\x1b[{end - at}X")
        return end

    def _write_whole(self, y: int, x: int, strip: Strip) -> int:
        self._change(PLAIN)
        self._parts.append(
            f"\x1b[{y + 1};{x + 1}H{strip.render(self._console).replace(PLACEHOLDER, _UNKNOWN)}"
        )
        self._cursor = None
        return x + strip.cell_length

    def _write(self, at: int, row: CellRow) -> int:
        """Write a character; returns the column after it."""
        text, pen = row.texts[at] or " ", row.pens[at]
        if len(text) > 1 and text[1] >= _MARKS:
            text = text[0]
        if not self._draws(text, pen):
            self._change(pen)
        self._parts.append(text)
        after = at + 1
        while after < len(row.texts) and row.texts[after] == "":
            after += 1
        if self._cursor is not None:
            self._cursor = (self._cursor[0], after) if _advances(text, row, after) else None
        return after

    def _go(self, y: int, x: int, row: CellRow) -> None:
        """Move the cursor to a cell; across a few cells of one pen by writing them again."""
        if self._cursor is None or self._cursor[0] != y:
            self._parts.append(f"\x1b[{y + 1};{x + 1}H")
            self._cursor = (y, x)
            return
        start = self._cursor[1]
        between, pens = row.texts[start:x], row.pens[start:x]
        short = len(between) <= _GAP
        if short and all(map(_is_plain, between)) and all(map(self._draws, between, pens)):
            self._parts += filter(None, between)
        else:
            self._parts.append(f"\x1b[{x - start}C" if x - start > 1 else "\x1b[C")
        self._cursor = (y, x)

    def _draws(self, text: str | None, pen: Pen) -> bool:
        """Whether a character looks right with the present pen."""
        return self._pen is pen or (text == " " and self._pen.blank is pen)

    def _change(self, pen: Pen) -> None:
        self._parts.append(pen.after(self._pen))
        self._pen = pen

    def text(self) -> str:
        """All sequences, followed by a reset of the pen."""
        self._change(PLAIN)
        return "".join(self._parts)


def draw_again(app: "App[Any]") -> None:
    """Write the whole screen, whatever the terminal shows now."""
    if (cells := cells_of(app._driver)) is not None:  # pyright: ignore[reportPrivateUsage]
        cells.forget()
        if cells.pictures is not None:
            cells.pictures.forget()
    app.refresh(repaint=True, layout=True)


def cells_of(driver: object) -> DrawnCells | None:
    """The record of drawn cells that a driver has, or None."""
    cells = getattr(driver, "cells", None)
    return cells if isinstance(cells, DrawnCells) else None


class CellUpdate(CompositorUpdate):
    """An update of Textual's, of which only the changes are written."""

    def __init__(self, cells: DrawnCells, update: ChopsUpdate | LayoutUpdate) -> None:
        self._cells = cells
        self._update = update

    def render_segments(self, console: Console) -> str:
        """The sequences for a terminal."""
        update = self._update
        pieces = _chops(update) if isinstance(update, ChopsUpdate) else _layout(update)
        return self._cells.render(pieces, console)


def _layout(update: LayoutUpdate) -> Iterator[Piece]:
    """The pieces of a whole screen."""
    for y, line in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in line:
            yield y, x, strip
            x += strip.cell_length


def _chops(update: ChopsUpdate) -> Iterator[Piece]:
    """The pieces of parts of a screen, cut as Textual cuts them."""
    for y, first, last in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x > last or end <= first:
                continue
            yield (
                y,
                x,
                strip if first <= x < last and end <= last else strip.crop(0, min(end, last) - x),
            )


def _is_plain(text: str | None) -> bool:
    """Whether a cell holds a character that is written unchanged."""
    return text is not None and text.isascii() and text >= " "


def _advances(text: str, row: CellRow, after: int) -> bool:
    """Whether the cursor moves to the next cell after a text is written: not at the end of a row, and
    of an image's cells only before another one."""
    if after >= len(row.texts):
        return False
    return text[0] != PLACEHOLDER or (row.texts[after] or "")[:1] == PLACEHOLDER
