"""A change that is asked about, as coloured lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from sam_tui.ui.plain import visible, visible_line

if TYPE_CHECKING:
    from sam_tui.core.display import Diff

_STYLES = {"+": "$success", "-": "$error", "@": "$primary"}


def diff_content(diff: "Diff") -> Content:
    """One file's change: its path, the counts, and the lines; nothing in them is hidden."""
    head = Content.assemble(
        (visible_line(diff.heading), "bold"),
        (f"  +{diff.added}", "$success"),
        (f" -{diff.removed}", "$error"),
    )
    lines = [
        Content(line).stylize(_STYLES.get(line[:1], "$foreground"))
        for line in visible(diff.unified).expandtabs(4).split("\n")
        if line
    ]
    return Content("\n").join([head, *lines])


def diffs_content(diffs: "Sequence[Diff]") -> Content:
    """Several files' changes, one below the other."""
    return Content("\n\n").join(diff_content(diff) for diff in diffs)
