"""The agent asks for a permission (seed 004, user_collaboration): what that may cover the host decides.

Only what this very conversation was refused is asked about, in the host's words beside the agent's, and
a yes grants exactly that. Nothing that the agent writes adds to it.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from textwrap import wrap

from sam_tui.core.accesses import LocatedAccess, Read, Write
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.request import RememberedRefusal, Request, no_preview
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.verdict import Decision

_COLUMNS, _ROWS = 56, 8
"""The size in which the agent's words are shown; the rest is cut."""
_THEN = "It was refused before, and the agent asks for it; a yes applies to later calls"


@dataclass(frozen=True, slots=True)
class Plea:
    """The agent's request for permission to call ``operation``. ``words`` are its own, and only shown."""

    conversation: ConversationId
    call: CallId
    operation: str
    words: str
    asker: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """The outcome: a decision for each question, and reasons for targets that were not asked."""

    decisions: tuple[Decision, ...] = ()
    unasked: tuple[str, ...] = ()


async def ask_permission(guard: Guard, plea: Plea) -> Response:
    """Ask the person about all that the conversation was refused of an operation."""
    open_: defaultdict[str, list[RememberedRefusal]] = defaultdict(list)
    unasked: list[str] = []
    for refusal in guard.refusals.take(plea.conversation, plea.operation):
        current, why_not = _current(guard, plea.conversation, refusal)
        if why_not:
            unasked.append(f"{', '.join(refusal.targets)}: {why_not}")
        else:
            open_[refusal.operation].append(current)
    decisions = [await guard.decide_ahead(_request(plea, group)) for group in open_.values()]
    return Response(tuple(decisions), tuple(unasked))


def _current(
    guard: Guard, conversation: ConversationId, refusal: RememberedRefusal
) -> tuple[RememberedRefusal, str]:
    """A refusal as its paths lead now, and why it cannot be asked about, or nothing."""
    try:
        accesses = tuple(_relocated(guard, located) for located in refusal.accesses)
    except ToolError as error:
        return refusal, str(error)
    explained = guard.explain(conversation, refusal.operation, accesses)
    if explained.targets != refusal.targets:
        return refusal, "its target has changed"
    if explained.outcome != "ask":
        return refusal, explained.reason
    return replace(refusal, accesses=accesses), ""


def _relocated(guard: Guard, located: LocatedAccess) -> LocatedAccess:
    if isinstance(located.access, Read | Write):
        return guard.locate((located.access,))[0]
    return located


def _request(plea: Plea, group: list[RememberedRefusal]) -> Request:
    summary = group[0].summary if len(group) == 1 else f"{len(group)} calls that were refused"
    return Request(
        plea.conversation,
        plea.call,
        group[0].operation,
        summary,
        tuple(access for refusal in group for access in refusal.accesses),
        no_preview,
        plea.asker,
        _THEN,
        called=plea.operation,
        words=_brief(plea.words),
    )


def _brief(words: str) -> str:
    """Return the agent's words in short rows: none that a narrow window breaks looks like one of ours."""
    plain = " ".join(words.split())
    rows = wrap(plain, _COLUMNS if plain.isascii() else _COLUMNS // 2)
    return "\n".join([*rows[:_ROWS], *(["[…]"] if len(rows) > _ROWS else [])])
