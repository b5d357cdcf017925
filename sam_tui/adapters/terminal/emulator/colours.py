"""The colours that programs put in the place of the terminal's own (OSC 4, 10 to 12, DECSCNM)."""

from typing import Any

from sam_tui.adapters.terminal.emulator.ghostty import ffi, lib

Rgb = tuple[int, int, int]
Colour = int | Rgb | None
"""A number of the palette, a colour, or the terminal's own."""
_PALETTE = 256
_REVERSED = 5
"""DECSCNM: plain text in the colours of each other."""
_NAMES = ("FOREGROUND", "BACKGROUND", "CURSOR")


class Colours:
    """What one terminal's programs changed. ``foreground`` and ``background`` are of plain text."""

    def __init__(self, terminal: Any) -> None:
        self.foreground: Rgb | None = None
        self.background: Rgb | None = None
        self.cursor: Rgb | None = None
        self._palette: dict[int, Rgb] = {}
        self._terminal = terminal
        self._numbered = ffi.new("GhosttyColorRgb[]", _PALETTE)
        self._raw = memoryview(ffi.buffer(self._numbered))
        self._one = ffi.new("GhosttyColorRgb*")
        self._known: tuple[object, ...] = ()

    def changed(self) -> bool:
        """Take over what the terminal says now; whether it is drawn in another way."""
        # Not from the render state, which keeps a colour of plain text that is no more.
        self._get("PALETTE", self._numbered)
        foreground, background, cursor = present = [self._colour(name) for name in _NAMES]
        reversed_ = self._terminal.mode(_REVERSED)
        state = (self._raw.tobytes(), *present, reversed_)
        if state == self._known:
            return False
        self._known = state
        before = (self.foreground, self.background, self.cursor, self._palette)
        self._palette = self._own_palette_left_out()
        self.cursor = self._unless_own("CURSOR", cursor)
        if reversed_:
            self.foreground, self.background = background, foreground
        else:
            self.foreground = self._unless_own("FOREGROUND", foreground)
            self.background = self._unless_own("BACKGROUND", background)
        return before != (self.foreground, self.background, self.cursor, self._palette)

    def drawn(self, colour: Colour, plain: Rgb | None) -> Colour:
        """The colour that stands for another one now; ``plain`` for that of plain text."""
        if colour is None:
            return plain
        return self._palette.get(colour, colour) if isinstance(colour, int) else colour

    def _own_palette_left_out(self) -> dict[int, Rgb]:
        default = ffi.new("GhosttyColorRgb[]", _PALETTE)
        self._get("PALETTE_DEFAULT", default)
        if ffi.buffer(default)[:] == self._raw:
            return {}
        pairs = [(number, _rgb(self._numbered[number])) for number in range(_PALETTE)]
        return {number: rgb for number, rgb in pairs if rgb != _rgb(default[number])}

    def _unless_own(self, name: str, colour: Rgb | None) -> Rgb | None:
        return None if colour == self._colour(f"{name}_DEFAULT") else colour

    def _colour(self, name: str) -> Rgb | None:
        return _rgb(self._one[0]) if self._get(name, self._one) else None

    def _get(self, name: str, into: Any) -> bool:
        key = getattr(lib, f"GHOSTTY_TERMINAL_DATA_COLOR_{name}")
        return not lib.ghostty_terminal_get(self._terminal._t[0], key, into)


def _rgb(colour: Any) -> Rgb:
    return int(colour.r), int(colour.g), int(colour.b)
