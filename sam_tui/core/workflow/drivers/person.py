"""The person who works on human steps, and who decides what follows a failure."""

from dataclasses import dataclass

from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.text.consent import consents
from sam_tui.core.workflow.drivers.run import StepRun
from sam_tui.core.workflow.refusals import WorkflowRefused, require_choice
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import Advanced, ExecutionView, Ticket, VerbName


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a call of a conversation asks. An answer that will not do is refused, never asked again."""

    inquiries: Inquiries
    conversation: ConversationId
    call: CallId

    async def work_on(self, ticket: Ticket) -> dict[str, object]:
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
                "A person has to answer, and nobody can be asked here.",
                hint="Let a person continue it: sam-tui workflow status, next and decide.",
            )
        return require_choice(outcome.answer.text, question.choices)


async def steer_with_person(
    workflows: Workflows, person: Person, verb: VerbName, execution_id: str, word: str = ""
) -> Advanced:
    """A verb that a model calls. What a paused execution asks is for the person to decide.

    Raises ``WorkflowRefused`` as the verb does, and ``person_decides``, ``needs_person``.
    """
    view = workflows.records.execution(execution_id)
    if view.question is not None and verb == "retry":
        raise WorkflowRefused(
            "person_decides",
            "A person decides what follows.",
            hint="Resume it, and they are asked.",
        )
    if view.question is not None and verb == "resume":
        return workflows.steer("decide", execution_id, await person.decide(view))
    return workflows.steer(verb, execution_id, word)


class PersonDriver:
    """Puts human steps to the person."""

    def __init__(self, run: StepRun) -> None:
        self._run = run

    async def work(self, ticket: Ticket) -> None:
        """Ask; without an answer that will do the execution is paused."""
        context = self._run.context
        try:
            output = await Person(context.inquiries, context.parent, CallId(mint("call"))).work_on(
                ticket
            )
        except WorkflowRefused as refusal:
            why = f": {refusal}" if refusal.code == "choice_invalid" else ""
            reason = f"step {ticket.step} needs a person{why}"
            self._run.workflows.steer("pause", ticket.execution_id, reason)
            return
        self._run.submit(ticket, output)
