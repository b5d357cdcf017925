"""Draws the workbench in the last rows of the terminal; finished text goes to the scrollback above."""

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition

from sam_tui.ui.driver.cells import DrawnCells
from sam_tui.ui.driver.output import window_size

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.message import Message

_BEGIN, _END = "\x1b[?1049h", "\x1b[?1049l"
"""Textual's sequences for the alternate screen, which are not written in this mode."""
_PLACED = re.compile(r"\x1b\[(\d+);(\d+)([Hr])")
"""Sequences that move the cursor to a cell or set the top and bottom margins."""
_HIDE_CURSOR = "\x1b[?25l"
_ASK_CURSOR = "\x1b[6n"
_ANSWER_SECONDS = 1.0
"""Seconds in which the terminal must report the position of its cursor."""
FEWEST = 3


class Region:
    """The drawn rows: ``top`` is the first, from 0, of the terminal's ``rows``.

    All rows above are ordinary text. The methods return escape sequences for the terminal.
    """

    def __init__(self, rows: int, height: int) -> None:
        self.rows = rows
        self.top = 0
        self.height = min(height, rows)

    def begin(self) -> str:
        """Move the whole screen into the scrollback, and begin on the first row."""
        self.top = 0
        return "\r" + "\n" * (self.rows - 1) + "\x1b[H"

    def begin_at(self, column: int, row: int) -> str:
        """Begin at the cursor, on a new line."""
        return ("\r\n" if column else "") + self._make_room(min(row + bool(column), self.rows - 1))

    def erase(self) -> str:
        """Leave the rows empty, and the cursor on their first."""
        return f"\x1b[0m\x1b[{self.top + 1};1H{self._blank()}\x1b[{self.top + 1};1H"

    def erase_around(self, cursor_row: int) -> str:
        """Erase the rows when only the row that has, or before a new size had, the cursor is known.

        Rows may wrap at a new width and become more; the first of them stay then, and no text is lost.
        """
        up = f"\x1b[{cursor_row}A" if cursor_row else ""
        # In two parts: some terminals move a screen that is erased in one step into their scrollback.
        return f"\x1b[0m{up}\r\x1b7\x1b[2K\x1b[B\x1b[J\x1b8"

    def _blank(self) -> str:
        """Erase row by row, for the same reason."""
        return "\x1b[B".join(["\x1b[2K"] * self.height)

    def resize(self, height: int) -> str:
        """Set the number of rows; if there are too few below, everything moves up."""
        erased = self.erase()
        self.height = max(1, min(height, self.rows))
        return erased + self._make_room(self.top)

    def print_above(self, lines: list[str]) -> str:
        """Print lines as ordinary text; the drawn rows move below them, and are empty."""
        text = "".join(f"{line}\x1b[0m\r\n" for line in lines)
        return self.erase() + text + self._make_room(min(self.top + len(lines), self.rows - 1))

    def _make_room(self, row: int) -> str:
        """Begin on a row, or higher if the rows would not fit; the cursor moves there."""
        over = max(0, row + self.height - self.rows)
        self.top = row - over
        up = f"\x1b[{self.rows};1H" + "\n" * over if over else ""
        return f"{up}\x1b[{self.top + 1};1H"

    def shift(self, data: str) -> str:
        """Add the region's position to the cursor positions and margins in ``data``."""
        return _PLACED.sub(self._shifted, data) if "\x1b[" in data else data

    def _shifted(self, match: re.Match[str]) -> str:
        first, second, final = int(match[1]) + self.top, int(match[2]), match[3]
        return f"\x1b[{first};{second + self.top if final == 'r' else second}{final}"


class InlineDriver(LinuxDriver):
    """Reports the region's size to the app as the terminal's size; it never captures the mouse."""

    cells: DrawnCells
    _behind: Callable[[], None]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._terminal_size = window_size()
        self.region = Region(self._terminal_size.lines, FEWEST)
        self._cursor_row = 0
        """The row of the region in which the terminal's cursor is."""
        self._questions = 0
        """How many questions the terminal has not answered yet."""
        self._lost: asyncio.TimerHandle | None = None
        """Runs while the position of the region is unknown, so that nothing is drawn; None otherwise."""
        options["mouse"] = False
        super().__init__(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
        self._loop = asyncio.get_running_loop()

    def _get_terminal_size(self) -> tuple[int, int]:
        size = window_size()
        if size != self._terminal_size:
            self._terminal_size = size
            self._seek(self.region.erase_around(self._cursor_row))
            self.region.rows = size.lines
            self.region.height = min(self.region.height, size.lines)
        return size.columns, self.region.height

    def _query_in_band_window_resize(self) -> None:
        """Do nothing: the size that the terminal would report is not the region's."""

    def _disable_line_wrap(self) -> None:
        """Do nothing: without line wrap some terminals cut the text above at a new width."""

    def _seek(self, before: str) -> None:
        """Ask the terminal where its cursor is: there the region begins."""
        if self._lost is not None:
            self._lost.cancel()
        self._lost = self._loop.call_later(_ANSWER_SECONDS, self._begin_anew)
        self._questions += 1
        self._send(before + _ASK_CURSOR)

    @property
    def awaits_place(self) -> bool:
        """Whether the terminal's answer, where its cursor is, may still come."""
        return self._lost is not None

    def process_message(self, message: "Message") -> None:
        """Read the terminal's answer; the reading thread calls this."""
        if isinstance(message, CursorPosition) and self.awaits_place:
            self._loop.call_soon_threadsafe(self._begin_at, message.x, message.y)
            return
        super().process_message(message)  # pyright: ignore

    def _begin_at(self, column: int, row: int) -> None:
        self._questions -= 1
        if self._lost is not None and self._questions <= 0:
            self._release(self.region.begin_at(column, row))

    def _begin_anew(self) -> None:
        self._release(self.region.begin())

    def _release(self, sequence: str) -> None:
        if self._lost is not None:
            self._lost.cancel()
            self._lost = None
        self._questions = 0
        self._send(sequence)
        self._behind()

    def _send(self, sequence: str) -> None:
        self.cells.forget()
        self._cursor_row = 0
        file: Any = self._file
        file.write(sequence)

    def write(self, data: str) -> None:
        """Write output at the region's place."""
        if data == _BEGIN:
            self._seek("")
        elif data == _HIDE_CURSOR and self._app.has_class("-reader"):
            return  # screen readers follow the cursor
        elif data == _END:
            self._send("" if self._lost is not None else self.region.erase())
        elif self._lost is None or not _PLACED.search(data):
            super().write(self.region.shift(data))  # pyright: ignore
            for match in _PLACED.finditer(data):
                self._cursor_row = int(match[1]) - 1 if match[3] == "H" else self._cursor_row

    def print_above(self, lines: list[str]) -> None:
        """Print lines as ordinary text above the drawn rows."""
        self._send(self.region.print_above(lines))

    @property
    def placed(self) -> bool:
        """Whether the region's place is known."""
        return self._lost is None

    def take_rows(self, height: int) -> bool:
        """Draw in so many rows from now on; False where it is so already."""
        height = max(FEWEST, min(height, self.region.rows))
        if height == self.region.height:
            return False
        self._send(self.region.resize(height))
        return True


def inline(driver: "type[Driver]") -> "type[Driver]":
    """An inline version of a driver, which draws in a region and leaves the rest alone."""
    return type("InlineDriver", (InlineDriver, driver), {})
