"""Text from outside as plain text: terminal output as a person would have read it, nothing hidden."""

import re
import unicodedata
from collections.abc import Callable

_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI (ECMA-48 5.4)
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC, ended by BEL or ST; one left open hides one line at most
    r"|[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]"  # character sets and the like
    r"|[0-Z\\`-~]"  # two-character sequences
    r"|\Z)"
)
_UNFINISHED = re.compile(
    r"(?:\r|\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b\n]*\x1b?|[PX^_][^\x1b\n]*\x1b?|[ -/]*))\Z"
)
_LONGEST_SEQUENCE = 4096
_KEPT = "\n\t"
# Joiners and presentation selectors belong to scripts and emoji; they neither hide nor reorder text.
_HARMLESS = frozenset("\u200c\u200d\ufe0e\ufe0f")
_HIDDEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)


def plain(text: str) -> str:
    """Output without control sequences, overwritten parts of lines applied, the invisible escaped."""
    text = without_sequences(text).replace("\r\n", "\n")
    if "\r" in text or "\b" in text:
        text = "\n".join(map(_overwritten, text.split("\n")))
    return escaped(text.replace("\x07", ""))


def without_sequences(text: str) -> str:
    """The text without control sequences, whole ones and the escape character of one that was cut."""
    return _SEQUENCE.sub("", text) if "\x1b" in text else text


class PlainStream:
    """``plain`` for output that comes in pieces: a sequence cut between two of them is not shown."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._hear = on_text
        self._held = ""

    def __call__(self, piece: str) -> None:
        """Pass a piece on, but for the start of a sequence at its end."""
        text = self._held + piece
        end = len(text) - unfinished(text)
        text, self._held = text[:end], text[end:]
        if text:
            self._hear(plain(text))


def unfinished(text: str) -> int:
    """Return how many characters at the end may be the beginning of a control sequence."""
    cut = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_SEQUENCE))
    return len(text) - cut.start() if cut else 0


def escaped(text: str) -> str:
    """Text in which control, direction and invisible characters are shown as ``\\uXXXX``."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(map(_shown, text))


def gist(text: str, width: int) -> str:
    """Text on one line, at most ``width`` characters, nothing in it hidden."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def printable(text: str) -> str:
    """A path fit for messages: bytes that are not UTF-8, control and direction marks as escapes."""
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], safe)


def _overwritten(line: str) -> str:
    """A line after its carriage returns and backspaces took effect."""
    if "\r" not in line and "\b" not in line:
        return line
    cells: list[str] = []
    at = 0
    for character in line:
        if character == "\r":
            at = 0
        elif character == "\b":
            at = max(0, at - 1)
        else:
            cells[at : at + 1] = character
            at += 1
    return "".join(cells)


def _shown(character: str) -> str:
    if character.isprintable() and character not in _HIDDEN:
        return character
    if character in _KEPT or character in _HARMLESS:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
