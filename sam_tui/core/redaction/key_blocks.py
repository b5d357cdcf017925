"""Private keys of many lines, whole or cut off at either end, in any form of lines."""

import re
from collections.abc import Iterator

NAME = "private-key"
_KIND = r"[A-Z0-9 %+]{0,40}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?"
_BEGIN = re.compile(rf"-----BEGIN(?: |%20|\+)(?P<kind>{_KIND})-----")
_END = re.compile(rf"-----END(?: |%20|\+)(?P<kind>{_KIND})-----")
_BREAK = re.compile(r"(?:\\+r)?\\+n|\r?\n|(?:%0[Dd])?%0[Aa]")
"""A line break: plain, or as an escape of a program's string, JSON or an address."""
_FULL = re.compile(r"[A-Za-z0-9+/=%]{40,}")
_BODY = re.compile(r"[A-Za-z0-9+/=%]{16,}")
_LAST = re.compile(
    r"[A-Za-z0-9+/%]{2,}(?:={1,2}|(?:%3D){1,2})|(?=[A-Za-z+/]*\d)[A-Za-z0-9+/%]{12,}"
)
"""The rest of a key in its last line, which is no word."""
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset)\s?:")
_BLANK = re.compile(r"[^A-Za-z0-9]*\d{0,7}[^A-Za-z0-9]*$")
_LONGEST = 65_536

Span = tuple[str, int, int]


def blocks(text: str) -> list[Span]:
    """(name, start, end) of every private key, without the text before its lines."""
    spans: list[Span] = []
    at = 0
    while (end := _END.search(text, at)) is not None or _BEGIN.search(text, at) is not None:
        begin = _BEGIN.search(text, at, end.start() if end else len(text))
        if begin is None:
            assert end is not None
            start, stop = _back_from(text, at, end.start()), end.end()
        elif end is None or end["kind"] != begin["kind"] or end.end() - begin.start() > _LONGEST:
            start, stop = begin.start(), _on_from(text, begin.end())
        else:
            last = _last_begin(text, begin, end.start())
            start, stop = last.start(), end.end()
        if start < stop and _BODY.search(text, begin.end() if begin else start, stop):
            spans.append((NAME, start, stop))
        at = max(stop, begin.end() if begin else stop)
    return spans


def lines(block: str) -> Iterator[str]:
    """The full lines of a key, by which parts of it are known again."""
    yield from _FULL.findall(block)


def open_at(text: str) -> int:
    """The offset of a private key whose end is missing; the length of the text if there is none."""
    at = text.rfind("-----BEGIN")
    if at == -1 or len(text) - at > _LONGEST or _END.search(text, at):
        return len(text)
    head = text[at : at + 80]
    return at if "PRIVATE" in head or "\n" not in head else len(text)


def _last_begin(text: str, begin: re.Match[str], end: int) -> re.Match[str]:
    """The last beginning of a key before its end."""
    while (later := _BEGIN.search(text, begin.end(), end)) is not None:
        begin = later
    return begin


def _on_from(text: str, at: int) -> int:
    """Return where a key without an end marker stops: after the last line that can belong to it."""
    stop, full = at, False
    for start, end in _pieces(text, at, min(len(text), at + _LONGEST)):
        line = text[start:end]
        if (run := _FULL.search(line)) is not None:
            stop, full = start + run.end(), True
        elif _BLANK.match(line):
            continue
        elif full:
            last = list(_LAST.finditer(line))
            return start + last[-1].end() if last and len(line) < 80 else stop
        elif not _HEADER.search(line):
            return stop
    return stop


def _back_from(text: str, least: int, end: int) -> int:
    """The start of a key whose beginning is missing: the first line that can be part of it."""
    start, full, short = end, False, False
    pieces = list(_pieces(text, max(least, end - _LONGEST), end))
    for begin, stop in reversed(pieces[:-1]):
        line = text[begin:stop]
        if (run := _FULL.search(line)) is not None:
            start, full = begin + run.start(), True
        elif _BLANK.match(line):
            continue
        elif full or short:
            break
        else:
            short = True
    return start


def _pieces(text: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    """(start, end) of each line between two places."""
    for match in _BREAK.finditer(text, at, end):
        yield at, match.start()
        at = match.end()
    yield at, end
