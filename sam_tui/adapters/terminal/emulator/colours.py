"""Colours that programs set in place of the terminal's own (OSC 4, 5, 10 to 19, DECSCNM)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from sam_tui.adapters.terminal.emulator.ghostty import ffi, lib

Rgb = tuple[int, int, int]
Colour = int | Rgb | None
"""An index in the palette, RGB values, or None for the terminal's default."""
_PALETTE = 256
_REVERSED = 5
"""DECSCNM: text and background exchange their default colours."""
_NAMES = ("FOREGROUND", "BACKGROUND", "CURSOR")


class Colours:
    """The colours that one terminal's programs changed. ``foreground``, ``background``: of plain text."""

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
        """Read the terminal's present colours; whether anything has to be drawn differently."""
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
        """The present colour for a cell's colour; ``plain`` for the colour of plain text."""
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


_SPECIAL = range(5)
"""The special colours: of bold, underlined, blinking, reversed and italic text."""
_DYNAMIC = range(13, 20)
"""The dynamic colours: of the pointer, of Tektronix windows and of the selection."""
_GROUNDS = frozenset((14, 16, 17))
"""Dynamic colours that are reported as the background until a program sets them."""
_PART = re.compile(rb"([0-9]+);([^;]+)")


class SpecialColours:
    """Acts on ``OSC 4``, ``5``, ``13`` to ``19`` and their resets. ``own`` asks for 10 or 11.

    Each method takes the sequence's numbers and text without the terminator, which answers repeat.
    """

    def __init__(self, feed: Callable[[bytes], None], say: Callable[[bytes], None]) -> None:
        self._feed = feed
        self._say = say
        self._set: dict[tuple[int, int], Rgb] = {}

    def act(self, body: bytes, plain: Callable[[int], bytes]) -> None:
        """Handle a colour sequence. ``plain`` gives the reported colour of text (10) or background (11)."""
        end = b"\x07" if body.endswith(b"\x07") else b"\x1b\\"
        number, _, value_part = body[1 : -len(end)].partition(b";")
        kind = int(number)
        if kind in (4, 5):
            self._numbered(kind, value_part, end, plain)
        elif kind == 105:
            self._forget(5, [int(part) for part in value_part.split(b";") if part.isdigit()])
        elif kind in _DYNAMIC:
            for which, value in zip(_DYNAMIC[kind - 13 :], value_part.split(b";"), strict=False):
                self._one((which, 0), value, b"%d" % which + b";", end, plain)
        else:
            self._set.pop((kind - 100, 0), None)

    def _forget(self, kind: int, numbers: Sequence[int]) -> None:
        for number in numbers or _SPECIAL:
            self._set.pop((kind, number), None)

    def _numbered(
        self, kind: int, value_part: bytes, end: bytes, plain: Callable[[int], bytes]
    ) -> None:
        """Handle OSC 5, and OSC 4, in which numbers after the palette are special colours."""
        for match in _PART.finditer(value_part):
            number = int(match[1])
            special = number - _PALETTE if kind == 4 else number
            if special in _SPECIAL:
                name = b"%d;%d;" % (kind, number)
                self._one((5, special), match[2], name, end, plain)
            elif kind == 4:
                self._feed(b"\x1b]4;" + match[0] + end)

    def _one(
        self,
        which: tuple[int, int],
        value: bytes,
        name: bytes,
        end: bytes,
        plain: Callable[[int], bytes],
    ) -> None:
        if value != b"?":
            colour = parsed(value)
            if colour is not None:
                self._set[which] = colour
            return
        special = self._set.get(which)
        reply = plain(11 if which[0] in _GROUNDS else 10) if special is None else _rgb_text(special)
        self._say(b"]" + name + reply + end)


def parsed(text: bytes) -> Rgb | None:
    """A colour in any spelling that the library reads, or None."""
    colour = ffi.new("GhosttyColorRgb*")
    if lib.ghostty_color_parse(ffi.from_buffer(text), len(text), colour):
        return None
    return int(colour.r), int(colour.g), int(colour.b)


def _rgb_text(colour: Rgb) -> bytes:
    return b"rgb:" + b"/".join(b"%02x%02x" % (part, part) for part in colour)
