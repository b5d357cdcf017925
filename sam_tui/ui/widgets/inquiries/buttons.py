"""The buttons of an approval, and what the yes of each would cover."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from sam_tui.core.inquiry import ApprovalRequest, ScopeChoice
from sam_tui.ui.plain import visible_line
from sam_tui.ui.widgets.inquiries.card import WHOLE, CardWidth
from sam_tui.ui.widgets.inquiries.scopes import figures_of

_SHORTEST_LABEL = 8
"""Characters of a label where there is least room."""
_SPANS = {"session": "conversation", "project": "folder", "user": "everywhere"}


@dataclass(frozen=True, slots=True)
class ApprovalButton:
    """What a button does: its name, its words, and those where there is little and least room."""

    name: str
    words: str
    brief: str
    least: str


def buttons_of(request: ApprovalRequest) -> dict[str, ApprovalButton]:
    """The buttons of a request by their keys.

    1 to 4 always mean the same: once, for some minutes, deny, deny with a comment; 5 opens what is
    wider; from 6 on stand other ways to say yes that the request brings.
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
    """Those for ways to say yes that have no key of their own."""
    others = [c for c in offered if c.id not in ("once", "timed") and c.span not in _SPANS]
    buttons: dict[str, ApprovalButton] = {}
    for key, choice in zip("6789", others, strict=False):
        label = f"{key} {visible_line(choice.label or choice.id.capitalize())}"
        buttons[key] = ApprovalButton(choice.id, label, label, label[: _SHORTEST_LABEL + 2])
    return buttons


def covered_lines(request: ApprovalRequest, width: CardWidth = WHOLE) -> Content:
    """What each way to say yes would cover, by its key."""
    rows: list[Content] = []
    choices = {choice.id: choice for choice in request.choices}
    for key, button in buttons_of(request).items():
        choice = choices.get(button.name)
        words = width.again(_covered_words(request, button, choice), request)
        if not words or words == "this call only":
            continue
        figures = figures_of(choice) if choice else ""
        rows.append(
            Content.assemble(
                (f"{key} {'offers' if button.name == 'wider' else 'covers'} ", "$text-muted"),
                visible_line(words),
                (f"  {figures}" if figures else "", "$text-muted"),
            )
        )
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
