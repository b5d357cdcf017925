"""The text of an approval: call, targets, reason, changes, and buttons with their scopes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content

from sam_tui.core.inquiry import ApprovalRequest, Inquiry, ScopeChoice
from sam_tui.core.text.plain import gist
from sam_tui.ui.plain import visible, visible_line
from sam_tui.ui.widgets.inquiries.scopes import figures_of

if TYPE_CHECKING:
    from sam_tui.core.display import Diff


_STYLES = {"+": "$success", "-": "$error", "@": "$primary"}
_SUMMARY = 160
"""The most characters of the summary beside the operation; a longer one is shown in full below."""
_LABEL = 8
"""The columns of the labels of rows."""
_REPEATED = 24
"""A target of at least so many characters is shown only once."""
_LEAST = 16
"""The least characters of a shortened path."""


@dataclass(frozen=True, slots=True)
class CardWidth:
    """The width for paths on a card: ``columns``, or no limit."""

    columns: int
    whole: bool = False

    def path(self, text: str) -> str:
        """A path shortened in the middle to fit one row; other text unchanged."""
        room = max(self.columns - _LABEL, _LEAST)
        if self.whole or not text.startswith("/") or "\n" in text or len(text) <= room:
            return text
        tail = max(room * 2 // 3, 1)
        return f"{text[: room - tail - 1]}…{text[-tail:]}"

    def again(self, text: str, request: ApprovalRequest) -> str:
        """The text with "the target" in place of the only target, which the card shows already."""
        if self.whole or len(request.targets) != 1 or len(request.targets[0]) < _REPEATED:
            return text
        return text.replace(request.targets[0], "the target")


WHOLE = CardWidth(0, whole=True)
"""Shows every path in full wherever it occurs."""


def approval_lines(request: ApprovalRequest, width: CardWidth = WHOLE) -> Content:
    """The question line by line: operation, targets, reason, folder.

    Long parts come last: no command pushes the reason and the target out of view.
    """
    summary = visible_line(request.summary)
    rows = [Content.assemble((visible_line(request.operation), "bold $accent"), "  ")]
    rows[0] = rows[0].append(Content(gist(summary, _SUMMARY)))
    if request.asker:
        rows.append(_row("from", visible_line(request.asker), width))
    short = [target for target in request.targets if len(width.path(target)) <= _SUMMARY]
    rows.extend(_target_row(width.path(target), width) for target in short)
    rows.append(_row("why", visible_line(width.again(request.why, request)), width))
    rows.extend(_row("letters", visible_line(w), width, "$warning") for w in request.letters)
    if request.cwd and (width.whole or not _all_paths(request)):
        rows.append(_row("in", visible_line(request.cwd), width))
    rows.extend(_target_row(target, width) for target in request.targets if target not in short)
    if len(summary) > _SUMMARY:
        rows.append(_row("call", summary, width))
    rows.extend(
        Content.assemble(("agent   │ ", "$text-muted"), (line, "italic"))
        for line in visible(request.words).splitlines()
    )
    return Content("\n").join(rows)


def _all_paths(request: ApprovalRequest) -> bool:
    """Whether every target is a path that needs no folder to be understood."""
    return bool(request.targets) and all(target.startswith("/") for target in request.targets)


def _row(label: str, text: str, width: CardWidth, style: str = "$text-muted") -> Content:
    """A label and its text; further lines are indented below."""
    lines = _wrapped(Content(text), width.columns - _LABEL)
    return Content.assemble((f"{label:<{_LABEL}}", style), Content("\n" + " " * _LABEL).join(lines))


def _target_row(target: str, width: CardWidth) -> Content:
    """A target whose further lines are indented, so that they cannot imitate a row of ours."""
    first, *more = visible(target).split("\n")
    return Content("\n").join([_row("target", first, width), *(_row("", t, width) for t in more)])


def coming_lines(coming: Sequence[Inquiry], width: CardWidth) -> Content:
    """Questions of later calls of the message: on one row, or one row each on the full card."""
    short = [
        (request.operation.rpartition(".")[2], _in_folder(target, request.cwd, width))
        for request in (entry.request for entry in coming)
        if isinstance(request, ApprovalRequest)
        for target in request.targets
    ]
    calls = [f"{name} {visible_line(target)}" for name, target in short]
    if not calls:
        return Content("")
    if width.whole:
        rows = [_row("then", call, width) for call in calls]
        return Content("\n").join([Content(""), *rows])
    room = max(width.columns - _LABEL, _LEAST)
    row = f"{len(coming)} more: {' · '.join(calls)}"
    row = row if len(row) <= room else f"{row[: room - 1]}…"
    return Content("\n") + _row("then", row, width)


def _in_folder(target: str, folder: str, width: CardWidth) -> str:
    """The name of a target relative to the folder; the whole path outside of it and on the full card."""
    inside = f"{folder}/"
    return target if width.whole or not folder else target.removeprefix(inside)


def alike_lines(inquiries: Sequence[Inquiry], width: CardWidth) -> Content:
    """The calls that one answer covers, each with its changes."""
    requests = [e.request for e in inquiries if isinstance(e.request, ApprovalRequest)]
    head = f"These {len(requests)} calls and no later ones; the audit log records each."
    rows = [Content(head).stylize("bold")]
    for number, request in enumerate(requests, 1):
        rows += [Content(f"{number} of {len(requests)}").stylize("$text-muted")]
        rows += [approval_lines(request, width)]
        rows += [diffs_content(request, width)] if request.preview else []
    return Content("\n").join(rows)


def why_lines(request: ApprovalRequest, width: CardWidth) -> Content:
    """The reason for the question: the rule, the guard's stage, and the stages before it."""
    rows = [_row("why", visible_line(width.again(request.why, request)), width)]
    if request.rule:
        rows.append(_row("rule", visible_line(request.rule), width))
    unasked = ("No rule asks this: the program always asks.",)
    steps = request.trace or unasked
    rows += [_row("stage", visible_line(width.again(step, request)), width) for step in steps]
    return Content("\n").join(rows)


def diffs_content(request: ApprovalRequest, width: CardWidth) -> Content:
    """The changes of all files, one after the other."""
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
    return Content("\n").join([head, *_diff_lines(diff, width)])


def _diff_lines(diff: "Diff", width: CardWidth) -> Sequence[Content]:
    """Each line, wrapped below its own beginning, so that no part of it looks like another line."""
    return [
        Content.assemble(
            line[:1], Content("\n ").join(_wrapped(Content(line[1:]), width.columns - 1))
        ).stylize(_STYLES.get(line[:1], "$foreground"))
        for line in visible(diff.unified).expandtabs(4).split("\n")
        if line
    ]


def _wrapped(content: Content, room: int) -> Sequence[Content]:
    """Return the rows of a line for a width; without a width, the line unchanged."""
    return content.wrap(room) if room >= _LEAST and content.cell_length > room else [content]


_SHORTEST_LABEL = 8
"""The characters of a label that remain if there is little room."""
_SPANS = {"session": "conversation", "project": "folder", "user": "everywhere"}


@dataclass(frozen=True, slots=True)
class ApprovalButton:
    """A button: its name, its label, and shorter labels for narrow windows."""

    name: str
    words: str
    brief: str
    least: str


def buttons_of(request: ApprovalRequest) -> dict[str, ApprovalButton]:
    """The buttons of a request by their keys.

    1 to 4 always mean the same: once, for some minutes, deny, deny with a comment; 5 opens wider
    scopes; from 6 on come further scopes of the request.
    """
    offered = request.choices or (ScopeChoice("once", "this call only", "once"),)
    names = {choice.id for choice in offered}
    minutes = max(1, round(request.seconds / 60))
    buttons: dict[str, ApprovalButton] = {}
    if "once" in names:
        buttons["1"] = ApprovalButton("once", "1 Allow once", "1 Allow once", "1 Once")
    if request.timed_scope or "timed" in names:
        span = f"2 Allow {minutes} min"
        buttons["2"] = ApprovalButton("timed", span, span, f"2 {minutes} min")
    buttons["3"] = ApprovalButton("deny", "3 Deny", "3 Deny", "3 Deny")
    buttons["4"] = ApprovalButton("comment", "4 Deny, say why", "4 Deny + why", "4 No: why")
    if any(choice.span in _SPANS for choice in offered):
        buttons["5"] = ApprovalButton("wider", "5 Allow more …", "5 Allow more", "5 More")
    return buttons | _other_buttons(offered)


def _other_buttons(offered: Sequence[ScopeChoice]) -> dict[str, ApprovalButton]:
    """Buttons for further ways to say yes, without keys."""
    others = [c for c in offered if c.id not in ("once", "timed") and c.span not in _SPANS]
    buttons: dict[str, ApprovalButton] = {}
    for key, choice in zip("6789", others, strict=False):
        label = f"{key} {visible_line(choice.label or choice.id.capitalize())}"
        buttons[key] = ApprovalButton(choice.id, label, label, label[: _SHORTEST_LABEL + 2])
    return buttons


def covered_lines(request: ApprovalRequest, width: CardWidth = WHOLE) -> Content:
    """The scope of each way to say yes, by its key."""
    rows: list[Content] = []
    choices = {choice.id: choice for choice in request.choices}
    for key, button in buttons_of(request).items():
        choice = choices.get(button.name)
        words = width.again(_covered_words(request, button, choice), request)
        if not words or words == "this call only":
            continue
        figures = figures_of(choice) if choice else ""
        label = f"{key} {'offers' if button.name == 'wider' else 'covers'} "
        text = Content.assemble(
            visible_line(words), (f"  {figures}" if figures else "", "$text-muted")
        )
        lines = _wrapped(text, width.columns - len(label))
        below = Content("\n" + " " * len(label)).join(lines)
        rows.append(Content.assemble((label, "$text-muted"), below))
    return Content("\n").join(rows)


def _covered_words(
    request: ApprovalRequest, button: ApprovalButton, choice: ScopeChoice | None
) -> str:
    words = choice.words if choice else ""
    match button.name:
        case "timed":
            return request.timed_scope or words
        case "wider":
            return _wider_words(request)
        case _:
            return words


def _wider_words(request: ApprovalRequest) -> str:
    """The wider scopes on one line, each with its figures."""
    # Of several that last alike the first is the narrowest.
    every = {c.span: c for c in reversed(request.choices) if c.span in _SPANS}
    wider = list(reversed(every.values()))
    options = [
        f"{_SPANS[c.span]} ({c.covered} of {c.considered})" if c.considered else _SPANS[c.span]
        for c in wider
    ]
    past = " past calls" if any(choice.considered for choice in wider) else ""
    return ", ".join(options) + past
