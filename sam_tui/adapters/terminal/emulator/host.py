"""Duties of a terminal's host that the library leaves: clipboard, bell, sizes, colours, synchronization.

This module answers the library's questions to its host; ``sequences`` handles output that it ignores.
"""

import time
import weakref
from collections.abc import Sequence
from typing import Any, Literal

from sam_tui.adapters.terminal.emulator.ghostty import (
    check,
    copied,
    ffi,
    lib,
    set_mode,
    set_option,
    string,
)
from sam_tui.adapters.terminal.emulator.sequences import Sequences
from sam_tui.core.ports.processes.screens import ClipboardRequest

CELL_WIDTH, CELL_HEIGHT = 8, 16
"""The size of a cell in pixels that is reported to programs, although no pixels exist."""
LONGEST_HOLD = 0.15
"""The most seconds for which a program can suspend drawing (mode 2026)."""

_GRAPHEMES = 2027
"""Grapheme clustering: emoji sequences and flags take two cells as one character."""
_SCHEME_REPORTS = 2031
_REQUESTS = 4
_SCROLLBACK_LINES = 10_000
_CELL_BYTES, _ROW_BYTES = 8, 200
_CLIPBOARD = 256 * 1024
Rgb = tuple[int, int, int]
_LIGHT, _DARK = (229, 229, 229), (0, 0, 0)
"""The default colours that are reported, because a program that asks waits for an answer."""
_LOCATIONS = {"p": "primary", "s": "selection"}


class EmulatorHost:
    """The host's part of one terminal. It must not keep the screen alive, nor the screen's callbacks."""

    def __init__(self, terminal: Any) -> None:
        self.answers: list[bytes] = []
        """Replies to be sent to the program, oldest first."""
        self.requests: list[ClipboardRequest] = []
        """The program's clipboard requests, oldest first."""
        self.bells = 0
        """How often the bell rang; only counted, as no error may occur inside a callback of the library."""
        self.dark = True
        self._terminal = terminal
        self._scrollback = 0
        self._held_since: float | None = None
        self._size = ffi.new("GhosttySizeReportSize*")
        self._sequences = Sequences(terminal, self.answers, self._size)
        self._callbacks = _callbacks(self)
        for name, function in self._callbacks.items():
            self._set(name, function)
        self._set("TERMINFO_NAME", string(b"xterm-256color"))
        # Neither pictures nor glyphs are drawn, so programs must not learn that they are supported.
        self._set("KITTY_IMAGE_STORAGE_LIMIT", ffi.new("uint64_t*", 0))
        self._set("GLYPH_PROTOCOL", ffi.new("bool*", False))
        for option in ("MODE_DEFAULT", "MODE"):
            set_mode(terminal, _GRAPHEMES, True, option=option)
        self.use_colours(_LIGHT, _DARK, dark=True)
        terminal.on_reply(self.answers.append)

    @property
    def title(self) -> bytes:
        """The title as the program set it."""
        return copied(self._terminal.get("title", "GhosttyString"))

    @property
    def drawing(self) -> bool:
        """Whether the program is drawing and wants no frame shown."""
        since = self._held_since
        return since is not None and time.monotonic() - since < LONGEST_HOLD

    @property
    def size(self) -> Any:
        """The size that is reported to programs."""
        return self._size

    def feed(self, data: bytes) -> None:
        """Let output act on the terminal."""
        self._sequences.feed(data)
        if self._sequences.clipboard:
            locations, self._sequences.clipboard = self._sequences.clipboard, []
            for location in locations:
                self._ask("read", location, "")

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal."""
        self.resized(columns, rows)
        self._terminal.resize(columns, rows)
        self._sequences.refit()

    def resized(self, columns: int, rows: int) -> None:
        """Take note of a new size."""
        size = self._size
        size.columns, size.rows = columns, rows
        size.cell_width, size.cell_height = CELL_WIDTH, CELL_HEIGHT
        # The library's own limit is a few hundred lines, and one in lines costs it its speed. Never
        # lowered, so that a narrow moment loses nothing.
        self._scrollback = max(
            self._scrollback, _SCROLLBACK_LINES * (columns * _CELL_BYTES + _ROW_BYTES)
        )
        self._set("SCROLLBACK_MAX_BYTES", ffi.new("size_t*", self._scrollback))

    def use_colours(
        self,
        foreground: Rgb,
        background: Rgb,
        *,
        dark: bool,
        palette: Sequence[Rgb] = (),
    ) -> None:
        """Set the colours for answers to programs: the defaults, and the first of the palette."""
        if dark != self.dark and self._terminal.mode(_SCHEME_REPORTS):
            self.answers.append(b"\x1b[?997;%dn" % (1 if dark else 2))
        self.dark = dark
        plain = {"FOREGROUND": foreground, "BACKGROUND": background, "CURSOR": foreground}
        for name, rgb in plain.items():
            self._set(f"COLOR_{name}", ffi.new("GhosttyColorRgb*", rgb))
        if palette:
            colours = ffi.new("GhosttyColorRgb[256]")
            key = lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE_DEFAULT
            check(lib.ghostty_terminal_get(self._terminal._t[0], key, colours), "palette")
            for index, rgb in enumerate(palette[:256]):
                colours[index] = rgb
            self._set("COLOR_PALETTE", colours)

    def hold(self, on: bool) -> None:
        """Synchronized output began or ended."""
        self._held_since = time.monotonic() if on else None

    def _set(self, option: str, value: Any) -> None:
        set_option(self._terminal, option, value)

    def _ask(self, kind: Literal["read", "write"], location: str, text: str) -> None:
        where = _LOCATIONS.get(location[:1], "clipboard")
        self.requests = [*self.requests[1 - _REQUESTS :], ClipboardRequest(kind, text, where)]

    def written(self, write: Any) -> None:
        """A program wants to set the clipboard (OSC 52): a person decides."""
        for index in range(write.contents_len):
            content = write.contents[index]
            if not copied(content.mime).startswith(b"text/") or content.data.len > _CLIPBOARD:
                continue
            primary = write.location == lib.GHOSTTY_CLIPBOARD_LOCATION_PRIMARY
            self._ask(
                "write", "p" if primary else "c", copied(content.data).decode(errors="replace")
            )
            return


def _callbacks(host: EmulatorHost) -> dict[str, Any]:
    """Return the callbacks of the library, by option. The host keeps them; they hold it weakly."""
    holder = weakref.ref(host)

    def size(_terminal: Any, _data: Any, out: Any) -> bool:
        host = holder()
        if host is not None:
            ffi.memmove(out, host.size, ffi.sizeof("GhosttySizeReportSize"))
        return host is not None

    def scheme(_terminal: Any, _data: Any, out: Any) -> bool:
        host = holder()
        dark = host is None or host.dark
        out[0] = lib.GHOSTTY_COLOR_SCHEME_DARK if dark else lib.GHOSTTY_COLOR_SCHEME_LIGHT
        return True

    def write(_terminal: Any, _data: Any, request: Any) -> None:
        host = holder()
        if host is not None:
            host.written(request)

    def hold(_terminal: Any, _data: Any, on: bool) -> None:
        host = holder()
        if host is not None:
            host.hold(bool(on))

    def bell(_terminal: Any, _data: Any) -> None:
        host = holder()
        if host is not None:
            host.bells += 1

    return {
        "SIZE": ffi.callback("GhosttyTerminalSizeFn", size),
        "COLOR_SCHEME": ffi.callback("GhosttyTerminalColorSchemeFn", scheme),
        "CLIPBOARD_WRITE": ffi.callback("GhosttyTerminalClipboardWriteFn", write),
        "RENDER_HOLD": ffi.callback("GhosttyTerminalRenderHoldFn", hold),
        "BELL": ffi.callback("GhosttyTerminalBellFn", bell),
    }
