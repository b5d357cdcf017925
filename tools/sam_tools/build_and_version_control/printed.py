"""What commands print, as text: no control sequence in it, and nothing hidden."""

import re
import unicodedata
from collections.abc import Callable

_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI (ECMA-48 5.4)
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC; one left open hides one line at most
    r"|[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]|[0-Z\\`-~]|\Z)"
)
_UNFINISHED = re.compile(
    r"(?:\r|\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\n]*\x1b?|[PX^_][^\x1b\n]*\x1b?|[ -/]*))\Z"
)
_LONGEST_SEQUENCE = 4096
_KEPT = frozenset("\n\t\u200c\u200d\ufe0e\ufe0f")
"""Line breaks, and the joiners that scripts and emoji need."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def printed(text: str) -> str:
    """Output without control sequences; a line that was drawn over reads as it was left."""
    text = _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\x07", "")
    if "\r" in text:
        text = "\n".join(map(_left, text.split("\n")))
    return visible(text)


def visible(text: str) -> str:
    """Text in which every control, direction or invisible character but line breaks is an escape."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if _seen(c) else ascii(c)[1:-1] for c in text)


def line(text: str, limit: int) -> str:
    """Text on one line of at most ``limit`` characters, nothing in it hidden."""
    whole = visible(" ".join(text.split()))
    return whole if len(whole) <= limit else f"{whole[: limit - 1]}…"


def unfinished(text: str) -> int:
    """How many characters at the end may be the beginning of a control sequence."""
    cut = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_SEQUENCE))
    return len(text) - cut.start() if cut else 0


class Printer:
    """``printed`` for output that comes in pieces: a sequence cut between two waits for its rest."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear
        self._held = ""

    def __call__(self, piece: str) -> None:
        """Pass on a piece."""
        text = self._held + piece
        end = len(text) - unfinished(text)
        text, self._held = text[:end], text[end:]
        if text:
            self._hear(printed(text))


def _left(row: str) -> str:
    """A line after its carriage returns: later text covers what stood there."""
    cells: list[str] = []
    for part in row.split("\r"):
        cells[: len(part)] = part
    return "".join(cells)


def _seen(character: str) -> bool:
    if character in _KEPT or character == " ":
        return True
    return character.isprintable() and character not in _BLANK and not _selector(character)


def _selector(character: str) -> bool:
    """Variation selectors carry hidden bytes."""
    return unicodedata.category(character) == "Mn" and (
        0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF
    )
