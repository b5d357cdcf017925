"""Removes the person's input from a text, even if it was wrapped, coloured, quoted or cut."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

PLACEHOLDER = "[typed by the person]"
"""Replaces text that the person typed in everything that the agent reads."""
HIDDEN = "\U000f5a3d"
"""A private character, one cell wide, that replaces each cell written while the person is the holder."""
_COVERED = re.compile(f"{HIDDEN}(?:[{HIDDEN} ]*{HIDDEN})?")
_RUN = 8
"""The least number of consecutive typed characters that are redacted wherever they occur."""
_SHORTEST_LINE, _SHORTEST_WORD = 3, 4
_MOST_KNOWN = 64 * 1024
_PASSED_OVER = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
    r"|\x1b|[\s\x00-\x1a\x1c-\x1f\x7f'\"\\]+"
)
"""Text that a program may print between typed characters: control sequences, wraps, blanks, quotes."""
_ORDINARY = re.compile(r"[^\W\d_]*|-{1,2}[^\W\d_-]*")
"""Words that are not redacted alone: letters only, and options."""


class TypedRedaction:
    """The typed texts, stored as short texts and as runs of characters; ``over`` redacts a text."""

    def __init__(self) -> None:
        self._runs: set[str] = set()
        self._short: set[str] = set()

    def add(self, line: str, before: "Known | None" = None) -> None:
        """Redact a line from now on, except for text that the agent knew ``before``."""
        seen = before.text if before is not None else ""
        self._runs |= set(_runs(_bare(line))) - (before.runs if before is not None else frozenset())
        for text in (line, *line.split()):
            bare, whole = _bare(text), text is line
            least = _SHORTEST_LINE if whole else _SHORTEST_WORD
            telling = whole or not _ORDINARY.fullmatch(bare)
            if _RUN > len(bare) >= least and telling and bare not in seen:
                self._short.add(bare)

    def reveal(self, text: str) -> None:
        """Stop redacting a text that the agent typed itself."""
        bare = _bare(text)
        self._runs -= set(_runs(bare))
        self._short.discard(bare)

    def over(self, text: str, part: tuple[int, int] | None = None) -> str:
        """Return a text, or a part of it, without the person's input."""
        begin, finish = part or (0, len(text))
        if not self._runs and not self._short:
            return text[begin:finish]
        parts: list[str] = []
        at = begin
        for start, end in self._typed_spans(text):
            if end > begin and start < finish:
                parts += (text[at:start], PLACEHOLDER)
                at = end
        return "".join((*parts, text[at:finish]))

    def _typed_spans(self, text: str) -> list[tuple[int, int]]:
        """The spans of a text that the person typed, in order; overlapping ones are joined."""
        bare, position = _bared(text)
        spans: list[tuple[int, int]] = []
        for first, last in self._found(bare):
            start, end = position(first), position(last) + 1
            if last - first + 1 < _RUN and (_joins(text, start - 1) or _joins(text, end)):
                continue
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return spans

    def _found(self, bare: str) -> list[tuple[int, int]]:
        """The first and last character of each part to redact, in order."""
        spans: list[tuple[int, int]] = []
        if self._runs:
            for at in range(len(bare) - _RUN + 1):
                if bare[at : at + _RUN] in self._runs:
                    if spans and at <= spans[-1][1] + 1:
                        spans[-1] = (spans[-1][0], at + _RUN - 1)
                    else:
                        spans.append((at, at + _RUN - 1))
        for short in self._short:
            at = bare.find(short)
            while at >= 0:
                spans.append((at, at + len(short) - 1))
                at = bare.find(short, at + 1)
        return sorted(spans)


class Known:
    """The text that the agent could read before the person took a session."""

    def __init__(self, text: str) -> None:
        self.text = _bare(text[-_MOST_KNOWN:])
        self.runs = frozenset(_runs(self.text))

    def without(self, line: str) -> str:
        """A line without a beginning that is known text, such as a prompt."""
        for at, character in enumerate(line):
            if _bare(line[: at + 1]) not in self.text and not _PASSED_OVER.fullmatch(character):
                return line[at:]
        return ""


def bare_length(text: str) -> int:
    """Return the number of a text's characters without control sequences, blanks and quotes."""
    return len(_bare(text))


def _bare(text: str) -> str:
    return _PASSED_OVER.sub("", text)


def _runs(bare: str) -> Iterator[str]:
    return (bare[at : at + _RUN] for at in range(len(bare) - _RUN + 1))


def _bared(text: str) -> tuple[str, Callable[[int], int]]:
    """A text without ignored characters, and the original position of each character that remains."""
    pieces: list[str] = []
    begins, offsets = [0], [0]
    at = length = 0
    for match in _PASSED_OVER.finditer(text):
        if match.start() > at:
            pieces.append(text[at : match.start()])
            length += match.start() - at
        at = match.end()
        begins.append(length)
        offsets.append(at)
    pieces.append(text[at:])

    def position(index: int) -> int:
        nearest = bisect_right(begins, index) - 1
        return offsets[nearest] + index - begins[nearest]

    return "".join(pieces), position


def _joins(text: str, at: int) -> bool:
    """Whether a character is part of a word."""
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def uncovered(text: str) -> str:
    """The text of a screen with the redaction's words in place of covered cells."""
    return _COVERED.sub(PLACEHOLDER, text)
