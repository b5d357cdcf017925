"""The ``Screen`` port: a terminal emulator fed with a program's output, without any UI."""

import base64
from collections.abc import Callable, Sequence

from sam_tui.adapters.terminal.emulator.ghostty import (
    Terminal,
    scroll_to_row,
    scroll_viewport,
    settings,
)
from sam_tui.adapters.terminal.emulator.grid import Grid
from sam_tui.adapters.terminal.emulator.host import EmulatorHost
from sam_tui.adapters.terminal.emulator.input_encoding import InputEncoder
from sam_tui.adapters.terminal.emulator.scrollback import Scrollback
from sam_tui.core.ports.processes.screens import (
    CellRun,
    ClipboardRequest,
    CursorShape,
)

_MOST_LINES = 10_000_000
"""In effect no limit: the host limits the scrollback by bytes."""
_TITLE_LIMIT = 200


class EmulatedScreen:
    """One emulator. Its answers to a program's questions go to ``reply`` once that is set.

    Everything is called on one thread. Freed with the last reference to it.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.reply: Callable[[bytes], None] | None = None
        self._columns, self._rows = columns, rows
        self._terminal = Terminal(columns, rows, scrollback=_MOST_LINES)
        # The emulator keeps callbacks into its host, so the host must not keep the screen.
        self._host = EmulatorHost(self._terminal)
        self._host.resized(columns, rows)
        self._grid = Grid(self._terminal)
        self.input = InputEncoder(self._terminal)
        self.scrollback = Scrollback(self._terminal)
        self._on_clipboard: Callable[[ClipboardRequest], None] | None = None
        self._on_bell: Callable[[], None] | None = None
        self._stale = True

    @property
    def columns(self) -> int:
        """Width in cells."""
        return self._columns

    @property
    def rows(self) -> int:
        """Height in cells."""
        return self._rows

    @property
    def title(self) -> str:
        """The title the program set, one line without control characters."""
        text = self._host.title.decode(errors="replace")[:_TITLE_LIMIT]
        return "".join(c for c in text if c.isprintable())

    @property
    def cursor(self) -> tuple[int, int] | None:
        """(column, row) from 0, or None while hidden."""
        self._refresh()
        return self._grid.cursor()

    @property
    def cursor_shape(self) -> CursorShape:
        """The shape in which the program wants its cursor drawn."""
        self._refresh()
        return self._grid.cursor_shape()[0]

    @property
    def cursor_blinks(self) -> bool:
        """Whether it wants the cursor to blink."""
        self._refresh()
        return self._grid.cursor_shape()[1]

    @property
    def cursor_colour(self) -> tuple[int, int, int] | None:
        """The colour that the program chose for the cursor; None for that of the text."""
        self._refresh()
        return self._grid.cursor_colour()

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown, which has no scrollback."""
        return bool(self._terminal.get("active_screen", "GhosttyTerminalScreen"))

    @property
    def drawing(self) -> bool:
        """Whether the program is in the middle of a frame (mode 2026); no row is dirty during one."""
        return self._host.drawing

    def feed(self, data: bytes) -> None:
        """Let the program's output act on the screen."""
        self._host.feed(data)
        self._stale = True
        self._deliver()

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; lines of the primary screen are wrapped anew."""
        self._columns, self._rows = columns, rows
        self._host.resize(columns, rows)
        self._stale = True
        self._reply()

    def dirty_rows(self) -> Sequence[tuple[int, Sequence[CellRun]]]:
        """The rows that changed since the last call, and their cells; clears the marks."""
        if self._host.drawing:
            return ()
        self._refresh()
        return self._grid.dirty()

    def all_rows(self) -> Sequence[Sequence[CellRun]]:
        """Every visible row."""
        self._refresh()
        return self._grid.all()

    def text(self) -> str:
        """The visible rows as plain text, without the blanks at their ends."""
        return "\n".join("".join(run.text for run in row).rstrip() for row in self.all_rows())

    def settings(self) -> str:
        """Sequences that give another terminal this one's modes, margins, pen and character sets."""
        return settings(self._terminal)

    def scroll(self, lines: int) -> None:
        """Move the view through the scrollback: negative is up, 0 jumps to the bottom."""
        scroll_viewport(self._terminal._t[0], lines)
        self._stale = True

    def scroll_to(self, row: int) -> None:
        """Move the view so that a row is its first, as far as there are rows below."""
        scroll_to_row(self._terminal._t[0], max(0, row))
        self._stale = True

    # ---- towards the program

    def on_clipboard(self, on_request: Callable[[ClipboardRequest], None] | None) -> None:
        """Call ``on_request`` for clipboard requests of programs; without it they have no effect."""
        self._on_clipboard = on_request

    def on_bell(self, listener: Callable[[], None] | None) -> None:
        """Call ``listener`` on the bell."""
        self._on_bell = listener

    def answer_clipboard(self, text: str) -> None:
        """Give the program the clipboard's text that it asked for, once the person agreed."""
        data = base64.b64encode(text.encode(errors="replace"))
        self._host.answers.append(b"\x1b]52;c;" + data + b"\x1b\\")
        self._reply()

    def use_colours(
        self,
        foreground: tuple[int, int, int],
        background: tuple[int, int, int],
        *,
        dark: bool,
        palette: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """Set the colours for answers to programs (0 to 255 each).

        A program that subscribed learns at once whether they are light or dark.
        """
        self._host.use_colours(foreground, background, dark=dark, palette=palette)
        self._reply()

    def _deliver(self) -> None:
        """Pass on the events that occurred while output was processed."""
        self._reply()
        requests, self._host.requests = self._host.requests, []
        for request in requests:
            if self._on_clipboard is not None:
                self._on_clipboard(request)
        if self._host.bells:
            self._host.bells = 0
            if self._on_bell is not None:
                self._on_bell()

    def _reply(self) -> None:
        if self._host.answers:
            answer = b"".join(self._host.answers)
            self._host.answers.clear()
            if self.reply is not None:
                self.reply(answer)

    def _refresh(self) -> None:
        if self._stale:
            self._grid.update()
            self._stale = False
