"""Output of a program as the terminal around may get it: what draws, and nothing that acts there.

Read as terminals do: controls within a sequence act before it, an escape, CAN or SUB breaks it off. A piece
that is left out so never joins what stood around it.
"""

import re
from codecs import getincrementaldecoder

_CONTROLS = "\x00-\x17\x19\x1c-\x1f\x7f"
"""Controls that terminals carry out, or pass over, in the midst of a sequence."""
_CSI = rf"\[[0-?{_CONTROLS}]*[ -/{_CONTROLS}]*"
_CHOSEN = rf"[ -/][ -/{_CONTROLS}]*"
_STRING = r"[\]PX^_][^\x07\x18\x1a\x1b]*"
_TOKEN = re.compile(
    rf"\x1b[{_CONTROLS}]*(?:(?P<string>{_STRING}(?:\x07|\x1b\\|[\x18\x1a]|(?=\x1b[^\\])))"
    rf"|(?P<whole>{_CSI}[@-~]|{_CHOSEN}[0-~]|[0-OQ-WYZ`-~\\])"
    rf"|(?P<begun>(?:{_CSI}|{_CHOSEN}|{_STRING}\x1b?)?\Z)|(?:{_CSI}|{_CHOSEN})?)"
)
"""A sequence that is a string, one that is whole, the beginning of one, and one that is broken off."""
_STRINGS = tuple("]PX^_")
_CONTROL = re.compile(f"[{_CONTROLS}]")
_ACTS = re.compile(
    r"\[0*(?:[1-9]|2\d|[3-9]\d|\d{3,})(?:;\d*)*t|\[[?]?(?:\d*;)*0*3(?:;\d*)*J|\[[?]?[\d;]*i"
)
"""Sizes, places and titles of a window (XTWINOPS, DECSLPP; questions for its size are left), the erasure
of the lines that went by, and printers."""
_C1 = re.compile("[\x80-\x9f]")
_LONGEST = 4096
"""Characters of a sequence that waits for its end."""


class SafeOutput:
    """Output without what it could do to the terminal around: strings such as the clipboard's (OSC 52), the
    size, place and titles of its window, the lines that it keeps, and printers."""

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
        """What is passed on of a sequence: all of it, or the controls that stood within."""
        begun, whole = match["begun"], match["whole"]
        if begun is not None and begun[:1] in _STRINGS:
            # What a string holds is left out, so that its beginning stands for it.
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
