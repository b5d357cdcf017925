"""Finds words in a transcript: counts the occurrences, and steps from one to the next."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sam_tui.ui.transcript.blocks import Block, Card, Content, expanded, plain
from sam_tui.ui.transcript.pane import BlockPane


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A match: the group of its block, and its number within the group from 0."""

    group: int
    number: int


def searchable(content: Content) -> str:
    """Return the text of a block that searches read: the one drawn when it is open."""
    text = plain(content)
    return text.removeprefix(f"[{content.operation}] ") if isinstance(content, Card) else text


class TranscriptSearch:
    """Searches without regard to case; ``words`` empty for no search."""

    def __init__(self, pane: BlockPane) -> None:
        self._pane = pane
        self._pattern: re.Pattern[str] | None = None
        self._at: Occurrence | None = None
        self._group = sys.maxsize

    def look_for(self, words: str) -> tuple[int, int]:
        """Search anew, and go to the last occurrence, or the last above where the search stood.

        Returns its number and how many there are, 0 for none.
        """
        self._pattern = re.compile(re.escape(words), re.IGNORECASE) if words else None
        occurrences = list(self._occurrences())
        above = [n for n, occurrence in enumerate(occurrences) if occurrence.group <= self._group]
        return self._go(occurrences, above[-1] if above else -1)

    def step(self, by: int) -> tuple[int, int]:
        """Go to the next occurrence, or the one before, around the ends."""
        occurrences = list(self._occurrences())
        return self._go(
            occurrences, occurrences.index(self._at) + by if self._at in occurrences else -1
        )

    def _go(self, occurrences: list[Occurrence], at: int) -> tuple[int, int]:
        if not occurrences:
            self._pane.mark_matches(self._pattern, None)
            return 0, 0
        at %= len(occurrences)
        occurrence = self._at = occurrences[at]
        self._group = occurrence.group
        self._show(occurrence)
        return at + 1, len(occurrences)

    def _occurrences(self) -> Iterator[Occurrence]:
        group, count = 0, 0
        for block in self._pane.ledger:
            count = count if block.group == group else 0
            group = block.group
            for _ in range(self._count(block)):
                yield Occurrence(group, count)
                count += 1

    def _count(self, block: Block) -> int:
        return len(self._pattern.findall(searchable(block.content))) if self._pattern else 0

    def _show(self, occurrence: Occurrence) -> None:
        """Open the block of an occurrence and scroll to its row; to the block where no row has it whole."""
        pane, number = self._pane, occurrence.number
        index = next(n for n, block in enumerate(pane.ledger) if block.group == occurrence.group)
        pane.open_answer(index)
        while (count := self._count(pane.ledger[index])) <= number:
            if index + 1 == len(pane.ledger) or pane.ledger[index + 1].group != occurrence.group:
                break
            number -= count
            index += 1
        pane.cursor = occurrence.group
        hit = self._row(index, number)
        block = pane.ledger[index]
        if hit is None and block.foldable and not expanded(block):
            pane.ledger.update(index, replace(block, expanded=True))
            hit = self._row(index, number)
        row, span = hit or (0, (0, 0))
        pane.show_row(index, row)
        pane.mark_matches(self._pattern, (block.order, row, span[0]))

    def _row(self, index: int, number: int) -> tuple[int, tuple[int, int]] | None:
        """The row with the match of this number in a block, and the columns of the match."""
        assert self._pattern is not None
        for row, drawn in enumerate(self._pane.rows_of(index)):
            for match in self._pattern.finditer(drawn.text, drawn.start):
                if not number:
                    return row, match.span()
                number -= 1
        return None
