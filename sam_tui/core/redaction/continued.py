"""Secrets that are known by their form or their name alone and that line breaks divide."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sam_tui.core.redaction.assignments import assigned_secrets, assignments
from sam_tui.core.redaction.forms import RUN, TAIL, hinted

_MARGIN = re.compile(
    r"(?P<number>[^\s:]{1,200}?[:-]\d{1,7}[:-]|[ \t]{0,8}\d{1,7}(?:\t| ?\| |:))?(?P<sign>[+>|#-] ?)?"
    r"(?P<indentation>[ \t]{0,40})(?P<quote>[bfruBFRU]{0,2}[\"'`])?"
)
"""Before a part: a file's name and number, a sign, an indentation, the beginning of a literal."""
_WIDTHS = frozenset((64, 72, 76, 78, 80, 100, 120, 132, 160))
"""Columns at which terminals and encodings break lines."""
_MAIL = range(60, 77)
_ASSIGNMENT = re.compile(r"[A-Za-z_][\w.-]{0,80}[:=](?!=?$)")
_SEPARATE = re.compile(r"(?:[A-Z]?[a-z]*|[A-Z]*)[^\w/+=]*$|[-*]$|--?[a-zA-Z][a-z-]*$")
"""A next line that is a word, an option or a dash, and does not go on with a secret."""
_WORDS = re.compile(r"(?:^|[\s\"'`=:])[a-z_-]{5,80}$")
"""The end of a line that is a word, too."""
_UNSPECIFIC = frozenset(("url-password", "authorization", "password", "cookie"))
"""Forms that many texts have, unlike those of keys and tokens."""
_BEFORE, _BEHIND, _MOST_LINES, _MOST_UNLINKED, _LONGEST_LINE = 100, 40, 40, 3, 4096
_QUOTES = ('"', "'", "`")

Secret = tuple[str, int, int, str]
"""Name, start, end, and the value without line breaks."""


@dataclass(slots=True)
class _Window:
    """Lines read as one: its text, where each piece begins in it and in the whole, and whether
    something shows that it goes on there."""

    text: str
    pieces: list[tuple[int, int, bool]]

    def add(self, text: str, at: int, *, linked: bool) -> None:
        self.pieces.append((len(self.text), at, linked))
        self.text += text

    def offset_of(self, offset: int) -> int:
        """Where a character of the window is in the whole text."""
        return next(
            at + offset - begin for begin, at, _ in reversed(self.pieces) if begin <= offset
        )

    def secrets(self) -> Iterator[Secret]:
        """The secrets that go over a break."""
        if len(self.pieces) < 2:
            return
        spans = _formed(self.text)
        specific = _specific(spans, self.text[: self.pieces[1][0]])
        for name, start, end in (*spans, *assigned_secrets(self.text, assignments(self.text))):
            breaks = [linked for begin, _, linked in self.pieces[1:] if start < begin < end]
            if breaks and (start in specific or all(breaks)):
                value = self.text[start:end]
                yield name, self.offset_of(start), self.offset_of(end - 1) + 1, value


def _formed(text: str) -> list[tuple[str, int, int]]:
    """(name, start, end) of the secrets that have a form."""
    return [(f.name, *span) for hint, f in hinted(text) for span in f.spans(text, hint)]


def _specific(spans: Iterable[tuple[str, int, int]], first: str) -> set[int]:
    """Where those begin that need no sign for a break: only they have their form, and the first line
    has none of them whole."""
    starts = {start for name, start, _ in spans if name not in _UNSPECIFIC}
    return starts - {start for _, start, _ in _formed(first)}


def continued_secrets(text: str, starts: Iterable[int]) -> list[Secret]:
    """The secrets that begin at about one of these offsets and end on a line below."""
    secrets: list[Secret] = []
    at = 0
    for start in sorted(starts):
        for secret in _window(text, start).secrets() if start >= at else ():
            secrets.append(secret)
            at = max(at, secret[2])
    return secrets


def _window(text: str, at: int) -> _Window:
    """The line of an offset and those that may go on with it, from a little before the offset on."""
    line = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
    window, first = _Window("", []), _margin(text, line)
    content, _ = _beginning(first, first, literal=False)
    begin, linked, tail = max(line, at - _BEFORE), True, _tail(text, at)
    while tail and len(window.pieces) < _MOST_LINES:
        end, marked = _without_mark(text, tail.start(), content)
        window.add(text[begin:end], begin, linked=linked)
        margin = _margin(text, tail.end())
        literal = bool(tail["quote"] and margin["quote"])
        width, content, begin = end - content, *_beginning(margin, first, literal=literal)
        part = RUN.match(text, begin)
        connection = None
        if part and (literal or not tail["quote"]):
            connection = _connection(window.text, part, literal=literal, marked=marked)
        if part is None or connection is None:
            window.text += tail[0].rstrip()
            break
        linked = connection or (begin == content and width in _WIDTHS)
        tail = TAIL.match(text, part.end())
        if not linked and len(window.pieces) >= _MOST_UNLINKED:
            break
        if tail is None:
            behind = text[begin : part.end() + _BEHIND].partition("\n")[0]
            window.add(behind, begin, linked=linked)
    return window


def _margin(text: str, line: int) -> re.Match[str]:
    match = _MARGIN.match(text, line)
    assert match is not None, "every part of it may be missing"
    return match


def _connection(before: str, part: re.Match[str], *, literal: bool, marked: bool) -> bool | None:
    """Whether something shows that a part goes on with the text before it; None if it seems not to:
    an assignment of its own, or words that no sign connects."""
    quote = part.string[part.end() : part.end() + 1]
    if quote in _QUOTES and before.count(quote) % 2 == 1:
        return True
    if _ASSIGNMENT.match(part[0]):
        return True if literal else None
    words = _SEPARATE.match(part[0]) or _WORDS.search(before, max(0, len(before) - 82))
    return True if literal or marked else None if words else False


def _tail(text: str, at: int) -> re.Match[str] | None:
    """What ends the line of an offset, behind the last word on it."""
    end = text.find("\n", at, at + _LONGEST_LINE)
    for run in RUN.finditer(text, at, end) if end != -1 else ():
        if tail := TAIL.match(text, run.end()):
            return tail
    return None


def _without_mark(text: str, end: int, content: int) -> tuple[int, bool]:
    """Where the part that ends here ends without a sign for a break, and whether one says it goes on."""
    if text[end - 1] == "\\":
        return end - 1, True
    if text[end - 1] == "=" != text[end - 2] and end - content in _MAIL:
        return end - 1, True
    return end - next((len(sign) for sign in ("^M$", "$") if text.endswith(sign, 0, end)), 0), False


def _beginning(margin: re.Match[str], first: re.Match[str], *, literal: bool) -> tuple[int, int]:
    """Where a line's content and its part begin, if its margin is as that of the first line."""
    content = margin.end("number") if margin["number"] and first["number"] else margin.start()
    if margin["sign"] and first["sign"] and content == margin.start("sign"):
        content = margin.end("sign")
    if content != margin.start("indentation"):
        return content, content
    return content, margin.end() if literal else margin.end("indentation")
