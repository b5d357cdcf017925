"""The ``Screen`` port: a terminal emulator fed with a program's output, without any UI."""

from collections.abc import Callable, Sequence

from sam_tui.adapters.terminal.ghostty import (
    Terminal,
    check,
    create,
    ffi,
    lib,
    scroll_viewport,
)
from sam_tui.adapters.terminal.grid import Grid
from sam_tui.adapters.terminal.keys import control_byte, stroke
from sam_tui.core.ports import CellRun, KeyPress

_SCROLLBACK_LINES = 10_000
_TITLE_LIMIT = 200
_KEY_BYTES = 128
_PASTE_BRACKETS = 16


class EmulatedScreen:
    """One emulator. Its answers to a program's questions go to ``reply`` once that is set.

    Everything is called on one thread. Freed with the last reference to it.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.reply: Callable[[bytes], None] | None = None
        self._columns, self._rows = columns, rows
        # The emulator keeps the callback, so the callback must not keep the screen.
        self._answers: list[bytes] = []
        self._terminal = Terminal(columns, rows, scrollback=_SCROLLBACK_LINES)
        self._terminal.on_reply(self._answers.append)
        self._grid = Grid(self._terminal)
        self._stale = True
        self._encoder = create("GhosttyKeyEncoder", "key_encoder", self)
        self._event = create("GhosttyKeyEvent", "key_event", self)
        self._encoded = ffi.new(f"char[{_KEY_BYTES}]")
        self._written = ffi.new("size_t*")

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
        found = self._terminal.get("title", "GhosttyString")
        raw = bytes(ffi.buffer(found.ptr, found.len)) if found.len else b""
        text = raw.decode(errors="replace")[:_TITLE_LIMIT]
        return "".join(c for c in text if c.isprintable())

    @property
    def cursor(self) -> tuple[int, int] | None:
        """(column, row) from 0, or None while hidden."""
        self._refresh()
        return self._grid.cursor()

    def feed(self, data: bytes) -> None:
        """Let the program's output act on the screen."""
        self._terminal.feed(data)
        self._stale = True
        if self._answers:
            answer = b"".join(self._answers)
            self._answers.clear()
            if self.reply is not None:
                self.reply(answer)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; lines of the primary screen are wrapped anew."""
        self._columns, self._rows = columns, rows
        self._terminal.resize(columns, rows)
        self._stale = True

    def dirty_rows(self) -> Sequence[tuple[int, Sequence[CellRun]]]:
        """The rows that changed since the last call, and their cells; clears the marks."""
        self._refresh()
        return self._grid.dirty()

    def all_rows(self) -> Sequence[Sequence[CellRun]]:
        """Every visible row."""
        self._refresh()
        return self._grid.all()

    def text(self) -> str:
        """The visible rows as plain text, without the blanks at their ends."""
        return "\n".join("".join(run.text for run in row).rstrip() for row in self.all_rows())

    def scroll(self, lines: int) -> None:
        """Move the view through the scrollback: negative is up, 0 jumps to the bottom."""
        scroll_viewport(self._terminal._t[0], lines)
        self._stale = True

    def encode_key(self, press: KeyPress) -> bytes:
        """The bytes this program expects for a key in its present mode; none for an unknown key."""
        found = stroke(press.key, press.character)
        if found is None:
            return b""
        event, text = self._event[0], found.text.encode()
        # The event keeps the pointer only, so the text has to live until it is encoded.
        held = ffi.new("char[]", text) if text else ffi.NULL
        lib.ghostty_key_event_set_action(event, lib.GHOSTTY_KEY_ACTION_PRESS)
        lib.ghostty_key_event_set_key(event, getattr(lib, f"GHOSTTY_KEY_{found.code}"))
        lib.ghostty_key_event_set_mods(event, found.modifiers)
        lib.ghostty_key_event_set_consumed_mods(event, found.consumed)
        lib.ghostty_key_event_set_utf8(event, held, len(text))
        lib.ghostty_key_event_set_unshifted_codepoint(event, found.unshifted)
        lib.ghostty_key_encoder_setopt_from_terminal(self._encoder[0], self._terminal._t[0])
        check(
            lib.ghostty_key_encoder_encode(
                self._encoder[0], event, self._encoded, _KEY_BYTES, self._written
            ),
            "key",
        )
        return bytes(ffi.buffer(self._encoded, self._written[0])) or control_byte(found)

    def encode_paste(self, text: str) -> bytes:
        """The bytes for pasted text, bracketed where the program asked for that.

        Control characters that could end the brackets or act as keys are replaced by the library.
        """
        data = text.encode(errors="replace")
        if not data:
            return b""
        source = ffi.new("char[]", data)  # a copy: it is edited in place
        size = len(data) * 2 + _PASTE_BRACKETS
        target = ffi.new("char[]", size)
        bracketed = self._terminal.mode(2004)
        check(
            lib.ghostty_paste_encode(source, len(data), bracketed, target, size, self._written),
            "paste",
        )
        return bytes(ffi.buffer(target, self._written[0]))

    def _refresh(self) -> None:
        if self._stale:
            self._grid.update()
            self._stale = False
