"""Modes that the emulation library lacks, or that have further effects."""

import re
from typing import Any

from sam_tui.adapters.terminal.emulator.ghostty import set_mode

MARGINS = 69
_WIDE, _WIDE_ALLOWED, _WIDE_CLEARS_NOT = b"3", b"40", b"95"
_MOUSE = (b"9", b"1000", b"1002", b"1003")
_ALTERNATES, _ALTERNATES_ALLOWED = (b"47", b"1047", b"1048", b"1049"), b"1046"
_CHANGE_MORE = frozenset((
    _WIDE, _WIDE_ALLOWED, _WIDE_CLEARS_NOT, _ALTERNATES_ALLOWED, b"%d" % MARGINS, *_MOUSE, *_ALTERNATES
))  # fmt: skip
_QUESTION = re.compile(rb"\[(\??)(\d+)\$p")
_UNSET = (18, 19, 30, 35, 38, 41, 42, 44, 46, 57, 60, 61, 64, 68, 80, 81, 1001, 1034)
_FIXED = {
    **{(b"", mode): 4 for mode in (1, 3, 5, 7, 10, 11, *range(13, 20))},
    **{(b"?", mode): 4 for mode in (*_UNSET, *range(100, 105), 106)},
    **{(b"?", mode): 3 for mode in (2, 8, 1011)},  # no VT52; keys repeat, and bring the newest line
}
"""Modes of ECMA-48, DEC and xterm that cannot be changed here, each with its value in DECRQM's report."""


class PrivateModes:
    """Switches the modes of one terminal (DECSET, DECRST)."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._on = {_WIDE_ALLOWED: False, _WIDE_CLEARS_NOT: False, _ALTERNATES_ALLOWED: True}

    def changes_more(self, body: bytes) -> bool:
        """Whether a switch has a mode that the library does not handle completely."""
        return body.startswith(b"[?") and not _CHANGE_MORE.isdisjoint(_numbers(body))

    def switch(self, body: bytes) -> None:
        """Set or reset the modes in the body of a DECSET or DECRST sequence."""
        on, last = body.endswith(b"h"), body[-1:]
        for mode in _numbers(body):
            if mode in self._on:
                self._on[mode] = on
                if mode == _ALTERNATES_ALLOWED and not on:
                    self._terminal.feed(b"\x1b[?47l")
            elif mode == _WIDE:
                self._set_columns(on)
            elif mode not in _ALTERNATES or self._on[_ALTERNATES_ALLOWED]:
                if mode in _MOUSE:  # one at most, and ending any ends all
                    self._terminal.feed(b"\x1b[?" + b";".join(_MOUSE) + b"l")
                self._terminal.feed(b"\x1b[?" + mode + last)

    def state(self, body: bytes) -> int | None:
        """DECRQM's answer for a mode that is stored here or cannot be changed; None for the library's."""
        match = _QUESTION.fullmatch(body)
        if match is None:
            return None
        if match[1] and match[2] in self._on:
            return 1 if self._on[match[2]] else 2
        return _FIXED.get((match[1], int(match[2])))

    def _set_columns(self, on: bool) -> None:
        """DECCOLM, if allowed: clears the screen and resets the margins; the width stays that of the
        pane."""
        if self._on[_WIDE_ALLOWED]:
            clear = b"" if self._on[_WIDE_CLEARS_NOT] else b"\x1b[2J"
            self._terminal.feed(b"\x1b[?69l\x1b[r" + clear + b"\x1b[H")
            set_mode(self._terminal, int(_WIDE), on)


def _numbers(body: bytes) -> list[bytes]:
    """The modes of a DECSET or DECRST."""
    return body[2:-1].split(b";")
