"""Tables: column widths fixed by the first rows, cells wrapped inside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len
from rich.style import Style

from sam_tui.ui.transcript.render.rows import Canvas, Span, cut_spans, wrap

Cell = Sequence[Span]

SAMPLE = 24
"""The number of rows that determine the widths of the columns; later rows are wrapped in them."""
_BETWEEN = " │ "


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table: cells that their widest content and longest word need, and the side
    they are aligned to (``left``, ``right``, ``center``)."""

    natural: tuple[int, ...]
    words: tuple[int, ...]
    sides: tuple[str, ...]


def measure(rows: Sequence[Sequence[Cell]], sides: Sequence[str]) -> Shape:
    """The shape of a table from its header and first ``SAMPLE`` rows."""
    count = len(sides)
    natural, words = [1] * count, [1] * count
    for row in rows[: SAMPLE + 1]:
        for column, cell in enumerate(row[:count]):
            text = "".join(span[0] for span in cell)
            natural[column] = max(natural[column], cell_len(text))
            longest = max((cell_len(word) for word in text.split(" ")), default=1)
            words[column] = max(words[column], min(longest, 30))
    return Shape(tuple(natural), tuple(words), tuple(sides))


def widths(shape: Shape, room: int) -> list[int]:
    """Cells for each column in ``room`` cells; never less than one each."""
    count = len(shape.natural)
    room = max(count, room - len(_BETWEEN) * (count - 1))
    if sum(shape.natural) <= room:
        return list(shape.natural)
    least = list(shape.words) if sum(shape.words) <= room else [1] * count
    free = room - sum(least)
    excess = [n - m for n, m in zip(shape.natural, least, strict=True)]
    total = sum(excess) or 1
    sizes = [m + free * w // total for m, w in zip(least, excess, strict=True)]
    for index in sorted(range(count), key=lambda i: sizes[i] - shape.natural[i]):
        if sum(sizes) >= room:
            break
        sizes[index] += 1
    return sizes


def draw_rows(
    canvas: Canvas, shape: Shape, rows: Sequence[Sequence[Cell]], *, header: bool = False
) -> None:
    """Rows of a table; a header is followed by its rule."""
    sizes = widths(shape, canvas.room)
    rule = canvas.palette.faint
    for row in rows:
        _draw_row(canvas, row, shape, sizes)
    if header:
        line = "─┼─".join("─" * size for size in sizes)
        canvas.line([(line, rule)], wrapped=False)


def _draw_row(canvas: Canvas, row: Sequence[Cell], shape: Shape, sizes: list[int]) -> None:
    columns: list[list[tuple[list[Span], int]]] = []
    for index, size in enumerate(sizes):
        cell = row[index] if index < len(row) else ()
        text = "".join(span[0] for span in cell)
        ranges = wrap(text, size)
        pieces: list[list[Span]] = cut_spans(cell, ranges) if cell else [[]]
        cells = [cell_len(text[a:b]) for a, b, _ in ranges]
        columns.append(list(zip(pieces, cells, strict=True)))
    text_style = canvas.palette.text
    for level in zip_longest(*columns, fillvalue=([], 0)):
        line: list[Span] = []
        for index, (spans, cells) in enumerate(level):
            if index:
                line.append((_BETWEEN, canvas.palette.faint))
            last = index == len(columns) - 1
            line += _aligned(spans, sizes[index] - cells, shape.sides[index], text_style, last)
        canvas.line(line, wrapped=False)


def _aligned(spans: list[Span], free: int, side: str, style: Style, last: bool) -> list[Span]:
    if free <= 0:
        return spans
    left = {"right": free, "center": free // 2}.get(side, 0)
    right = 0 if last else free - left
    return [
        *([(" " * left, style)] if left else []),
        *spans,
        *([(" " * right, style)] if right else []),
    ]
