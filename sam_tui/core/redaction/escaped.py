"""Known values of which a text writes letters and digits as escapes, or has some struck over."""

import re
from collections.abc import Iterator, Mapping

_ESCAPE = r"(?:%|\\{1,2}u00|\\{1,2}x)(?P<code>[2-7][0-9A-Fa-f])"
_STRUCK = rf"{_ESCAPE}|[^\n\x08]?\x08"
"""Escapes and what backspaces remove, which is sought only where there is one, as that is slow."""


def known_spans(text: str, known: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of every known value in a text; ``known`` maps them to placeholders."""
    for value, placeholder in known.items():
        for match in re.finditer(re.escape(value), text) if value in text else ():
            yield placeholder.split(":")[1], *match.span()


def escaped_spans(text: str, known: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """The same for values with such a character, of the lines that have one."""
    joined, offsets = _read(text)
    for name, first, end in known_spans(joined, known):
        divided = "\n" in joined[first:end]  # its lines may be neighbours only here
        if offsets[end] - offsets[first] > end - first and not divided:
            yield name, offsets[first], offsets[end]


def _read(text: str) -> tuple[str, list[int]]:
    """The lines with such characters as they read, and where each character, and the end, stands."""
    pieces: list[str] = []
    offsets: list[int] = []
    at = end = 0
    for match in re.finditer(_STRUCK if "\x08" in text else _ESCAPE, text):
        if match.start() >= end:
            _add(pieces, offsets, text, at, end)
            at, end = (
                text.rfind("\n", end, match.start()) + 1 or end,
                text.find("\n", match.end()) + 1,
            )
            end = end or len(text)
        _add(pieces, offsets, text, at, match.start())
        at = match.end()
        if code := match["code"]:
            pieces.append(chr(int(code, 16)))
            offsets.append(match.start())
    _add(pieces, offsets, text, at, end)
    return "".join(pieces), [*offsets, end]


def _add(pieces: list[str], offsets: list[int], text: str, start: int, end: int) -> None:
    pieces.append(text[start:end])
    offsets.extend(range(start, end))
