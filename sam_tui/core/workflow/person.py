"""What a workflow asks the person: a human step, or what follows a failure; everywhere the same way."""

from dataclasses import dataclass
from typing import Any

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.text.consent import consents
from sam_tui.core.workflow.refusals import WorkflowRefused, require_choice
from sam_tui.core.workflow.views import ExecutionView, Ticket


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a call of a conversation asks. An answer that will not do is refused, never asked again."""

    inquiries: Inquiries
    conversation: ConversationId
    call: CallId

    async def work_on(self, ticket: Ticket) -> dict[str, Any]:
        """The output of a human step. Raises ``WorkflowRefused`` as ``decide`` does."""
        about = f"Workflow {ticket.workflow}, step {ticket.step}"
        answer = await self._ask(Question(ticket.instructions, about, ticket.choices))
        return {"summary": answer, "answer": answer, "approved": consents(answer) is True}

    async def decide(self, view: ExecutionView) -> str:
        """What follows, of an execution that asks. Raises ``needs_person`` or ``choice_invalid``."""
        assert view.question is not None
        about = f"Workflow {view.workflow}, step {view.question.step}"
        return await self._ask(Question(view.question.prompt, about, view.question.choices))

    async def _ask(self, question: Question) -> str:
        outcome = await self.inquiries.ask(self.conversation, self.call, question)
        if not isinstance(outcome.answer, Reply) or not outcome.answer.text.strip():
            raise WorkflowRefused(
                "needs_person",
                "A person has to answer, and nobody is there to ask.",
                hint="Let a person go on: sam-tui workflow status, next and decide.",
            )
        return require_choice(outcome.answer.text, question.choices)
