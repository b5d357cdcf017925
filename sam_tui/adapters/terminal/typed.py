"""What a person typed, as text, out of the bytes that a terminal makes of keys in any mode.

Kitty's keyboard protocol and xterm's modifyOtherKeys send a letter as a sequence of its own.
"""

import re

_REPORT = re.compile(rb"\x1b\[([\d:]{1,24})(?:;(\d{0,3})(?::(\d?))?)?(?:;([\d:]{0,64}))?u")
"""Kitty: key, its shifted twin and place, modifiers and kind of event, the text that it made."""
_OTHER = re.compile(rb"\x1b\[27;(\d{1,3});(\d{1,7})~")
"""modifyOtherKeys: modifiers and key."""
_PAD = re.compile(rb"\x1bO([j-yMX])")
"""The keypad in application mode."""
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_REPLY = re.compile(
    rb"\x1b(?:\[(?:[?>=][\d;]*c|\??\d+;\d+R|\?[\d;]*[un]|\??[\d;]+\$y|\d+n|[\d;]+t|[IO])"
    rb"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\))"
)
_RELEASED = 3
_SHIFT, _OTHERS, _CAPS = 1, 0b0011_1110, 0b0100_0000
"""Modifiers: with any but shift and the locks a key makes no text."""
_PLAIN = {13: 13, 9: 9, 8: 8, 127: 127, 57414: 13}
_PAD_FIRST, _PAD_SIGNS = 57399, "0123456789./*-+"
_PRIVATE = range(0xE000, 0xF900)


def characters(data: bytes) -> bytes:
    """The characters among keys; Enter and Backspace as their control characters, no other key."""
    data = _REPORT.sub(_of_report, data)
    data = _OTHER.sub(lambda found: _character(int(found[2]), None, int(found[1])), data)
    data = _PAD.sub(_of_pad, data)
    return _SEQUENCE.sub(b"", data)


def without_replies(data: bytes) -> bytes:
    """Keys without what a terminal itself says among them: answers, and reports of the focus."""
    return _REPLY.sub(b"", data)


def _of_report(found: re.Match[bytes]) -> bytes:
    keys = found[1].split(b":")
    if found[3] == b"%d" % _RELEASED:
        return b""
    if found[4]:
        points = [int(point[:8]) for point in found[4].split(b":") if point]
        return "".join(map(_letter, points)).encode()
    shifted = int(keys[1]) if len(keys) > 1 and keys[1] else None
    return _character(int(keys[0] or 0), shifted, int(found[2] or 1))


def _character(key: int, shifted: int | None, modifiers: int) -> bytes:
    """The character of a key; ``modifiers`` are counted from 1, as they are sent."""
    held = max(0, modifiers - 1)
    if held & _OTHERS:
        return b""
    if key in _PLAIN:
        return bytes([_PLAIN[key]])
    if 0 <= key - _PAD_FIRST < len(_PAD_SIGNS):
        return _PAD_SIGNS[key - _PAD_FIRST].encode()
    if held & _SHIFT and shifted is not None:
        return _letter(shifted).encode()
    capital = bool(held & _SHIFT) != bool(held & _CAPS)
    return (_letter(key).upper() if capital else _letter(key)).encode()


def _letter(point: int) -> str:
    """A character, or nothing for what is none."""
    if point < 0x20 or point > 0x10FFFF or point in _PRIVATE or 0xD800 <= point < 0xE000:
        return ""
    return chr(point)


def _of_pad(found: re.Match[bytes]) -> bytes:
    sign = found[1]
    return b"\r" if sign == b"M" else b"=" if sign == b"X" else bytes([sign[0] - 0x40])
