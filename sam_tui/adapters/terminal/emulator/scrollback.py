"""Text of a terminal beyond the visible: ranges with soft wraps joined, words, search."""

from collections.abc import Sequence
from typing import Any

from sam_tui.adapters.terminal.emulator.ghostty import (
    check,
    create,
    ffi,
    formatted,
    lib,
    place_of,
    ref_at,
    sized,
    string,
    track,
    tracked,
)
from sam_tui.core.ports.processes.screens import TextSpan

_LONGEST_NEEDLE = 256


class FollowedCell:
    """The ``Pin`` port: follows a cell through scrolling, resizing and the removal of old rows."""

    def __init__(self, terminal: Any, column: int, row: int) -> None:
        self._terminal = terminal  # must outlive the handle
        self._handle = track(terminal, column, row, self)

    @property
    def position(self) -> tuple[int, int] | None:
        """(column, row) with 0 the oldest stored row; None once it is removed or out of sight."""
        return tracked(self._handle)


class Scrollback:
    """All stored rows of one terminal; row 0 is the oldest, a position is (column, row)."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal

    @property
    def total(self) -> int:
        """The number of rows, scrollback and visible ones together."""
        return int(self._terminal.get("total_rows", "size_t"))

    @property
    def top(self) -> int:
        """The row at the top of the view."""
        return int(self._terminal.get("scrollbar", "GhosttyTerminalScrollbar").offset)

    def pin(self, column: int, row: int) -> FollowedCell:
        """Follow a cell from now on; a place outside is the nearest within."""
        columns = int(self._terminal.get("cols"))
        column, row = min(max(column, 0), columns - 1), min(max(row, 0), self.total - 1)
        return FollowedCell(self._terminal, column, row)

    def text(self, start: tuple[int, int], end: tuple[int, int], *, block: bool = False) -> str:
        """Return the text from one place to another, both included, soft wraps joined, blank ends cut.

        As a block, it is the rectangle between the two, each row a line of its own.
        """
        if block:
            left, right = sorted((start[0], end[0]))
            top, bottom = sorted((start[1], end[1]))
            top, bottom = max(top, 0), min(bottom, self.total - 1)
            return "\n".join(self.text((left, y), (right, y)) for y in range(top, bottom + 1))
        first, last = sorted((start[::-1], end[::-1]))
        columns = int(self._terminal.get("cols"))
        lowest = self.total - 1
        if first[0] > lowest or last[0] < 0:
            return ""
        first = max(first, (0, 0))
        last = min(last, (lowest, columns - 1))
        selection = sized("GhosttySelection")
        selection.start = self._ref(min(first[1], columns - 1), first[0])
        selection.end = self._ref(min(max(last[1], 0), columns - 1), last[0])
        return formatted(self._terminal, selection)

    def visible(self) -> str:
        """The logical lines in view, also the rows of them that are out of view."""
        top = self.top
        last = int(self._terminal.get("cols")) - 1, top + int(self._terminal.get("rows")) - 1
        return self.text((0, top), last)

    def word_at(self, column: int, row: int) -> TextSpan | None:
        """The word at a cell, or None."""
        if not (0 <= row < self.total and 0 <= column < int(self._terminal.get("cols"))):
            return None
        options, selection = sized("GhosttyTerminalSelectWordOptions"), sized("GhosttySelection")
        options.ref = self._ref(column, row)
        if lib.ghostty_terminal_select_word(self._terminal._t[0], options, selection):
            return None
        return self._span(selection)

    def line_at(self, row: int) -> TextSpan:
        """The whole line that a row is part of, with all rows it was wrapped into."""
        row = min(max(row, 0), self.total - 1)
        options, selection = sized("GhosttyTerminalSelectLineOptions"), sized("GhosttySelection")
        options.ref = self._ref(0, row)
        if lib.ghostty_terminal_select_line(self._terminal._t[0], options, selection):
            return TextSpan((0, row), (int(self._terminal.get("cols")) - 1, row))
        return self._span(selection)

    def search(self, needle: str, *, limit: int = 1000) -> Sequence[TextSpan]:
        """The spans of a text, newest first, ignoring ASCII case and soft wraps."""
        needle_bytes = needle.encode(errors="replace")[:_LONGEST_NEEDLE]
        if not needle_bytes or limit < 1:
            return ()
        # Freed at the end of the call, since it follows every change of the terminal.
        owner = _Owner()
        search = create("GhosttySearch", "search", owner, self._terminal._t[0])
        key = lib.GHOSTTY_SEARCH_OPT_NEEDLE
        check(lib.ghostty_search_set(search[0], key, string(needle_bytes)), "search")
        check(lib.ghostty_search_run(search[0]), "search")
        total = ffi.new("size_t*")
        key = lib.GHOSTTY_SEARCH_DATA_TOTAL_MATCHES
        check(lib.ghostty_search_get(search[0], key, total), "search")
        if not total[0]:
            return ()
        selections = ffi.new("GhosttySelection[]", total[0])
        for selection in selections:
            selection.size = ffi.sizeof("GhosttySelection")
        buffer = ffi.new("GhosttySelectionBuffer*")
        buffer.ptr, buffer.cap = selections, total[0]
        check(lib.ghostty_search_get(search[0], lib.GHOSTTY_SEARCH_DATA_MATCHES, buffer), "search")
        return [self._span(selections[index]) for index in range(min(buffer.len, limit))]

    def _ref(self, column: int, row: int) -> object:
        return ref_at(self._terminal, column, row, "screen")[0]

    def _span(self, selection: Any) -> TextSpan:
        return TextSpan(
            place_of(self._terminal, selection.start), place_of(self._terminal, selection.end)
        )


class _Owner:
    """The object whose lifetime bounds a search."""
