"""Lines of a file in which runs of lines are found at the speed of a text search."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate


class Rows:
    """The lines, joined once. None of them holds a line feed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n".join(["", *lines, ""])
        self._starts = array("Q", accumulate((len(line) + 1 for line in lines), initial=0))
        """Where the line feed before each line stands; last the one that ends the text."""

    def stand_at(self, line: int, sought: Sequence[str]) -> bool:
        """Whether the wanted lines stand from this one (from 0) on."""
        inside = 0 <= line < len(self._starts)
        return inside and self._text.startswith(_needle(sought), self._starts[line])

    def all(self, sought: Sequence[str], begin: int = 0) -> Iterator[int]:
        """Every line from ``begin`` on where they stand, in order."""
        needle = _needle(sought)
        line = min(begin, len(self._starts) - 1)
        while (at := self._text.find(needle, self._starts[line])) >= 0:
            line = bisect_left(self._starts, at)
            yield line
            line += 1

    def outward(self, sought: Sequence[str], line: int) -> Iterator[int]:
        """The same, nearest to ``line`` first; of two as near the one further on (as GNU patch)."""
        needle = _needle(sought)
        middle = min(max(line, 0), len(self._starts) - 1)
        onward = self.all(sought, middle)
        ahead = next(onward, None)
        behind = self._before(needle, middle)
        while ahead is not None or behind is not None:
            if behind is None or (ahead is not None and ahead - line <= line - behind):
                assert ahead is not None
                yield ahead
                ahead = next(onward, None)
            else:
                yield behind
                behind = self._before(needle, behind)

    def _before(self, needle: str, line: int) -> int | None:
        if line == 0:
            return None
        at = self._text.rfind(needle, 0, self._starts[line - 1] + len(needle))
        return None if at < 0 else bisect_left(self._starts, at)


def _needle(sought: Sequence[str]) -> str:
    return "\n".join(["", *sought, ""])
