"""The blank of the DEC Special Graphics set, which the emulation library draws as an underscore.

The set in use is tracked from the first moment at which one of the four is this one, until none is.
"""

import re
from collections.abc import Mapping

_TOKEN = re.compile(
    rb"\x1b[NO]_"
    rb"|\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)?|\x1b[ -/]*+[0-~]|[\x0e\x0f_]"
)
_UNFINISHED = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|[\]PX^_][^\x07\x1b]{0,4096}\x1b?|[NO]|[ -/]{0,4})?\Z"
)
_LONGEST_UNFINISHED = 4100
_SETS = b"()*+"
DRAW_LINES = frozenset(bytes([designator]) + b"0" for designator in _SETS)
"""Sequences, without ESC, that select line drawing for one of the four sets."""
_SHIFTS: Mapping[bytes, int] = {b"\x0f": 0, b"\x0e": 1, b"\x1bn": 2, b"\x1bo": 3}
"""SI, SO, LS2 and LS3, each with the set that it selects."""
_SINGLE: Mapping[bytes, int] = {b"\x1bN_": 2, b"\x1bO_": 3}
"""SS2 and SS3, each with the set that it selects for one character."""
_SAVES = (b"\x1b7", b"\x1b[s", b"\x1b[?1048h", b"\x1b[?1049h")
_RESTORES = (b"\x1b8", b"\x1b[u", b"\x1b[?1048l", b"\x1b[?1049l")
_RESETS = (b"\x1bc", b"\x1b[!p")
_PLAIN = ((False, False, False, False), 0)


class LineDrawing:
    """Whether underscores are blanks now: which of G0 to G3 draws lines, and which is in use."""

    def __init__(self) -> None:
        self._now = self._saved = _PLAIN

    @property
    def active(self) -> bool:
        """Whether output has to be searched."""
        return any(self._now[0]) or any(self._saved[0])

    @property
    def designations(self) -> bytes:
        """The sequence that makes the library use the present sets again."""
        sets = zip(_SETS, self._now[0], strict=True)
        shift = next(keys for keys, number in _SHIFTS.items() if number == self._now[1])
        return b"".join(b"\x1b%c0" % designator for designator, draws in sets if draws) + shift

    def unfinished(self, data: bytes) -> int:
        """The index of an incomplete sequence at the end."""
        cut = _UNFINISHED.search(data, max(0, len(data) - _LONGEST_UNFINISHED))
        return len(data) if cut is None else cut.start()

    def blanked(self, data: bytes) -> bytes:
        """The output with blanks in place of underscores of the line-drawing set."""
        return _TOKEN.sub(lambda token: self._pass(token[0]), data)

    def _pass(self, token: bytes) -> bytes:
        sets, used = self._now
        if token == b"_":
            return b" " if sets[used] else token
        if token in _SINGLE:
            return token[:2] + b" " if sets[_SINGLE[token]] else token
        if token in _SHIFTS:
            self._now = sets, _SHIFTS[token]
        elif len(token) == 3 and token[1] in _SETS:
            draws = list(sets)
            draws[_SETS.index(token[1])] = token[2:] == b"0"
            self._now = (draws[0], draws[1], draws[2], draws[3]), used
        elif token in _SAVES:
            self._saved = self._now
        elif token in _RESTORES:
            self._now = self._saved
        elif token in _RESETS:
            self._now = self._saved = _PLAIN
        return token
