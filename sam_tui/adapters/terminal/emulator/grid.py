"""Reads the emulator's cells, row by row, into runs of one style."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from sam_tui.adapters.terminal.emulator.colours import Colour, Colours
from sam_tui.adapters.terminal.emulator.ghostty import (
    GhosttyError,
    cell_layout,
    check,
    create,
    ffi,
    lib,
    ref_at,
)
from sam_tui.core.ports.processes.screens import CellRun, CursorShape
from sam_tui.core.text.underlines import KINDS
from sam_tui.core.text.widths import DISPUTED

Style = tuple[Colour, Colour, frozenset[str], Colour]
"""The style of a ``CellRun``: its fields after ``text``, in their order."""

_NO_NAMES: frozenset[str] = frozenset()
_KEPT_STYLES = 4096
"""The most cached styles; a true-colour picture has one per cell, so the cache is emptied beyond that."""
_GRAPHEME = 64
"""The most code points of one cell that are read."""

_ADDRESS = 2048
"""The most bytes of a link's address; a longer one is ignored."""

_select_cell = lib.ghostty_render_state_row_cells_select
_get_cell = lib.ghostty_render_state_row_cells_get
_STYLE = lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE

_BACKGROUND_ONLY = 2
_TAG_BITS = 2
_TAGS = bytes(value & 3 for value in range(256))
_WIDTHS = bytes(value >> 2 & 3 for value in range(256))
"""The two bits of a cell's sixth byte that say whether it is wide, for each value of the byte."""
_WIDE, _WIDE_SPACERS = 1, 2
_ATTRIBUTES = (
    ("bold", "bold"),
    ("faint", "dim"),
    ("italic", "italic"),
    ("underline", "underline"),
    ("blink", "blink"),
    ("inverse", "reverse"),
    ("strikethrough", "strike"),
    ("invisible", "hidden"),
)
_KINDS: dict[int, str] = {
    getattr(lib, f"GHOSTTY_SGR_UNDERLINE_{name.upper()}"): name for name in KINDS
}


# A style is read from its bytes: in a picture every cell has its own, and asking field by field is slow.
_UNDERLINE: int = ffi.offsetof("GhosttyStyle", "underline_color")
_FOREGROUND: int = ffi.offsetof("GhosttyStyle", "fg_color")
_GROUND: int = ffi.offsetof("GhosttyStyle", "bg_color")
_VALUE: int = ffi.offsetof("GhosttyStyleColor", "value")
_ATTRIBUTES_AT: int = ffi.offsetof("GhosttyStyle", "bold")
_PALETTE: int = lib.GHOSTTY_STYLE_COLOR_PALETTE
_RGB: int = lib.GHOSTTY_STYLE_COLOR_RGB

_SHAPES: dict[int, CursorShape] = {
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BAR: "bar",
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_UNDERLINE: "underline",
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BLOCK_HOLLOW: "hollow",
}


class Grid:
    """A snapshot of one terminal's visible cells, brought up to date by ``update``.

    The layout of a packed cell is asked of the library. Pointers into it live until the next update.
    """

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._state = create("GhosttyRenderState", "render_state", self)
        self._rows = create("GhosttyRenderStateRowIterator", "render_state_row_iterator", self)
        self._cells = create("GhosttyRenderStateRowCells", "render_state_row_cells", self)
        self._view = ffi.new("GhosttyCellsView*")
        self._y = ffi.new("uint16_t*")
        self._style = ffi.new("GhosttyStyle*")
        self._style.size = ffi.sizeof("GhosttyStyle")
        self._raw_style = memoryview(ffi.buffer(self._style))
        self._cursor = ffi.new("GhosttyRenderStateCursor*")
        self._cursor.size = ffi.sizeof("GhosttyRenderStateCursor")
        self._length = ffi.new("uint32_t*")
        self._points = ffi.new(f"uint32_t[{_GRAPHEME}]")
        self._colours = Colours(terminal)
        self._plain: Style = (None, None, _NO_NAMES, None)
        self._recoloured = False
        self._styles: dict[bytes, Style] = {}
        self._names: dict[bytes, frozenset[str]] = {}
        layout = cell_layout()
        if (
            layout["content_tag"] != (0, 3)
            or layout["content"] != (_TAG_BITS, 0xFFFFFF)
            or layout["wide"] != (42, 3)
            or layout["style_id"][1] != 0xFFFF
        ):
            raise ValueError("the library packs its cells in an unknown way")
        self._style_at, self._style_mask = layout["style_id"]
        self._wide_at, _ = layout["wide"]
        self._link_at, _ = layout["hyperlink"]
        self._raw = ffi.new("GhosttyRow*")
        self._has_links = ffi.new("bool*")
        self._address = ffi.new(f"uint8_t[{_ADDRESS}]")
        self._size = ffi.new("size_t*")

    def update(self) -> None:
        """Take over the terminal's changes since the last update."""
        check(lib.ghostty_render_state_update(self._state[0], self._terminal._t[0]), "update")
        if self._colours.changed():
            self._styles.clear()
            of = self._colours
            self._plain = (of.foreground, of.background, _NO_NAMES, None)
            self._recoloured = True

    def cursor_shape(self) -> tuple[CursorShape, bool]:
        """Return the shape in which the program wants its cursor drawn, and whether it blinks."""
        cursor = self._read_cursor()
        return _SHAPES.get(int(cursor.visual_style), "block"), bool(cursor.blinking)

    def cursor_colour(self) -> tuple[int, int, int] | None:
        """The colour that a program gave the cursor."""
        return self._colours.cursor

    def cursor(self) -> tuple[int, int] | None:
        """(column, row) from 0, or None while hidden or scrolled away."""
        cursor = self._read_cursor()
        if not (cursor.visible and cursor.viewport_has_value):
            return None
        return int(cursor.viewport_x), int(cursor.viewport_y)

    def _read_cursor(self) -> Any:
        key = lib.GHOSTTY_RENDER_STATE_DATA_CURSOR
        check(lib.ghostty_render_state_get(self._state[0], key, self._cursor), "cursor")
        return self._cursor

    def dirty(self) -> list[tuple[int, Sequence[CellRun]]]:
        """The rows that changed, with their numbers; clears the marks."""
        if self._recoloured:
            # The library marks rows for a new palette, and not for other colours of plain text.
            self._recoloured = False
            check(lib.ghostty_render_state_clean(self._state[0]), "clean")
            return list(enumerate(self.all()))
        advance = lib.ghostty_render_state_row_iterator_next_dirty
        rows, number = self._iterator(), self._y
        rows_changed: list[tuple[int, Sequence[CellRun]]] = []
        while advance(rows, number):
            y = int(number[0])
            rows_changed.append((y, self._row(rows, y)))
        check(lib.ghostty_render_state_clean(self._state[0]), "clean")
        return rows_changed

    def all(self) -> list[Sequence[CellRun]]:
        """Return every visible row; the marks stay unchanged."""
        advance = lib.ghostty_render_state_row_iterator_next
        rows = self._iterator()
        rows_all: list[Sequence[CellRun]] = []
        while advance(rows):
            rows_all.append(self._row(rows, len(rows_all)))
        return rows_all

    def _iterator(self) -> Any:
        key = lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR
        check(lib.ghostty_render_state_get(self._state[0], key, self._rows), "rows")
        return self._rows[0]

    def _row(self, row: Any, y: int) -> list[CellRun]:
        """The cells of the iterator's present row, number ``y`` of the view, as runs."""
        key = lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW
        check(lib.ghostty_render_state_row_get(row, key, self._view), "cells")
        view = self._view
        raw = ffi.buffer(view.ptr, view.len * 8)[:]
        key = lib.GHOSTTY_RENDER_STATE_ROW_DATA_RAW
        check(lib.ghostty_render_state_row_get(row, key, self._raw), "row")
        key = lib.GHOSTTY_ROW_DATA_HYPERLINK
        check(lib.ghostty_row_get(self._raw[0], key, self._has_links), "row")
        text = None if self._has_links[0] else _narrow(raw)
        if text is not None and (text.isascii() or not DISPUTED.search(text)):
            return self._narrow_runs(row, raw, text)
        packed = memoryview(raw).cast("Q").tolist()
        return self._linked(row, packed, y) if self._has_links[0] else self._runs(row, packed, 0)

    def _narrow_runs(self, row: Any, raw: bytes, text: str) -> list[CellRun]:
        """The runs of a row whose cells are a character each, of which ``text`` is made."""
        cells = int.from_bytes(raw, "little") >> self._style_at
        shifted = cells.to_bytes(len(raw), "little")
        low, high = shifted[0::8], shifted[1::8]
        if not (any(low) or any(high)):
            return [CellRun(text, *self._plain)]
        self._select(row)
        seen: dict[int, Style] = {0: self._plain}
        runs: list[CellRun] = []
        first = 0
        for number, stretch in groupby(memoryview(_paired(low, high)).cast("H")):
            last = first + sum(1 for _ in stretch)
            style = seen.get(number)
            if style is None:
                style = seen[number] = self._style_of(first)
            runs.append(CellRun(text[first:last], *style))
            first = last
        return runs

    def _runs(self, row: Any, packed: list[int], first: int) -> list[CellRun]:
        """Some cells of a row, from column ``first`` on, as runs of one style."""
        style_at, style_mask, wide_at = self._style_at, self._style_mask, self._wide_at
        seen: dict[int, Style] = {0: self._plain}
        selected = False
        runs: list[CellRun] = []
        text: list[str] = []
        style, mark = self._plain, 0
        for x, cell in enumerate(packed, first):
            # A background-only cell carries its colour itself; the whole cell is its mark then.
            new = -cell if cell & _BACKGROUND_ONLY else cell >> style_at & style_mask
            if new != mark:
                cached = seen.get(new)
                if cached is None:
                    if new > 0 and not selected:
                        self._select(row)
                        selected = True
                    cached = seen[new] = self._style_of(x) if new > 0 else self._filled(cell)
                mark = new
                if cached != style:
                    if text:
                        runs.append(CellRun("".join(text), *style))
                        text = []
                    style = cached
            if cell >> wide_at & _WIDE_SPACERS:
                continue
            character = self._character(row, x, cell)
            if character.isascii() or not DISPUTED.search(character):
                text.append(character)
                continue
            if text:
                runs.append(CellRun("".join(text), *style))
                text = []
            cells = 2 if cell >> wide_at & _WIDE else 1
            runs.append(CellRun(character, *style, cells=cells))
        if text:
            runs.append(CellRun("".join(text), *style))
        return runs

    def _character(self, row: Any, x: int, cell: int) -> str:
        """The text of a cell; a blank if it has only a colour."""
        if cell & _BACKGROUND_ONLY:
            return " "
        if cell & 1:
            self._select(row)
            return self._grapheme(x)
        return chr(cell >> 2 & 0x1FFFFF or 32)

    def _linked(self, row: Any, packed: list[int], y: int) -> list[CellRun]:
        """The runs of a row, cut where links begin and end, each with its link's address."""
        at = self._link_at
        links = [self._link(x, y) if cell >> at & 1 else "" for x, cell in enumerate(packed)]
        runs: list[CellRun] = []
        first = 0
        for link, stretch in groupby(links):
            last = first + sum(1 for _ in stretch)
            runs_bare = self._runs(row, packed[first:last], first)
            runs.extend(replace(run, link=link) if link else run for run in runs_bare)
            first = last
        return runs

    def _link(self, x: int, y: int) -> str:
        """The address of a cell's link; empty if it is too long or no plain text."""
        ref = ref_at(self._terminal, x, y, "viewport")
        get = lib.ghostty_grid_ref_hyperlink_uri
        if get(ref, self._address, _ADDRESS, self._size):
            return ""
        text = bytes(ffi.buffer(self._address, self._size[0])).decode(errors="replace")
        return text if text.isprintable() else ""

    def _select(self, row: Any) -> None:
        key = lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS
        check(lib.ghostty_render_state_row_get(row, key, self._cells), "row cells")

    def _grapheme(self, x: int) -> str:
        """The characters of a cell that holds more than one codepoint."""
        cells, get = self._cells[0], lib.ghostty_render_state_row_cells_get
        check(lib.ghostty_render_state_row_cells_select(cells, x), "cell")
        get(cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_LEN, self._length)
        if self._length[0] > _GRAPHEME:
            return "\N{REPLACEMENT CHARACTER}"
        get(cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_BUF, self._points)
        return "".join(map(chr, self._points[0 : self._length[0]])) or " "

    def _style_of(self, x: int) -> Style:
        cells = self._cells[0]
        # Hundreds of times a frame: prepared here, so that no call looks it up again.
        if _select_cell(cells, x) or _get_cell(cells, _STYLE, self._style):
            raise GhosttyError("style")
        raw = self._raw_style.tobytes()
        cached = self._styles.get(raw)
        if cached is None:
            if len(self._styles) >= _KEPT_STYLES:
                self._styles.clear()
            flags = raw[_ATTRIBUTES_AT:]
            names = self._names.get(flags)
            if names is None:
                style = self._style
                names = frozenset(name for field, name in _ATTRIBUTES if getattr(style, field))
                if (kind := _KINDS.get(style.underline)) is not None:
                    names |= {kind}
                self._names[flags] = names
            of = self._colours
            cached = self._styles[raw] = (
                of.drawn(_colour(raw, _FOREGROUND), of.foreground),
                of.drawn(_colour(raw, _GROUND), of.background),
                names,
                of.drawn(_colour(raw, _UNDERLINE), None) if "underline" in names else None,
            )
        return cached

    def _filled(self, cell: int) -> Style:
        """The style of a cell that has only a background colour."""
        value, of = cell >> 2 & 0xFFFFFF, self._colours
        if cell & 3 == _BACKGROUND_ONLY:
            return of.foreground, of.drawn(value & 0xFF, None), _NO_NAMES, None
        return of.foreground, (value & 0xFF, value >> 8 & 0xFF, value >> 16), _NO_NAMES, None


def _narrow(raw: bytes) -> str | None:
    """The text of a row's packed cells, if every cell is one narrow character of at most 16 bits.

    Most rows are like that, and those with wide cells, joined characters or bare colours are read
    cell by cell. A cell is a number of 8 bytes, its tag in the lowest 2 bits, then the character.
    """
    shifted = (int.from_bytes(raw, "little") >> _TAG_BITS).to_bytes(len(raw), "little")
    blank = bytes(len(raw) // 8)
    if shifted[2::8] != blank or raw[0::8].translate(_TAGS) != blank:
        return None
    if raw[5::8].translate(_WIDTHS) != blank:
        return None
    return _paired(shifted[0::8], shifted[1::8]).decode("utf-16-le", "replace").replace("\0", " ")


def _paired(low: bytes, high: bytes) -> bytearray:
    """Numbers of 16 bits from their halves."""
    both = bytearray(2 * len(low))
    both[0::2], both[1::2] = low, high
    return both


def _colour(raw: bytes, at: int) -> Colour:
    """A colour of a style's bytes, where its tag is at ``at``."""
    tag, value = raw[at], at + _VALUE
    if tag == _RGB:
        return raw[value], raw[value + 1], raw[value + 2]
    return raw[value] if tag == _PALETTE else None
