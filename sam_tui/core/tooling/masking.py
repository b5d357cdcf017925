"""Results and decisions without secrets, for the model and for people alike."""

from collections.abc import Sequence
from dataclasses import replace

from sam_tui.core.accesses import LocatedAccess, Type
from sam_tui.core.display import Diff, Display, Table, Terminal, Text
from sam_tui.core.inquiry import ApprovalRequest
from sam_tui.core.shield import Shield
from sam_tui.core.tooling.contract import ToolResult
from sam_tui.core.verdict import Decision

_HIDDEN_KEYS = "keys (hidden input)"


def told(decision: Decision, accesses: Sequence[LocatedAccess], shield: Shield) -> Decision:
    """A decision as it is kept and shown: without secrets, and without keys that nobody was to see."""
    hidden = [
        f"keys {located.access.keys!r}"
        for located in accesses
        if isinstance(located.access, Type) and located.access.hidden
    ]

    def clean(text: str) -> str:
        for keys in hidden:
            text = text.replace(keys, _HIDDEN_KEYS)
        return shield.mask(text).text

    return replace(
        decision,
        reason=clean(decision.reason),
        scope=clean(decision.scope),
        comment=clean(decision.comment),
        targets=tuple(map(clean, decision.targets)),
    )


def asked(question: ApprovalRequest, shield: Shield) -> ApprovalRequest:
    """A question as it is shown: secrets by their placeholders, which say whose they are."""

    def clean(text: str) -> str:
        return shield.mask(text).text

    return replace(
        question,
        summary=clean(question.summary),
        targets=tuple(map(clean, question.targets)),
        why=clean(question.why),
        timed_scope=clean(question.timed_scope),
        preview=tuple(replace(d, unified=clean(d.unified)) for d in question.preview),
        choices=tuple(
            replace(c, words=clean(c.words), targets=tuple(map(clean, c.targets)))
            for c in question.choices
        ),
    )


def masked(result: ToolResult, shield: Shield) -> ToolResult:
    """The result with secrets replaced in its text and in what is shown; data for programs stays."""
    text = shield.mask(result.text)
    if not text.count and not result.display:
        return replace(result, text=text.text)
    shown = tuple(_masked_display(display, shield) for display in result.display)
    return replace(result, text=text.text, display=shown)


def _masked_display(display: Display, shield: Shield) -> Display:
    match display:
        case Text(text=text):
            return replace(display, text=shield.mask(text).text)
        case Diff(unified=unified):
            return replace(display, unified=shield.mask(unified).text)
        case Terminal(command=command, output=output):
            return replace(
                display, command=shield.mask(command).text, output=shield.mask(output).text
            )
        case Table(rows=rows):
            cells = tuple(tuple(shield.mask(cell).text for cell in row) for row in rows)
            return replace(display, rows=cells)
        case _:
            return display
