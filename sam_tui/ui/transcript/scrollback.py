"""Moves finished blocks of a transcript to the terminal's scrollback, as lines."""

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.strip import Strip

from sam_tui.ui.transcript.blocks import TableRows

if TYPE_CHECKING:
    from sam_tui.ui.transcript.view import Transcript

_MOST_PRINTED = 500
"""The most blocks of an opened conversation that are printed: the last ones."""


def take_finished(pane: "Transcript", *, spoken: bool = False) -> list[Strip]:
    """The rows of the blocks that will not change any more; these blocks are removed from the
    transcript."""
    strips: list[Strip] = []
    if (over := len(pane.ledger) - _MOST_PRINTED) > 0:
        strips += [Strip([Segment(f"  … {over} earlier parts of the conversation")])]
        for _ in range(over):
            pane.remove_block(0)
    end = pane.first_open
    while len(pane.ledger) and pane.ledger[0].order < end:
        pane.open_answer(0)
        strips += _spoken(pane) if spoken else _drawn(pane)
        pane.printed.add(pane.ledger[0].group)
        pane.remove_block(0)
    if strips:
        pane.settle()
    return strips


def _drawn(pane: "Transcript") -> list[Strip]:
    if isinstance(pane.ledger[0].content, TableRows):  # nothing opens them any more
        pane.ledger.update(0, replace(pane.ledger[0], expanded=True))
    return [Strip.blank(0)] * pane.ledger[0].gap + [row.strip for row in pane.rows_of(0)]


def _spoken(pane: "Transcript") -> list[Strip]:
    from sam_tui.ui.transcript.render.rows import wrap
    from sam_tui.ui.transcript.render.spoken import spoken_lines

    block = pane.ledger[0]
    lines = spoken_lines(block, first=block.group not in pane.printed)
    width = pane.screen.size.width
    pieces = [line[start:end] for line in lines for start, end, _ in wrap(line, width)]
    return [Strip([Segment(piece)]) for piece in pieces]
