"""What a terminal's host must do and the library leaves: soft reset, title stack, clipboard, sizes.

Sequences that the library ignores are acted on here, where they stand in the stream; what it asks
its host is answered here.
"""

import re
import time
import weakref
from collections.abc import Sequence
from typing import Any, Literal

from sam_tui.adapters.terminal.ghostty import check, copied, ffi, lib, string
from sam_tui.core.ports.screens import ClipboardRequest

CELL_WIDTH, CELL_HEIGHT = 8, 16
"""Pixels of a cell that programs are told: there are none here, but they ask."""
LONGEST_HOLD = 0.15
"""Seconds that a program may keep the screen from being drawn (mode 2026)."""

_GRAPHEMES = 2027
"""Emoji sequences and flags are one character of two cells, as they are wherever this is drawn."""
_TITLES = 10
_REQUESTS = 4
_SCROLLBACK_LINES = 10_000
_CELL_BYTES, _ROW_BYTES = 8, 200
_CLIPBOARD = 256 * 1024
_ACTED_ON = re.compile(
    rb"\x1b(?=[\[\]][!2?g5])"  # what most sequences are turned away by
    rb"(?:\[!p"  # DECSTR
    rb"|\[(2[23])(?:;[012]?)?(?:;[0-9]*)?t"  # XTWINOPS: save and restore titles
    rb"|\[\?6n"  # DECXCPR
    rb"|\[g"  # TBC, which the library hears with its parameter only
    rb"|\]52;([a-z0-9]{0,8});\?(?:\x07|\x1b\\))"  # clipboard read
)
_UNFINISHED = re.compile(
    rb"\x1b(?:\[(?:!|\?6?|2[23]?(?:;[0-9;]{0,8})?)?|\](?:5|52|52;[a-z0-9]{0,8};?\??\x1b?)?)?\Z"
)
_LONGEST_UNFINISHED = 24
_SOFT_RESET = (
    b'\x1b[?25h\x1b[4l\x1b[?6l\x1b[?7h\x1b[?1l\x1b>\x1b[?69l\x1b[r\x1b[m\x1b[0"q'
    b"\x0f\x1b(B\x1b)B\x1b*B\x1b+B\x1b[H\x1b7"
)
"""VT510 DECSTR, with autowrap left on as xterm does. The cursor is put back after it."""
Rgb = tuple[int, int, int]
_LOCATIONS = {"p": "primary", "s": "selection"}


class Host:
    """The host's part of one terminal. It must not keep the screen alive, nor the screen's callbacks."""

    def __init__(self, terminal: Any) -> None:
        self.answers: list[bytes] = []
        """What is to be sent back to the program, oldest first."""
        self.requests: list[ClipboardRequest] = []
        """What the program wants of the clipboard, oldest first."""
        self.bells = 0
        """How often the bell rang. Collected, because nothing may go wrong within the library."""
        self.dark = True
        self._terminal = terminal
        self._titles: list[bytes] = []
        self._scrollback = 0
        self._held_since: float | None = None
        self._rest = b""
        self._size = ffi.new("GhosttySizeReportSize*")
        self._callbacks = _callbacks(self)
        for name, function in self._callbacks.items():
            self._set(name, function)
        self._set("TERMINFO_NAME", string(b"xterm-256color"))
        for option in ("MODE_DEFAULT", "MODE"):
            self._set(option, ffi.new("GhosttyTerminalModeConfig*", [_GRAPHEMES, True]))
        terminal.on_reply(self.answers.append)

    @property
    def title(self) -> bytes:
        """The title as the program set it."""
        return copied(self._terminal.get("title", "GhosttyString"))

    @property
    def held(self) -> bool:
        """Whether the program is in the midst of drawing and wants nobody to look."""
        since = self._held_since
        return since is not None and time.monotonic() - since < LONGEST_HOLD

    @property
    def size(self) -> Any:
        """The size that programs are told."""
        return self._size

    def feed(self, data: bytes) -> None:
        """Let output act on the terminal. The start of a sequence that is ours waits for its rest."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        if b"\x7f" in data:
            data = data.replace(b"\x7f", b"")  # no character, but the library would show one
        if b"\x1b" not in data:
            self._terminal.feed(data)
            return
        cut = _UNFINISHED.search(data, max(0, len(data) - _LONGEST_UNFINISHED))
        if cut is not None:
            data, self._rest = data[: cut.start()], data[cut.start() :]
        done = 0
        for found in _ACTED_ON.finditer(data):
            self._terminal.feed(data[done : found.start()])
            done = found.end()
            self._act(found)
        self._terminal.feed(data[done:] if done else data)

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
        """What programs are told when they ask for colours: the defaults, the first of the palette."""
        self.dark = dark
        for name, rgb in (("COLOR_FOREGROUND", foreground), ("COLOR_BACKGROUND", background)):
            self._set(name, ffi.new("GhosttyColorRgb*", rgb))
        if palette:
            colours = ffi.new("GhosttyColorRgb[256]")
            key = lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE_DEFAULT
            check(lib.ghostty_terminal_get(self._terminal._t[0], key, colours), "palette")
            for index, rgb in enumerate(palette[:256]):
                colours[index] = rgb
            self._set("COLOR_PALETTE", colours)

    def hold(self, held: bool) -> None:
        """Synchronized output began or ended."""
        self._held_since = time.monotonic() if held else None

    def _set(self, option: str, value: Any) -> None:
        key = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        check(lib.ghostty_terminal_set(self._terminal._t[0], key, value), option)

    def _act(self, found: re.Match[bytes]) -> None:
        if found[2] is not None:
            self._ask("read", found[2].decode(), "")
        elif found[1] == b"22":
            self._titles = [*self._titles[1 - _TITLES :], self.title]
        elif found[1] == b"23":
            if self._titles:
                self._set("TITLE", string(self._titles.pop()))
        else:
            column, row = self._terminal.cursor
            place = b"%d;%d" % (row + 1, column + 1)
            if found[0].endswith(b"n"):
                self.answers.append(b"\x1b[?%sR" % place)
            elif found[0].endswith(b"g"):
                self._terminal.feed(b"\x1b[0g")
            else:
                self._terminal.feed(_SOFT_RESET + b"\x1b[%sH" % place)

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


def _callbacks(host: Host) -> dict[str, Any]:
    """What the library calls, by option. Kept by the host, whom they hold weakly."""
    holder = weakref.ref(host)

    def size(_terminal: Any, _data: Any, out: Any) -> bool:
        found = holder()
        if found is not None:
            ffi.memmove(out, found.size, ffi.sizeof("GhosttySizeReportSize"))
        return found is not None

    def scheme(_terminal: Any, _data: Any, out: Any) -> bool:
        found = holder()
        dark = found is None or found.dark
        out[0] = lib.GHOSTTY_COLOR_SCHEME_DARK if dark else lib.GHOSTTY_COLOR_SCHEME_LIGHT
        return True

    def write(_terminal: Any, _data: Any, request: Any) -> None:
        found = holder()
        if found is not None:
            found.written(request)

    def hold(_terminal: Any, _data: Any, held: bool) -> None:
        found = holder()
        if found is not None:
            found.hold(bool(held))

    def bell(_terminal: Any, _data: Any) -> None:
        found = holder()
        if found is not None:
            found.bells += 1

    return {
        "SIZE": ffi.callback("GhosttyTerminalSizeFn", size),
        "COLOR_SCHEME": ffi.callback("GhosttyTerminalColorSchemeFn", scheme),
        "CLIPBOARD_WRITE": ffi.callback("GhosttyTerminalClipboardWriteFn", write),
        "RENDER_HOLD": ffi.callback("GhosttyTerminalRenderHoldFn", hold),
        "BELL": ffi.callback("GhosttyTerminalBellFn", bell),
    }
