"""Changes of a file as rows: numbered, coloured as its language, changed words marked; on wide panes the
old lines beside the new."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest

from rich.cells import cell_len
from rich.style import Style

from sam_tui.core.display import Diff
from sam_tui.ui.transcript.render.colours import highlighter, language_of_path
from sam_tui.ui.transcript.render.palette import Palette, on_ground
from sam_tui.ui.transcript.render.rows import Canvas, Lead, Span, cut_spans, wrap
from sam_tui.ui.transcript.render.safe_text import clean, expand

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
LONGEST_LINE = 2_000
"""The most characters of a line that are shown."""
SIDE_BY_SIDE = 138
"""The least columns of the pane at which old and new lines are side by side: a terminal of 140 columns."""
_COMPARED = 500
"""The most characters of a line whose words are compared."""
_ALIKE = 0.4
"""The least similarity of two lines, from 0 to 1, at which the words that differ are marked."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(slots=True)
class DiffLine:
    """One line. ``sign`` is ``+``, ``-``, a space, or ``@`` for a hunk's heading. ``number`` counts in
    the old file for a removed line, else in the new one. ``words`` are the character ranges that differ
    from the line that this one replaces, or that replaces it.
    """

    sign: str
    number: int
    text: str
    words: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def parse(unified: str) -> list[DiffLine]:
    """The lines of a unified diff, made harmless, with changed words found."""
    lines: list[DiffLine] = []
    old = new = 0
    for raw in unified.rstrip("\n").split("\n") if unified else ():
        if hunk := HUNK.match(raw):
            old, new = int(hunk.group(1)), int(hunk.group(2))
            lines.append(DiffLine("@", 0, clean(hunk.group(3))))
            continue
        sign = raw[:1] or " "
        text = expand(clean(raw[1 : LONGEST_LINE + 1]))
        lines.append(DiffLine(sign, old if sign == "-" else new if sign in "+ " else 0, text))
        old += sign in "- "
        new += sign in "+ "
    for removed, added in _replaced(lines):
        _compare(removed, added)
    return lines


def _replaced(lines: Sequence[DiffLine]) -> Iterator[tuple[DiffLine, DiffLine]]:
    """Pairs of a removed line and its replacement: the first with the first added one, and so on."""
    for removed, added in changes(lines):
        yield from zip(removed, added, strict=False)


def changes(lines: Sequence[DiffLine]) -> Iterator[tuple[list[DiffLine], list[DiffLine]]]:
    """Runs of removed lines, each with the added lines below it; an unchanged line is in both lists."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in lines:
        if line.sign == "+":
            added.append(line)
            continue
        if line.sign != "-" or added:
            if removed or added:
                yield removed, added
            removed, added = [], []
        if line.sign == "-":
            removed.append(line)
        else:
            yield [line], [line]
    if removed or added:
        yield removed, added


def _compare(removed: DiffLine, added: DiffLine) -> None:
    if removed is added or max(len(removed.text), len(added.text)) > _COMPARED:
        return
    first, other = _WORDS.findall(removed.text), _WORDS.findall(added.text)
    matcher = SequenceMatcher(None, first, other, autojunk=False)
    if matcher.real_quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            _add_range(removed, first, a, b)
            _add_range(added, other, c, d)


def _add_range(line: DiffLine, words: Sequence[str], start: int, end: int) -> None:
    if start < end:
        first = sum(map(len, words[:start]))
        line.words.append((first, first + sum(map(len, words[start:end]))))


def draw_diff(canvas: Canvas, diff: Diff, limit: int) -> int:
    """Draw the path, the counts and at most ``limit`` lines; return how many were left out."""
    palette = canvas.palette
    canvas.line([
        (clean(diff.heading), palette.text),
        (f"  +{diff.added}", palette.good),
        (f" -{diff.removed}", palette.bad),
    ])
    whole = diff.unified.rstrip("\n").split("\n") if diff.unified else []
    lines = parse("\n".join(whole[:limit]))
    digits = max(2, len(str(max((line.number for line in lines), default=0))))
    painter = _Painter(palette, diff.path)
    drawn = list(zip(lines, painter.paint(lines), strict=True))
    if lines[1:2] and lines[0].sign == "@" and lines[1].number == 1:
        del drawn[0]  # nothing is left out above the first line
    if canvas.width >= SIDE_BY_SIDE and any(line.sign == "-" for line in lines):
        _draw_beside(canvas, drawn, digits)
    else:
        for line, spans in drawn:
            _draw_line(canvas, line, spans, digits)
    return max(0, len(whole) - limit)


class _Painter:
    """Colours lines by their language; the old and the new file are lexed as two separate texts."""

    def __init__(self, palette: Palette, path: str) -> None:
        self._palette = palette
        self._language = language_of_path(path)

    def paint(self, lines: Iterable[DiffLine]) -> Iterator[list[Span]]:
        """The spans of each line."""
        old = new = highlighter(self._language, self._palette)
        for line in lines:
            if line.sign == "@":
                old, new = (highlighter(self._language, self._palette) for _ in range(2))
                yield [(line.text, self._palette.faint)]
                continue
            spans = [(line.text, self._palette.text)]
            if line.sign in "- ":
                spans = old.feed(f"{line.text}\n")[0]
            if line.sign in "+ ":
                spans = new.feed(f"{line.text}\n")[0]
            yield self._on_ground(line, spans)

    def _on_ground(self, line: DiffLine, spans: Sequence[Span]) -> list[Span]:
        """The spans on the ground of their sign, changed words on a stronger one."""
        palette = self._palette
        ground, word = {
            "+": (palette.added, palette.added_word),
            "-": (palette.removed, palette.removed_word),
        }.get(line.sign, (palette.text, palette.text))
        cuts = sorted({0, len(line.text), *(edge for span in line.words for edge in span)})
        ranges = [(start, end, "") for start, end in pairwise(cuts)]
        painted: list[Span] = []
        for (start, end, _), part in zip(ranges, cut_spans(spans, ranges), strict=True):
            under = word if (start, end) in line.words else ground
            painted += [(text, on_ground(style, under, palette.block)) for text, style in part]
        return painted


def _ground(palette: Palette, sign: str) -> Style:
    return {"+": palette.added, "-": palette.removed}.get(sign, palette.text)


def _draw_line(canvas: Canvas, line: DiffLine, spans: Sequence[Span], digits: int) -> None:
    palette, style = canvas.palette, _ground(canvas.palette, line.sign)
    if line.sign == "@":
        canvas.line([(f"{'⋯':>{digits}} {line.text}".rstrip(), palette.faint)])
        return
    number = f"{line.number:>{digits}}" if line.number else " " * digits
    gutter = (f"{number} ", palette.gutter)
    canvas.push(Lead(gutter, (" " * len(gutter[0]), palette.gutter)))
    canvas.push(Lead((f"{line.sign} ", style), ("  ", style), line.sign))
    canvas.line(spans, fill=style if line.sign in "+-" else None)
    canvas.pop()
    canvas.pop()


def _draw_beside(canvas: Canvas, drawn: Sequence[tuple[DiffLine, list[Span]]], digits: int) -> None:
    """Old lines at the left, those in their stead at the right."""
    spans = {id(line): spans for line, spans in drawn}
    room = (canvas.room - 1) // 2
    for removed, added in changes([line for line, _ in drawn]):
        for old, new in zip_longest(removed, added):
            if old is not None and old.sign == "@":
                _draw_line(canvas, old, spans[id(old)], digits)
                continue
            left = _cell(canvas.palette, old, spans.get(id(old), []), (room, digits))
            right = _cell(canvas.palette, new, spans.get(id(new), []), (room, digits))
            blank = [(" " * room, canvas.palette.text)]
            for first, other in zip_longest(left, right, fillvalue=blank):
                canvas.line([*first, ("│", canvas.palette.faint), *other], wrapped=False)


def _cell(
    palette: Palette, line: DiffLine | None, spans: Sequence[Span], size: tuple[int, int]
) -> list[list[Span]]:
    """One line wrapped to half of the width, as rows of exactly that many cells."""
    if line is None:
        return []
    room, digits = size
    style, inner = _ground(palette, line.sign), room - digits - 3
    rows: list[list[Span]] = []
    ranges = wrap(line.text, inner)
    for (start, end, _), part in zip(ranges, cut_spans(spans, ranges), strict=True):
        number = f"{line.number:>{digits}}" if not rows else " " * digits
        sign = line.sign if not rows else " "
        filler = " " * (inner - cell_len(line.text[start:end]))
        rows.append([
            (f"{number} ", palette.gutter),
            (f"{sign} ", style),
            *part,
            (filler, style),
        ])
    return rows
