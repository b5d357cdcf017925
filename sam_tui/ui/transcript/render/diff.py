"""A unified diff as rows: line numbers, a sign, a colour, each readable without the others."""

import re
from collections.abc import Sequence

from sam_tui.core.display import Diff
from sam_tui.ui.transcript.render.cleaning import clean, expand
from sam_tui.ui.transcript.render.rows import Canvas, Lead

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")

LONGEST_LINE = 2_000
"""Characters of one line that are shown."""


def draw_diff(canvas: Canvas, diff: Diff, limit: int) -> int:
    """Draw the path, the counts and at most ``limit`` lines; return how many were left out."""
    palette = canvas.palette
    canvas.line([
        (clean(diff.heading), palette.text),
        (f"  +{diff.added}", palette.good),
        (f" -{diff.removed}", palette.bad),
    ])
    lines = diff.unified.rstrip("\n").split("\n") if diff.unified else []
    digits = _digits(lines)
    old = new = 0
    for line in lines[:limit]:
        if hunk := _HUNK.match(line):
            old, new = int(hunk.group(1)), int(hunk.group(2))
            canvas.line([(f"{'⋯':>{digits}} {clean(hunk.group(3))}".rstrip(), palette.faint)])
            continue
        sign, text = line[:1] or " ", expand(clean(line[1 : LONGEST_LINE + 1]))
        number = new if sign != "-" else old
        _draw_line(canvas, sign, f"{number:>{digits}}" if sign in "+- " else " " * digits, text)
        old += sign in "- "
        new += sign in "+ "
    return max(0, len(lines) - limit)


def _draw_line(canvas: Canvas, sign: str, number: str, text: str) -> None:
    palette = canvas.palette
    style = {"+": palette.added, "-": palette.removed}.get(sign, palette.text)
    gutter = (f"{number} ", palette.gutter)
    filler = (" " * len(gutter[0]), palette.gutter)
    canvas.push(Lead(gutter, filler))
    canvas.push(Lead((f"{sign} ", style), ("  ", style), sign))
    canvas.line([(text, style)], fill=style if sign in "+-" else None)
    canvas.pop()
    canvas.pop()


def _digits(lines: Sequence[str]) -> int:
    """Cells that the largest line number needs."""
    most = 0
    for line in lines:
        if hunk := _HUNK.match(line):
            most = max(most, int(hunk.group(1)), int(hunk.group(2)))
    return max(2, len(str(most + len(lines))))
