"""What an approval says: the call, what it touches, why it is asked, the change, and what a yes covers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content

from sam_tui.core.inquiry import ApprovalRequest
from sam_tui.core.text.plain import gist
from sam_tui.ui.plain import visible, visible_line

if TYPE_CHECKING:
    from sam_tui.core.display import Diff

_STYLES = {"+": "$success", "-": "$error", "@": "$primary"}
_SUMMARY = 160
"""Characters of a call beside its operation; the whole of a longer one stands below."""
_LABEL = 8
"""Columns of the words before a row."""
_REPEATED = 24
"""Characters of a target from which on it is not said a second time."""
_LEAST = 16
"""Characters of a shortened path at the least."""


@dataclass(frozen=True, slots=True)
class CardWidth:
    """How much of a path a card says: what fits into ``columns``, or the whole of it."""

    columns: int
    whole: bool = False

    def path(self, text: str) -> str:
        """A path on one row, its beginning and its end; anything else as it is."""
        room = max(self.columns - _LABEL, _LEAST)
        if self.whole or not text.startswith("/") or "\n" in text or len(text) <= room:
            return text
        tail = max(room * 2 // 3, 1)
        return f"{text[: room - tail - 1]}…{text[-tail:]}"

    def again(self, text: str, request: ApprovalRequest) -> str:
        """Words in which the one target is not repeated, for it stands on the card already."""
        if self.whole or len(request.targets) != 1 or len(request.targets[0]) < _REPEATED:
            return text
        return text.replace(request.targets[0], "the target")


WHOLE = CardWidth(0, whole=True)
"""Every path as long as it is, and as often as it is said."""


def approval_lines(request: ApprovalRequest, width: CardWidth = WHOLE) -> Content:
    """What is asked, line by line: operation, what it touches, why it is asked, where.

    What may be long stands last: no command pushes the reason and the target out of view.
    """
    summary = visible_line(request.summary)
    rows = [Content.assemble((visible_line(request.operation), "bold $accent"), "  ")]
    rows[0] = rows[0].append(Content(gist(summary, _SUMMARY)))
    if request.asker:
        rows.append(_row("from", visible_line(request.asker)))
    short = [target for target in request.targets if len(width.path(target)) <= _SUMMARY]
    rows.extend(_target_row(width.path(target)) for target in short)
    rows.append(_row("why", visible_line(width.again(request.why, request))))
    rows.extend(_row("letters", visible_line(words), "$warning") for words in request.letters)
    if request.cwd and (width.whole or not _all_paths(request)):
        rows.append(_row("in", visible_line(request.cwd)))
    rows.extend(_target_row(target) for target in request.targets if target not in short)
    if len(summary) > _SUMMARY:
        rows.append(_row("call", summary))
    rows.extend(
        Content.assemble(("agent   │ ", "$text-muted"), (line, "italic"))
        for line in visible(request.words).splitlines()
    )
    return Content("\n").join(rows)


def _all_paths(request: ApprovalRequest) -> bool:
    """Whether every target is a path that needs no folder to be understood."""
    return bool(request.targets) and all(target.startswith("/") for target in request.targets)


def _row(label: str, text: str, style: str = "$text-muted") -> Content:
    return Content.assemble((f"{label:<{_LABEL}}", style), text)


def _target_row(target: str) -> Content:
    """Later lines under the first one, so that none can pass for a line of ours."""
    return _row("target", visible(target).replace("\n", "\n" + " " * _LABEL))


def why_lines(request: ApprovalRequest, width: CardWidth) -> Content:
    """Which rule has this asked, by which stage of the guard, and which stages were silent."""
    rows = [_row("why", visible_line(width.again(request.why, request)))]
    if request.rule:
        rows.append(_row("rule", visible_line(request.rule)))
    unasked = ("No rule asks this: the program always does.",)
    steps = request.trace or unasked
    rows += [_row("stage", visible_line(width.again(step, request))) for step in steps]
    return Content("\n").join(rows)


def diffs_content(request: ApprovalRequest, width: CardWidth) -> Content:
    """The changes of all files, one below the other."""
    return Content("\n").join(_diff_content(diff, request, width=width) for diff in request.preview)


def _diff_content(diff: "Diff", request: ApprovalRequest, *, width: CardWidth) -> Content:
    """One file's change: its path, the counts, and the lines; nothing in them is hidden."""
    named = replace(diff, path=width.path(diff.path))
    if not width.whole and request.targets == (diff.path,):
        named = replace(diff, path="change")
    head = Content.assemble(
        (visible_line(named.heading), "bold"),
        (f"  +{diff.added}", "$success"),
        (f" -{diff.removed}", "$error"),
    )
    return Content("\n").join([head, *_diff_lines(diff)])


def _diff_lines(diff: "Diff") -> Sequence[Content]:
    return [
        Content(line).stylize(_STYLES.get(line[:1], "$foreground"))
        for line in visible(diff.unified).expandtabs(4).split("\n")
        if line
    ]
