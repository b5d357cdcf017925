"""Known values in dumps of bytes: rows of hex or octal numbers or of characters, as ``xxd`` prints; and in
texts that write letters as escapes or have backspaces."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sam_tui.core.redaction.forms import sought

_ADDRESS = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{6,16}:(?= )|[0-9A-Fa-f]{7,8}(?=  )|[0-7]{7}(?= ))"
)
_MARGIN = re.compile(r"(?:\s{0,8}\d{1,7}(?:\t| ?\| ))?[+>]?")
"""Before a row: the number of its line, a sign of a difference."""
_WORD = re.compile(r"(?<![0-9A-Za-z])(?:0?x)?([0-9A-Fa-f]{2,16})(?![0-9A-Za-z])")
_BETWEEN = re.compile(r" {1,3}|, {0,4}|:|\\{1,4}")
_CELL = re.compile(
    r"   [ -~]|  (?:\\{1,4}[0abefnrtv]|[a-z]{2})| (?:[0-3][0-7]{2}|[a-z][a-z0-9]{2})"
)
_CELLS = re.compile(rf"(?:{_CELL.pattern})+")
_LINE_FEED = re.compile(r"(?<=  )\\n(?=  |\r?\n|\Z)")
_CODES = {"sp": 32, "nl": 10, **dict(zip("0abefnrtv", b"\0\a\b\x1b\f\n\r\t\v", strict=True))}
_LONGEST_LINE, _TAIL = 400, 4096

Word = re.Match[str]
_ESCAPE = r"(?:%|\\{1,2}u00|\\{1,2}x)(?P<code>[2-7][0-9A-Fa-f])"
_STRUCK = rf"{_ESCAPE}|[^\n\x08]?\x08"
"""Escapes and what backspaces remove, which is sought only where there is one, as that is slow."""


@dataclass(slots=True)
class _Bytes:
    """The bytes of rows in one notation, with start and end in the text of what stands for each."""

    data: bytearray = field(default_factory=bytearray)
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def add(self, word: bytes, start: int, end: int) -> None:
        self.data += word
        self.spans += [(start, end)] * len(word)

    def beginning(self, value: bytes) -> int:
        """How many of its last bytes begin this value, which goes on."""
        longest = range(min(len(value) - 1, len(self.data)), 0, -1)
        return next((size for size in longest if self.data.endswith(value[:size])), 0)


@dataclass(slots=True)
class _Dump:
    """The rows of a text, read in each notation that they may have."""

    plain: _Bytes = field(default_factory=_Bytes)
    swapped: _Bytes = field(default_factory=_Bytes)
    """Words of which the last byte comes first, as in ``od -x``; in octal, too."""
    cells: _Bytes = field(default_factory=_Bytes)
    """Characters and octal numbers in columns of four."""

    def add(self, line: str, at: int) -> None:
        """Read a line that begins at this offset of the text."""
        before = _ADDRESS.search(line, 0, _LONGEST_LINE) or _MARGIN.match(line)
        start = before.end() if before else 0
        cells = _CELLS.match(line, start)
        if cells and not any(map(str.isalnum, line[cells.end() :])):
            self._add_cells(cells, at)
        elif groups := list(_groups(line, start)):
            words = max(groups, key=len)
            end, size = words[-1].end(), sum(len(word[1]) // 2 for word in words)
            beside = line[end:].rstrip()  # the same bytes as characters
            repeats = beside.startswith((" ", "|")) and len(beside) <= size + 48
            for word in words:
                self._add_word(word, at, end + len(beside) if repeats else word.end())

    def _add_word(self, word: Word, at: int, end: int) -> None:
        digits, span = word[1], (at + word.start(), at + end)
        if len(digits) % 2:
            return
        value = bytes.fromhex(digits)
        self.plain.add(value, *span)
        octal = re.fullmatch("[01][0-7]{5}", digits)
        swapped = int(digits, 8).to_bytes(2, "little") if octal else value[::-1]
        self.swapped.add(swapped, *span)

    def _add_cells(self, row: Word, at: int) -> None:
        for match in _CELL.finditer(row[0]):
            cell = match[0].strip() or " "
            code = ord(cell) if len(cell) == 1 else _CODES.get(cell.lstrip("\\"), 0)
            if cell.isdecimal() and len(cell) == 3:
                code = int(cell, 8)
            self.cells.add(bytes((code,)), *(at + row.start() + edge for edge in match.span()))

    def notations(self) -> Iterator[_Bytes]:
        """The readings that have bytes."""
        return (notation for notation in (self.plain, self.swapped, self.cells) if notation.data)

    def values(self, placeholders: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
        """(name, start, end) of the known values in the rows."""
        for notation in self.notations():
            data = notation.data.decode("latin-1")
            for value, placeholder in placeholders.items():
                text = value.encode("utf-8", "surrogatepass").decode("latin-1")
                for match in re.finditer(sought(text), data) if text in data else ():
                    start, end = (
                        notation.spans[match.start()][0],
                        notation.spans[match.end() - 1][1],
                    )
                    yield placeholder.split(":")[1], start, end


def dumped_values(
    text: str, hints: Iterable[int], placeholders: Mapping[str, str]
) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of the known values in rows at these offsets, up to the end of a row that
    repeats its bytes as characters."""
    dump = _Dump()
    lined = _with_line_feeds(text).replace("\\n", " \n")  # as long as before
    for at, line in _rows(lined, hints):
        dump.add(line, at)
    return dump.values(placeholders)


def length_of_beginning(text: str, placeholders: Mapping[str, str]) -> int:
    """How many characters at the end of whole lines may be rows with the first bytes of a known value,
    or with the last bytes of another one before these."""
    dump, cut = _Dump(), len(text)
    for at, line in _lines(_with_line_feeds(text), max(0, len(text) - _TAIL), len(text)):
        if len(line) <= _LONGEST_LINE:
            dump.add(line, at)
    for notation in dump.notations():
        for value in placeholders:
            if size := notation.beginning(value.encode("utf-8", "surrogatepass")):
                cut = min(cut, text.rfind("\n", 0, notation.spans[-size][0]) + 1)
    if cut < len(text):
        whole = [span[1:] for span in dump.values(placeholders)]
        for start, end in sorted(whole, reverse=True):
            cut = text.rfind("\n", 0, start) + 1 if start < cut < end else cut
    return len(text) - cut


def _rows(text: str, hints: Iterable[int]) -> Iterator[tuple[int, str]]:
    """The lines that may be rows, each with those before and after it; of a long line its part."""
    read = searched = 0
    for at in hints:
        if at < searched:
            continue
        line = text.rfind("\n", max(read, at - _LONGEST_LINE), at) + 1
        end = text.find("\n", at, at + _LONGEST_LINE)
        end = len(text) if end == -1 and at + _LONGEST_LINE > len(text) else end
        if end == -1 or (line == 0 and at - read > _LONGEST_LINE):
            if text.startswith("   ", at):  # no row of characters is as long
                continue
            searched = read = _end_of_words(text, at)
            yield _start_of_word(text, at), text[_start_of_word(text, at) : read]
            continue
        line, searched = max(line, read), end
        before = text.rfind("\n", max(read, line - _LONGEST_LINE), max(0, line - 1)) + 1
        after = text.find("\n", end + 1, end + _LONGEST_LINE)
        after = max(end, after)
        yield from _lines(text, max(read, before) if line - read <= _LONGEST_LINE else line, after)
        read = after


def _with_line_feeds(text: str) -> str:
    """The text, as long, with another name for line feeds that have a column of their own."""
    return _LINE_FEED.sub("nl", text) if "  \\n" in text else text


def _start_of_word(text: str, at: int) -> int:
    start = at
    while start > 0 and at - start < 16 and text[start - 1].isalnum():
        start -= 1
    return start


def _end_of_words(text: str, at: int) -> int:
    """The end of the numbers that follow each other from this place on."""
    words = next(_groups(text[_start_of_word(text, at) : at + _TAIL], 0), None)
    return max(at + 1, _start_of_word(text, at) + words[-1].end()) if words else at + 1


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for line in text[start:end].split("\n"):
        yield start, line
        start += len(line) + 1


def _groups(line: str, at: int) -> Iterator[list[Word]]:
    """The numbers of a line in groups that have as many digits each, the last one perhaps fewer."""
    group: list[Word] = []
    for word in _WORD.finditer(line, at):
        if group and not _continues(group, word):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _continues(group: list[Word], word: Word) -> bool:
    """Whether a number is one more of a row. Two blanks stand before the characters of a row, but
    also after eight of its bytes."""
    first, last = len(group[0][1]), len(group[-1][1])
    gap = _BETWEEN.fullmatch(word.string, group[-1].end(), word.start())
    if gap is None or last < first or len(word[1]) > first:
        return False
    return not gap[0].startswith("  ") or (first == 2 and len(group) == 8)


def known_spans(text: str, placeholders: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of every known value in a text; ``placeholders`` maps each to its own."""
    for value, placeholder in placeholders.items():
        for match in re.finditer(re.escape(value), text) if value in text else ():
            yield placeholder.split(":")[1], *match.span()


def escaped_spans(text: str, placeholders: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """The same for values with such a character, of the lines that have one."""
    joined, offsets = _read(text)
    for name, first, end in known_spans(joined, placeholders):
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
