"""Questions to the person that belong to no call, such as what a program in their terminal asks."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Approval, ApprovalRequest
from sam_tui.core.verdict import Decision

if TYPE_CHECKING:
    from sam_tui.core.inquiries import Inquiries
    from sam_tui.core.tooling.execute import Executor

_NOBODY = ConversationId("")
_NO_CALL = CallId("")


async def ask_person(
    inquiries: "Inquiries",
    executor: "Executor",
    question: ApprovalRequest,
    *,
    named: Sequence[str],
) -> Approval | None:
    """The yes to a question, or None; the decision is on record either way.

    ``named`` is what the log says it was about: not a text itself that is nobody's affair.
    """
    verdict = Decision(
        question.operation, "deny", "user", "asked", question.why, targets=tuple(named)
    )
    try:
        outcome = await inquiries.ask(_NOBODY, _NO_CALL, question)
    except asyncio.CancelledError:
        cancelled = replace(verdict, outcome="cancelled", rule="cancelled")
        executor.record(_NOBODY, _NO_CALL, cancelled)
        raise
    verdict = replace(verdict, elapsed=outcome.elapsed)
    answer = outcome.answer
    if outcome.closed == "unattended":
        verdict = replace(verdict, by="mode", rule="unattended")
    elif outcome.closed == "expired":
        verdict = replace(verdict, outcome="expired")
    elif isinstance(answer, Approval):
        choice = answer.scope if answer.choice == "scope" else answer.choice
        words = next((c.words for c in question.choices if c.id == choice), "")
        decided = "allow" if words else "deny"
        verdict = replace(verdict, outcome=decided, scope=words, comment=answer.comment)
    executor.record(_NOBODY, _NO_CALL, verdict)
    return answer if verdict.allowed and isinstance(answer, Approval) else None
