"""Marked text of a terminal, and the places of a search text in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import Screen, TextSpan

Place = tuple[int, int]
"""(column, row); row 0 is the oldest one that is stored."""
Kind = Literal["cells", "words", "lines", "block"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Cells from ``start`` to ``end``, both included, in reading order; or the rectangle between."""

    start: Place
    end: Place
    block: bool = False

    def cells(self, row: int, width: int) -> tuple[int, int] | None:
        """The first selected column of a row, and the column after the last one."""
        if not self.start[1] <= row <= self.end[1]:
            return None
        if self.block:
            left, right = sorted((self.start[0], self.end[0]))
            return left, right + 1
        first = self.start[0] if row == self.start[1] else 0
        last = self.end[0] if row == self.end[1] else width - 1
        return first, last + 1


class Marking:
    """A selection between two cells. Both are followed while the screen scrolls."""

    def __init__(self, screen: "Screen", kind: Kind, position: Place) -> None:
        self.kind: Kind = kind
        self._screen = screen
        self._anchor = self._head = screen.scrollback.pin(*position)

    def move(self, position: Place) -> None:
        """Move the other end of the selection here."""
        self._head = self._screen.scrollback.pin(*position)

    def stretch(self) -> Stretch | None:
        """The marked stretch; None if its text is gone."""
        anchor, head = self._anchor.position, self._head.position
        if anchor is None or head is None:
            return None
        start, end = sorted((anchor, head), key=lambda position: position[::-1])
        match self.kind:
            case "block":
                return Stretch(start, end, block=True)
            case "words":
                return Stretch(self._word(start)[0], self._word(end)[1])
            case "lines":
                return Stretch(
                    (0, self._screen.scrollback.line_at(start[1]).start[1]),
                    (self._screen.columns - 1, self._screen.scrollback.line_at(end[1]).end[1]),
                )
            case _:
                return Stretch(start, end)

    def text(self) -> str:
        """The marked text, with soft wraps joined; of a block, row by row."""
        stretch = self.stretch()
        if stretch is None:
            return ""
        return self._screen.scrollback.text(stretch.start, stretch.end, block=stretch.block)

    def _word(self, position: Place) -> tuple[Place, Place]:
        word = self._screen.scrollback.word_at(*position)
        return (position, position) if word is None else (word.start, word.end)


class SearchMarks:
    """The hits of a search in the terminal. The search is repeated when the screen changes."""

    def __init__(self, screen: "Screen") -> None:
        self.needle = ""
        self.at = 0
        """The index of the shown hit; 0 is the newest."""
        self.hits: list[TextSpan] = []
        self._screen = screen
        self._rows: dict[int, list[int]] = {}

    def search(self, needle: str, near: int) -> None:
        """Look for a text, and at its hit nearest to a row, upwards first."""
        self.needle = needle
        self.renew()
        above = (n for n, hit in enumerate(self.hits) if hit.start[1] <= near)
        self.at = next(above, max(0, len(self.hits) - 1))

    def renew(self) -> None:
        """Search again after rows moved or were added."""
        self.hits = list(self._screen.scrollback.search(self.needle)) if self.needle else []
        self.at = min(self.at, max(0, len(self.hits) - 1))
        self._rows = {}
        for number, hit in enumerate(self.hits):
            for row in range(hit.start[1], hit.end[1] + 1):
                self._rows.setdefault(row, []).append(number)

    def step(self, by: int) -> None:
        """Look at another hit, around the ends: 1 is the next older one."""
        if self.hits:
            self.at = (self.at + by) % len(self.hits)

    @property
    def present(self) -> "TextSpan | None":
        """The hit that is looked at."""
        return self.hits[self.at] if self.hits else None

    def cells(self, row: int, width: int) -> list[tuple[int, int, bool]]:
        """Of a row: first column, the one behind the last, whether it is the hit looked at."""
        spans: list[tuple[int, int, bool]] = []
        for number in self._rows.get(row, ()):
            hit = self.hits[number]
            span = Stretch(hit.start, hit.end).cells(row, width)
            if span is not None:
                spans.append((*span, number == self.at))
        return spans
