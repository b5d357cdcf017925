"""The rows of each block: heights, exact or estimated, and their running sums."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from sam_tui.ui.transcript.blocks import Block


class BlockLedger:
    """Blocks in order with their heights in rows (gap included).

    ``at`` is a binary search over the sums; those behind a changed block are computed when needed.
    """

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._heights: list[int] = []
        self._epochs: list[int] = []
        self._tops: list[int] = [0]
        self._epoch = 0

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Block:
        return self._blocks[index]

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def _dirty(self, index: int) -> None:
        del self._tops[index + 1 :]

    def _sum(self) -> list[int]:
        filled = len(self._tops) - 1
        if filled < len(self._heights):
            sums = accumulate(self._heights[filled:], initial=self._tops.pop())
            self._tops.extend(sums)
        return self._tops

    @property
    def total(self) -> int:
        """Rows of everything."""
        return self._sum()[-1]

    def top(self, index: int) -> int:
        """The first row of a block, its gap included."""
        return self._sum()[index]

    def height(self, index: int) -> int:
        """Rows of a block."""
        return self._heights[index]

    def at(self, row: int) -> tuple[int, int]:
        """The block on a row, and the row within it; rows outside belong to the nearest block."""
        tops = self._sum()
        row = max(0, min(row, tops[-1] - 1))
        index = min(bisect_right(tops, row) - 1, len(self._blocks) - 1)
        return index, row - tops[index]

    def find(self, order: int) -> int | None:
        """The index of the block with this order."""
        index = self.from_order(order)
        present = index < len(self._blocks) and self._blocks[index].order == order
        return index if present else None

    def from_order(self, order: int) -> int:
        """The index of the first block of at least this order."""
        return bisect_left(self._blocks, order, key=lambda block: block.order)

    def measured(self, index: int) -> bool:
        """Whether the height is exact at the present width."""
        return self._epochs[index] == self._epoch

    def forget_heights(self) -> None:
        """The width changed: every height is an estimate now."""
        self._epoch += 1

    def set_height(self, index: int, height: int) -> None:
        """Note an exact height."""
        self._epochs[index] = self._epoch
        if self._heights[index] != height:
            self._heights[index] = height
            self._dirty(index)

    def insert(self, index: int, block: Block, height: int) -> None:
        """Put a block in, with an estimate of its height."""
        self._blocks.insert(index, block)
        self._heights.insert(index, height)
        self._epochs.insert(index, -1)
        self._dirty(index)

    def replace(self, index: int, blocks: Sequence[Block], heights: Sequence[int]) -> None:
        """Put blocks, with estimates, in the place of one."""
        self._blocks[index : index + 1] = blocks
        self._heights[index : index + 1] = heights
        self._epochs[index : index + 1] = [-1] * len(blocks)
        self._dirty(index)

    def update(self, index: int, block: Block) -> None:
        """Put a changed block in the place of its former self; the height becomes an estimate."""
        self._blocks[index] = block
        self._epochs[index] = -1

    def remove(self, index: int) -> None:
        """Take a block out."""
        del self._blocks[index], self._heights[index], self._epochs[index]
        self._dirty(index)

    def clear(self) -> None:
        """Take everything out."""
        self._blocks, self._heights, self._epochs, self._tops = [], [], [], [0]
