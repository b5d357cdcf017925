"""One run of an execution: what its drivers work with, how they hand in, and the evidence of their calls.

Evidence consists of calls that the host itself recorded, so that no guard has to believe a report. A
call counts for the attempt that its conversation has claimed. The gate of a conversation comes from its
recorder, which therefore listens before the first call of a phase runs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from sam_tui.core.agent.budget import Budget
from sam_tui.core.agent.history import History
from sam_tui.core.agent.turn import Turn, TurnEngine
from sam_tui.core.bus import Bus, Subscription
from sam_tui.core.display import Terminal
from sam_tui.core.events import ToolFinished, TurnFinished
from sam_tui.core.ids import ConversationId, mint
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.model import Model
from sam_tui.core.ports.storage import ConversationStore
from sam_tui.core.tooling.contract import ToolContext, ToolResult
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.workflow.drivers.models import ModelSource, RunModels
from sam_tui.core.workflow.execution.completion import RecordedCall
from sam_tui.core.workflow.gate import UNGATED, conversation_gate, subagent_gate
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import Ticket, WorkflowRefused


class EvidenceRecorder:
    """Records the calls of conversations that work on a step, as evidence. Subscribes to events only while
    there are any."""

    def __init__(self, workflows: Workflows, bus: Bus) -> None:
        self._workflows = workflows
        self._bus = bus
        self._subscription: Subscription | None = None
        self._watched: set[str] = set()

    def gate(self, conversation: str, scope: tuple[str, str] | None = None) -> Gate:
        """The gate of a conversation; calls that it lets through during a phase are recorded."""
        decide = conversation_gate(lambda: self._workflows.records.phase(conversation), scope)

        def watched(key: str) -> str:
            self.watch(conversation)
            return decide(key)

        return watched

    def watch(self, conversation: str) -> None:
        """Store the evidence so far, and go on listening if the conversation is at work."""
        self.flush()
        if self._workflows.records.is_at_work(conversation):
            self._watched.add(conversation)
        else:
            self._watched.discard(conversation)
        if not self._watched:
            self.close()
        elif self._subscription is None:
            self._subscription = self._bus.subscribe()

    def flush(self) -> None:
        """Store all recorded evidence. Called before a step hands in its output."""
        if calls := self.take():
            self._workflows.notes.add_evidence(calls)

    def take(self) -> list[RecordedCall]:
        """The calls recorded since the last look; the caller stores them with the outcome of the step."""
        return [
            RecordedCall(event.conversation, event.operation, *outcome_of(event), event.text)
            for event in (self._subscription.drain() if self._subscription else ())
            if isinstance(event, ToolFinished)
            and event.conversation in self._watched
            # A verb of the engine bears out nothing: else every advance would vouch for itself.
            and event.operation.partition(".")[0] not in UNGATED
        ]

    def close(self) -> None:
        """Hear nothing more."""
        self.flush()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None


def outcome_of(event: ToolFinished) -> tuple[str, bool, int | None]:
    """A call by its command, else by its line; whether it succeeded, and its command's exit code."""
    card = next((part for part in event.display if isinstance(part, Terminal)), None)
    code = card.exit_code if card else None
    return card.command if card else event.summary, event.ok and code in (None, 0), code


Carrier = Callable[[object, ToolContext], Awaitable[ToolResult]]
"""Runs an operation in a worker's process; it takes the operation's own arguments."""


class StepHandOut(Protocol):
    """Hands steps of some roles out to workers in other processes."""

    def carrier(self, ticket: Ticket) -> Carrier | None:
        """The carrier that takes the step to a worker; None for a step that is done here."""
        ...

    def forget(self, execution: str) -> None:
        """Forget everything handed out for an execution that is driven no more."""
        ...


@dataclass(frozen=True, slots=True)
class RunContext:
    """The parts with which steps are worked on. ``parent`` is the conversation that the run belongs to."""

    engine: TurnEngine
    conversations: ConversationStore
    inquiries: Inquiries
    model: Model | None
    model_source: ModelSource
    """Opens other models than ``model``."""
    parent: ConversationId
    report: Callable[[str], None] = lambda _: None
    save: Callable[[str, str], None] | None = None
    """Writes a file of a saved task, by its path; None if tasks are not saved."""
    recall: Callable[[ConversationId, str], Awaitable[str]] | None = None
    """Returns memories that concern a task, for a conversation; None if there is no memory."""
    hand_out: StepHandOut | None = None
    """Hands steps without files to workers; None if all steps are done in this process."""
    budget: Budget = field(default_factory=Budget)
    """Counts the tokens and money of all steps, within its limits; its model calls limit each attempt."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """The parts that drivers need: the context, the workflows, the recorder of evidence and the models."""

    workflows: Workflows
    context: RunContext
    recorder: EvidenceRecorder
    models: RunModels

    def conversation(self) -> ConversationId:
        """A new conversation, for an attempt to be claimed for."""
        conversation = ConversationId(mint("step"))
        root = self.context.engine.executor.workspace
        self.context.conversations.create(conversation, root, parent=self.context.parent)
        return conversation

    def history(self, conversation: ConversationId) -> History:
        """The messages of a conversation, which this program alone writes from now on."""
        self.context.conversations.claim(conversation)
        return History(self.context.conversations, conversation)

    async def turn(self, work: "StepTurn", budget: Budget, prompt: str) -> TurnFinished:
        """One turn of a conversation that works on a step; its usage is recorded with the step."""
        engine, steps, before = self.context.engine, budget.steps, budget.usage
        conversation = work.history.conversation
        subagents = subagent_gate(work.gate)
        with engine.budgets.running(conversation, budget, work.model, subagents):
            turn = await Turn(engine, work.model, work.history, budget, work.gate).run(prompt)
        used = turn.usage.since(before)
        self.workflows.notes.add_usage(work.execution, work.step, budget.steps - steps, used)
        return turn

    def gate(self, conversation: ConversationId, ticket: Ticket) -> Gate:
        """The gate of a conversation that works on one step and on nothing else."""
        return self.recorder.gate(conversation, (ticket.execution_id, ticket.step))

    def submit(self, ticket: Ticket, output: object) -> None:
        """Hand in a step's output, with the evidence for it."""
        calls = self.recorder.take()
        try:
            done = self.workflows.submit(
                ticket.execution_id, ticket.step, output, calls=calls, minted=False
            )
        except WorkflowRefused:
            self.workflows.notes.add_evidence(calls)
            raise
        why = "; ".join(failure.message for failure in done.failures)
        self.context.report(f"{ticket.step}: {why or 'done'} -> {done.message}")

    def pause(self, ticket: Ticket, why: str) -> None:
        """Pause the execution; the step can be resumed unchanged."""
        self.workflows.steer("pause", ticket.execution_id, why)

    def fail(self, ticket: Ticket, why: str) -> None:
        """The attempt failed."""
        self.workflows.fail_step(ticket.execution_id, ticket.step, why)


@dataclass(frozen=True, slots=True)
class StepTurn:
    """The parts of a turn on a step."""

    execution: str
    step: str
    model: Model
    history: History
    gate: Gate
