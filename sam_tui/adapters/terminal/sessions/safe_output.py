"""A program's output for the terminal around: it may draw, but not act on that terminal.

Output is read as terminals read it: controls within a sequence act first, and an escape, CAN or SUB ends
it. So a removed piece never joins the text before and after it.
"""

import re
from codecs import getincrementaldecoder

_CONTROLS = "\x00-\x17\x19\x1c-\x1f\x7f"
"""Control characters that terminals execute or ignore within a sequence."""
_CSI = rf"\[[0-?{_CONTROLS}]*[ -/{_CONTROLS}]*"
_CHOSEN = rf"[ -/][ -/{_CONTROLS}]*"
_STRING = r"[\]PX^_][^\x07\x18\x1a\x1b]*"
_TOKEN = re.compile(
    rf"\x1b[{_CONTROLS}]*(?:(?P<string>{_STRING}(?:\x07|\x1b\\|[\x18\x1a]|(?=\x1b[^\\])))"
    rf"|(?P<whole>{_CSI}[@-~]|{_CHOSEN}[0-~]|[0-OQ-WYZ`-~\\])"
    rf"|(?P<begun>(?:{_CSI}|{_CHOSEN}|{_STRING}\x1b?)?\Z)|(?:{_CSI}|{_CHOSEN})?)"
)
"""A sequence that is a string, another complete one, the beginning of one, or one that is broken off."""
_STRINGS = tuple("]PX^_")
_CONTROL = re.compile(f"[{_CONTROLS}]")
_ACTS = re.compile(
    r"\[0*(?:[1-9]|2\d|[3-9]\d|\d{3,})(?:;\d*)*t|\[[?]?(?:\d*;)*0*3(?:;\d*)*J|\[[?]?[\d;]*i"
)
"""Sequences that act on the terminal's window or scrollback, or on printers: size, position and title
(XTWINOPS, DECSLPP; size queries are passed on), erasure of the scrollback, media copy."""
_C1 = re.compile("[\x80-\x9f]")
_LONGEST = 4096
"""The most characters of an incomplete sequence that is stored."""


class SafeOutput:
    """Removes from output what acts on the terminal around: strings such as the clipboard's (OSC 52), the
    size, position and titles of its window, its scrollback, and printers."""

    def __init__(self) -> None:
        self._held = ""
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def __call__(self, data: bytes) -> bytes:
        """The output that is safe to draw; the start of a sequence waits for its end."""
        # Controls of one character (C1) are passed over by our own terminal, but not by every other.
        text = self._held + _C1.sub("", self._decoder.decode(data))
        self._held = ""
        return _TOKEN.sub(self._drawn, text).encode()

    def _drawn(self, match: re.Match[str]) -> str:
        """The part of a sequence to pass on: all of it, or only the controls within it."""
        begun, whole = match["begun"], match["whole"]
        if begun is not None and begun[:1] in _STRINGS:
            # A string's content is removed: only its beginning waits for its end.
            end = "\x1b" if begun[1:].endswith("\x1b") else ""
            self._held = f"\x1b{begun[:1]}{end}"
            return _controls(match[0][: match.start("begun") - match.start()])
        if begun is not None and len(match[0]) <= _LONGEST:
            self._held = match[0]
            return ""
        if match["string"] is not None:
            return _controls(match[0][: match.start("string") - match.start()])
        sequence = _CONTROL.sub("", whole or "")
        passed = "" if whole is None or _ACTS.fullmatch(sequence) else f"\x1b{sequence}"
        return _controls(match[0]) + passed


def _controls(text: str) -> str:
    return "".join(_CONTROL.findall(text))
