"""How one step is worked on: by a conversation of our own, by one call, or by asking a person."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS, Budget, Limits
from sam_tui.core.agent.history import History
from sam_tui.core.agent.turn import Turn, TurnEngine
from sam_tui.core.display import Terminal
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.events import TurnFinished
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.model import Model
from sam_tui.core.ports.storage import ConversationStore
from sam_tui.core.text.consent import consents
from sam_tui.core.tooling.executor import Executed
from sam_tui.core.workflow.drivers.witness import Witness
from sam_tui.core.workflow.execution.output import first_object
from sam_tui.core.workflow.prompts import repair_prompt, resumed_prompt, step_prompt
from sam_tui.core.workflow.refusals import WorkflowRefused, require_choice
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import RUNNER, Advanced, ExecutionView, Ticket


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


async def steer_with_person(
    workflows: Workflows, person: Person, verb: str, execution_id: str, word: str = ""
) -> Advanced:
    """A verb that a model calls. What a paused execution asks is for the person to decide.

    Raises ``WorkflowRefused`` as the verb does, and ``person_decides``, ``needs_person``.
    """
    view = workflows.records.execution(execution_id)
    if view.question is not None and verb == "retry":
        raise WorkflowRefused(
            "person_decides",
            "A person decides what follows.",
            hint="Resume it: they are asked then.",
        )
    if view.question is not None and verb == "resume":
        return workflows.decide(execution_id, await person.decide(view))
    return workflows.steer(verb, execution_id, word)


REPAIRS = 1
"""How often an answer that does not fit is asked for again in the same conversation."""
_SHOWN = 8000


@dataclass(frozen=True, slots=True)
class StepCrew:
    """What steps are worked on with. ``parent`` is the conversation that the run belongs to."""

    engine: TurnEngine
    conversations: ConversationStore
    inquiries: Inquiries
    model: Model | None
    parent: ConversationId
    report: Callable[[str], None] = lambda _: None

    def person(self) -> Person:
        """Whom the run asks."""
        return Person(self.inquiries, self.parent, CallId(mint("call")))


class Drivers:
    """Works on tickets of one execution and hands in what they come to."""

    def __init__(self, workflows: Workflows, crew: StepCrew, witness: Witness) -> None:
        self._workflows = workflows
        self._crew = crew
        self._witness = witness

    async def drive(self, ticket: Ticket) -> None:
        """Work on a step to its end. Raises ``ConfigurationError`` when it needs a model."""
        self._crew.report(f"{ticket.step}: begins ({ticket.kind}, attempt {ticket.attempt})")
        try:
            async with asyncio.timeout(self._seconds(ticket)):
                match ticket.kind:
                    case "tool":
                        await self._call(ticket)
                    case "human":
                        await self._ask(ticket)
                    case _:
                        await self._converse(ticket)
        except TimeoutError:
            self._workflows.expire()
            self._crew.report(f"{ticket.step}: timed out")
        except WorkflowRefused as refusal:
            self._crew.report(f"{ticket.step}: {refusal}")
            self._fail_if_open(ticket, str(refusal))

    def _fail_if_open(self, ticket: Ticket, why: str) -> None:
        """What refused work leaves open has failed, or it would be begun again without end.

        It is not open where another driver was faster, or a person paused or ended it meanwhile.
        """
        open_ = self._workflows.tickets(ticket.execution_id, mint=False)
        if any((t.step, t.attempt) == (ticket.step, ticket.attempt) for t in open_):
            self._workflows.fail_step(ticket.execution_id, ticket.step, why)

    async def _converse(self, ticket: Ticket) -> None:
        """One conversation for one attempt; a driver that died is continued in its conversation."""
        model = self._crew.model
        if model is None:
            raise ConfigurationError("No model is chosen.", hint="Choose one with --model.")
        left = self._workflows.records.calls_left(ticket.execution_id)
        if left == 0:
            self._workflows.pause(ticket.execution_id, "the budget of model calls is used up")
            return
        history, prompt = self._history(ticket)
        try:
            await self._attempt(ticket, history, prompt, left)
        finally:
            history.close()

    async def _attempt(
        self, ticket: Ticket, history: History, prompt: str, left: int | None
    ) -> None:
        """Turns until the output fits, or too many did not; ``left`` are the calls it may make."""
        most = ticket.max_calls or DEFAULT_STEPS
        bound = ticket.max_calls or left is not None or ticket.kind == "llm"
        limits = Limits(raised=0 if bound else MOST_STEPS)
        budget = Budget(most if left is None else min(most, left), limits=limits)
        if ticket.kind == "llm":
            budget.max_steps = min(budget.max_steps, 2)
        for _ in range(REPAIRS + 1):
            turn = await self._turn(ticket, history, budget, prompt)
            if turn is None:
                return
            try:
                self._submit(ticket, _answer(ticket, turn.answer))
                return
            except WorkflowRefused as refusal:
                if refusal.code != "output_invalid":
                    raise
                prompt = repair_prompt(refusal.details.get("faults", [str(refusal)]))
                self._crew.report(f"{ticket.step}: {refusal}")
        self._workflows.fail_step(
            ticket.execution_id, ticket.step, f"the answer did not fit: {prompt.splitlines()[1]}"
        )

    async def _turn(
        self, ticket: Ticket, history: History, budget: Budget, prompt: str
    ) -> TurnFinished | None:
        """One turn; None when it did not finish and that was dealt with."""
        model, engine = self._crew.model, self._crew.engine
        assert model is not None
        gate = self._witness.gate(history.conversation, _own(ticket))
        before = budget.steps
        with engine.budgets.running(history.conversation, budget, model, gate):
            turn = await Turn(engine, model, history, budget, gate).run(prompt)
        usage = turn.usage
        self._workflows.notes.add_usage(
            ticket.execution_id,
            ticket.step,
            {
                "calls": budget.steps - before,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cost": usage.cost,
            },
        )
        if turn.reason == "finished":
            return turn
        self._witness.flush()
        if turn.reason == "limit":
            self._workflows.fail_step(ticket.execution_id, ticket.step, turn.error)
        else:
            # The provider failed, not the step: it can be resumed as it is.
            self._workflows.pause(ticket.execution_id, f"the model failed: {turn.error}")
        return None

    def _history(self, ticket: Ticket) -> tuple[History, str]:
        """The conversation of the attempt and the message that begins or resumes it."""
        crew = self._crew
        conversation = ConversationId(
            self._workflows.claims.owner(ticket.execution_id, ticket.step)
        )
        if conversation and crew.conversations.find(conversation) is not None:
            crew.conversations.claim(conversation)
            history = History(crew.conversations, conversation)
            history.restore(crew.engine.executor.plan)
            if history.messages:
                return history, resumed_prompt(ticket)
            return history, self._prompt(ticket)
        fresh = self._claim(ticket)
        crew.conversations.claim(fresh)
        return History(crew.conversations, fresh), self._prompt(ticket)

    def _claim(self, ticket: Ticket) -> ConversationId:
        """A new conversation for an attempt, which the gate and the witness know it by."""
        crew = self._crew
        conversation = ConversationId(mint("step"))
        root = crew.engine.executor.workspace
        crew.conversations.create(conversation, root, parent=crew.parent)
        self._workflows.claims.claim(
            ticket.execution_id, ticket.step, driver=RUNNER, conversation=conversation
        )
        return conversation

    def _prompt(self, ticket: Ticket) -> str:
        return step_prompt(ticket, self._workflows.records.steps(ticket.execution_id))

    async def _call(self, ticket: Ticket) -> None:
        """One call through ``execute`` and its guard."""
        conversation = self._claim(ticket)
        call = ToolCall(
            CallId(mint("call")), ticket.tool, json.dumps(ticket.arguments, ensure_ascii=False)
        )
        executor = self._crew.engine.executor
        plan = executor.plan(call, self._witness.gate(conversation, _own(ticket)))
        self._witness.watch(conversation)
        cut_off = self._workflows.claims.begin_call(ticket.execution_id, ticket.step)
        if cut_off is not None:
            self._crew.report(f"{ticket.step}: {cut_off.message}")
            return
        self._submit(ticket, output_of_call(await executor.run(plan, conversation)))

    async def _ask(self, ticket: Ticket) -> None:
        """A question to the person; without an answer that will do the execution is paused."""
        try:
            output = await self._crew.person().work_on(ticket)
        except WorkflowRefused as refusal:
            why = f": {refusal}" if refusal.code == "choice_invalid" else ""
            reason = f"step {ticket.step} needs a person{why}"
            self._workflows.pause(ticket.execution_id, reason)
            return
        self._submit(ticket, output)

    def _submit(self, ticket: Ticket, output: Any) -> None:
        self._witness.flush()
        done = self._workflows.submit(ticket.execution_id, ticket.step, output)
        why = "; ".join(failure.message for failure in done.failures)
        self._crew.report(f"{ticket.step}: {why or 'done'} -> {done.message}")

    def _seconds(self, ticket: Ticket) -> float | None:
        if ticket.deadline is None:
            return None
        return max(0.0, ticket.deadline - self._crew.engine.clock.now()) + 0.01


def _answer(ticket: Ticket, text: str) -> Any:
    """What an answer hands in: its JSON object where the step has a schema, else itself."""
    if ticket.output_schema is None and ticket.kind != "plan":
        return {"summary": text.strip()}
    fields = first_object(text)
    if fields is None:
        return {}
    fields.setdefault("summary", text.strip()[:2000])
    return fields


def _own(ticket: Ticket) -> tuple[str, str]:
    return ticket.execution_id, ticket.step


def output_of_call(executed: Executed) -> dict[str, Any]:
    """What a tool step hands in: how its call ended."""
    finished = executed.finished
    card = next((d for d in finished.display if isinstance(d, Terminal)), None)
    code = card.exit_code if card else None
    return {
        "summary": finished.text[:_SHOWN] or finished.summary,
        "success": finished.ok and code in (None, 0),
        "ok": finished.ok,
        "exit_code": code,
        "text": finished.text[:_SHOWN],
    }
