"""Known values that line breaks divide, whatever programs print before and after each line."""

import re
from collections.abc import Iterable, Iterator, Mapping

_SHORTEST, _SHORT, _LONGEST = 8, 12, 400
"""Characters of a value that is looked for in parts, of one that is short, and of its first part."""
_GRAM, _SHORT_GRAM = 6, 4
"""Characters that a part has at least, of two into which a value is divided."""
_ENDS = " \t\r\"'`\\=+$|^M"
_MARGINS = " \t0123456789:|+->#*\"'"
"""Characters around a line; a part that loses some of its own by them has others that tell it."""
_FILE = re.compile(r"[^\s:]{1,200}?[:-]\d{1,7}[:-]")
_JOINT = re.compile(r"[^\w\n]{0,200}?(?:\^M\$)?(?:(?:\\{1,4}r)?\\{1,4}n|\n)")
"""From the end of a part to the next line: blanks, quotes, signs of a continuation, the break."""
_MARGIN = re.compile(
    r"(?:[^\s:]{1,200}?(?::\d{1,7}:|-\d{1,7}-|:))?[^A-Za-z_\n]{0,100}(?:[bfruBFRU]{1,2}[\"'`])?"
)
"""Before a part: a file's name, a number, a sign of a difference or a quote."""
_LONGEST_MARGIN, _MOST_PLACES = 260, 4


class DividedValues:
    """Finds values of which line breaks separate the characters, by what lines end and begin with."""

    def __init__(self) -> None:
        self._indexed: set[str] = set()
        self._owners: dict[str, list[tuple[int, str]]] = {}
        self._short = False

    def add(self, values: Iterable[str]) -> None:
        """Look for these values as well."""
        for value in values:
            if value in self._indexed:
                continue
            self._indexed.add(value)
            short = len(value) < _SHORT
            self._short |= short and len(value) >= _SHORTEST
            size = _SHORT_GRAM if short else _GRAM
            for offset in range(
                min(len(value), _LONGEST) - size + 1 if len(value) >= _SHORTEST else 0
            ):
                self._owners.setdefault(value[offset : offset + size], []).append((offset, value))

    def spans(self, text: str, known: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
        """(name, start, end) of every divided value that still has a placeholder among the known."""
        lines = text.replace("\\n", " \n").split("\n")  # as long as before
        owners = self._owners
        sizes = (_GRAM, _SHORT_GRAM) if self._short else (_GRAM,)
        named = _FILE.match(lines[1]) is not None
        for size in sizes:
            marked = [
                number
                for number, line in enumerate(lines)
                if line.rstrip(_ENDS)[-size:] in owners
                or (_unnamed(line) if named else line).lstrip(_MARGINS)[:size] in owners
            ]
            at = before = 0
            for number in marked:
                at += sum(map(len, lines[before:number])) + number - before
                before = number
                for value, start, end in self._of_line(text, at, lines[number], size):
                    if value in known:
                        yield known[value].split(":")[1], start, end

    def length_of_beginning(self, line: str) -> int:
        """How many characters at the end of a line may be the first part of a value, with its break."""
        for size in (_GRAM, _SHORT_GRAM) if self._short else (_GRAM,):
            last = len(line.rstrip(_ENDS + "\n")) - size
            for offset, value in self._owners.get(line[max(0, last) : last + size], ()):
                if offset <= last and line.startswith(value[:offset], last - offset):
                    return len(line) - last + offset
        return 0

    def _of_line(self, text: str, at: int, line: str, size: int) -> Iterator[tuple[str, int, int]]:
        """The values whose first part is at the end of a line, or of the line before it."""
        last = len(line.rstrip(_ENDS)) - size
        for offset, value in self._owners.get(line[max(0, last) : last + size], ()):
            start = at + last - offset
            begins = start >= 0 and text.startswith(value[:offset], start)
            if begins and (end := _end(text, start, value)) > 0:
                yield value, start, end
        first = len(line) - len(_unnamed(line).lstrip(_MARGINS))
        for offset, value in self._owners.get(line[first : first + size], ()):
            if offset and (start := _start(text, at + first, value, offset)) >= 0:
                yield value, start, _end(text, start, value)


def _unnamed(line: str) -> str:
    """A line of a search without the name of its file."""
    match = _FILE.match(line)
    return line[match.end() :] if match else line


def _start(text: str, at: int, value: str, offset: int) -> int:
    """Where a value begins on the line before, if its part at this offset is on a line; or -1."""
    least = max(0, at - _LONGEST_MARGIN)
    line = max(text.rfind("\n", least, at), text.rfind("\\n", least, at))
    for size in range(offset, 0, -1) if line != -1 else ():
        if text.endswith(value[size:offset], least, at):
            start = text.rfind(value[:size], max(0, line - _LONGEST_MARGIN), line)
            if start != -1 and _end(text, start, value) > at:
                return start
    return -1


def _end(text: str, at: int, value: str) -> int:
    """Where a divided value that begins here ends; -1 if it does not."""
    index, size = 0, len(value)
    while at >= 0:
        while index < size and text[at : at + 1] == value[index]:
            index, at = index + 1, at + 1
        if index == size:
            return at
        joint = _JOINT.match(text, at)
        if joint is None:
            return -1
        index = size - len(value[index:].lstrip())  # a break may replace a blank
        at = _place(text, joint.end(), value[index : index + 4])
    return -1


def _place(text: str, line: int, part: str) -> int:
    """Where a part begins on a line, behind its margin; or -1."""
    at = line - 1
    for _ in range(_MOST_PLACES):
        at = text.find(part, at + 1, line + _LONGEST_MARGIN)
        if at == -1 or _MARGIN.fullmatch(text, line, at):
            return at
    return -1
