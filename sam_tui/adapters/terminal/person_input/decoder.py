"""Decodes the text that a person typed from a terminal's key sequences in any mode.

Kitty's keyboard protocol and xterm's modifyOtherKeys send a letter as a sequence of its own.
"""

import re

QUESTION = re.compile(
    rb"\x1b(?:Z|\[(?=[>=?\d;]*+[cnptuqx$])(?:[>=]?[01]?c|[56]n|\?\d{1,3}n|1[134589](?:;2)?t|16t|2[01]t|\?u|>0?q|\??\d+\$p|[01]?x)"
    rb"|\](?:1[0-9]|[45];\d+);\?|P[$+]q)"
)
"""Queries: attributes, status, cursor position, sizes, modes, version, keyboard, colours, settings and
capabilities (ECMA-48, xterm, kitty)."""


_REPORT = re.compile(rb"\x1b\[([\d:]{1,24})(?:;(\d{0,3})(?::(\d?))?)?(?:;([\d:]{0,64}))?u")
"""A key in kitty's protocol: its code, shifted code and base-layout code; modifiers, event type, text."""
_OTHER = re.compile(rb"\x1b\[27;(\d{1,3});(\d{1,7})~")
"""A key in modifyOtherKeys: modifiers and code."""
_PAD = re.compile(rb"\x1bO([j-yMX])")
"""A key of the keypad in application mode."""
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_REPLY = re.compile(
    rb"\x1b(?:\[(?:[?>=][\d;]*c|\??\d+;\d+R|\?[\d;]*[un]|\??[\d;]+\$y|\d+n|[\d;]+t|[IO])"
    rb"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\))"
)
_MOVES = re.compile(rb"\x1b(?:\[(?:1;\d+(?::[12])?)?|O)([CDHF])|\x1b\[([3])(?:;\d+(?::[12])?)?~")
_EDITS = {b"D": b"\x02", b"C": b"\x06", b"H": b"\x01", b"F": b"\x05", b"3": b"\x04"}
_RELEASES = re.compile(rb"\x1b\[[\d:;]*:3[u~A-HPQS]")
_LONGEST_LINE = 64 * 1024
_RELEASED = 3
_SHIFT, _OTHERS, _CAPS = 1, 0b0011_1110, 0b0100_0000
"""Masks of modifiers. With one of ``_OTHERS``, a key makes no text."""
_PLAIN = {13: 13, 9: 9, 8: 8, 127: 127, 57414: 13}
_PAD_FIRST, _PAD_SIGNS = 57399, "0123456789./*-+"
_PRIVATE = range(0xE000, 0xF900)


def characters(data: bytes) -> bytes:
    """The characters among the keys; Enter and Backspace as their control characters, no other keys."""
    data = _REPORT.sub(_of_report, data)
    data = _OTHER.sub(lambda match: _character(int(match[2]), None, int(match[1])), data)
    data = _PAD.sub(_of_pad, data)
    return _SEQUENCE.sub(b"", data)


def without_replies(data: bytes) -> bytes:
    """The keys without the terminal's own messages: answers, and reports of the focus."""
    return _REPLY.sub(b"", data)


def _of_report(match: re.Match[bytes]) -> bytes:
    keys = match[1].split(b":")
    if match[3] == b"%d" % _RELEASED:
        return b""
    if match[4]:
        points = [int(point[:8]) for point in match[4].split(b":") if point]
        return "".join(map(_letter, points)).encode()
    shifted = int(keys[1]) if len(keys) > 1 and keys[1] else None
    return _character(int(keys[0] or 0), shifted, int(match[2] or 1))


def _character(key: int, shifted: int | None, modifiers: int) -> bytes:
    """Return the character of a key; ``modifiers`` count from 1, as in the sequence."""
    modifiers_held = max(0, modifiers - 1)
    if modifiers_held & _OTHERS:
        return b""
    if key in _PLAIN:
        return bytes([_PLAIN[key]])
    if 0 <= key - _PAD_FIRST < len(_PAD_SIGNS):
        return _PAD_SIGNS[key - _PAD_FIRST].encode()
    if modifiers_held & _SHIFT and shifted is not None:
        return _letter(shifted).encode()
    capital = bool(modifiers_held & _SHIFT) != bool(modifiers_held & _CAPS)
    return (_letter(key).upper() if capital else _letter(key)).encode()


def _letter(point: int) -> str:
    """The character of a code point; empty for control and private ones."""
    if point < 0x20 or point > 0x10FFFF or point in _PRIVATE or 0xD800 <= point < 0xE000:
        return ""
    return chr(point)


def _of_pad(match: re.Match[bytes]) -> bytes:
    sign = match[1]
    return b"\r" if sign == b"M" else b"=" if sign == b"X" else bytes([sign[0] - 0x40])


def moved(data: bytes) -> bytes:
    """The keys, with cursor and erase keys as the control characters of line editors."""
    return _MOVES.sub(lambda match: _EDITS[match[1] or match[2]], data)


def without_releases(data: bytes) -> bytes:
    """The keys without the reports of released keys."""
    return _RELEASES.sub(b"", data)


class TypedLine:
    """One typed line in two readings: the characters in the order typed, and the line after all edits."""

    def __init__(self) -> None:
        self._came = bytearray()
        self._cells: list[int] = []
        self._at = 0

    def readings(self) -> list[str]:
        """Return the possible readings of the typed line, without surrounding blanks or empty ones."""
        both = (bytes(self._came), bytes(self._cells))
        lines = [text.decode(errors="replace").strip() for text in both]
        return [text for text in dict.fromkeys(lines) if text]

    def key(self, byte: int) -> None:
        """Take in a character, or the control character of an edit."""
        if byte >= 0x20 and byte != 0x7F:
            if len(self._came) < _LONGEST_LINE:
                self._came.append(byte)
                self._cells.insert(self._at, byte)
                self._at += 1
            return
        match byte:
            case 0x01:
                self._at = 0
            case 0x02:
                self._at = self._back(self._at)
            case 0x05:
                self._at = len(self._cells)
            case 0x06:
                self._at = self._forth(self._at)
            case 0x04:
                del self._cells[self._at : self._forth(self._at)]
            case 0x08 | 0x7F:
                self._came = bytearray(self._came.decode(errors="ignore")[:-1].encode())
                start = self._back(self._at)
                del self._cells[start : self._at]
                self._at = start
            case 0x0B:
                del self._cells[self._at :]
            case 0x15:
                del self._cells[: self._at]
                self._at = 0
                self._came.clear()
            case 0x17:
                self._came.clear()
            case _:
                pass

    def _back(self, at: int) -> int:
        """The position one character before another."""
        at = max(0, at - 1)
        while at and self._cells[at] & 0xC0 == 0x80:
            at -= 1
        return at

    def _forth(self, at: int) -> int:
        """The position one character after another."""
        at = min(len(self._cells), at + 1)
        while at < len(self._cells) and self._cells[at] & 0xC0 == 0x80:
            at += 1
        return at
