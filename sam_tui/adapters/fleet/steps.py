"""Steps of plans as sub-tasks: handed out by the process that drives a plan, performed by workers.

What travels is spec C5's: the role, the tool and its input one way, text and data the other. The store
of the execution, the gate of the step and the guard's decision stay with the process that drives it; the
worker's own guard decides as well, on its machine.
"""

import asyncio
import concurrent.futures
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, Field, ValidationError

from sam_tui.adapters.fleet import queues
from sam_tui.adapters.fleet.database import QueueDatabase
from sam_tui.adapters.fleet.messages import (
    MOST_ANSWER,
    MOST_ASKS,
    AnswerMessage,
    Ask,
    ErrorDetails,
    SubTaskMessage,
    SubTaskResult,
    UntrustedMessage,
)
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId, mint_conversation
from sam_tui.core.inquiries import Inquiries, InquiryOutcome
from sam_tui.core.inquiry import Approval, ApprovalRequest, Question
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import ToolContext, ToolResult
from sam_tui.core.tooling.executor import Executed
from sam_tui.core.workflow.drivers.run import Carrier
from sam_tui.core.workflow.views import Ticket

BEAT_SECONDS = 1.0
TICK_SECONDS = 0.05
_LOOKS = 10
"""Ticks between two checks of the worker's heartbeat."""


class StepData(BaseModel):
    """The ``result_data`` of a step: the text of its tool, and the data for references."""

    text: Annotated[str, Field(max_length=MOST_ANSWER)]
    data: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class StepQueues:
    """Hands steps of plans to the workers of some roles, and waits for their results."""

    database: QueueDatabase
    roles: Collection[str]
    origin: str
    """Identifies this data folder among those that use the same database."""
    inquiries: Inquiries
    """Asks the person the questions of workers."""
    leases: queues.Leases = field(default_factory=queues.Leases)

    def carrier(self, ticket: Ticket) -> Carrier | None:
        """The function that has a worker do a step of a role; None if the role is not handed out."""
        if ticket.persona not in self.roles:
            return None

        async def carry(arguments: object, context: ToolContext) -> ToolResult:
            return await self._carried(self._message(ticket), context)

        return carry

    async def _carried(self, message: SubTaskMessage, context: ToolContext) -> ToolResult:
        queue = queues.SubTaskQueue(self.database)
        await asyncio.to_thread(queue.put, [message])
        try:
            result = await self._home(queue, message, context)
        finally:  # also when the step's time is over: its worker learns that with its next heartbeat
            self.leases.forget(message.id)
            await asyncio.shield(asyncio.to_thread(queue.cancel, [message.id]))
        if result.status == "COMPLETED" and result.worker_agent_role != message.assigned_agent_role:
            raise ToolError(f"A worker of another role answered: {result.worker_agent_role}.")
        if result.status == "FAILED" or result.result_data is None:
            details = result.error_details
            raise ToolError(details.message if details else "The worker gave no reason.")
        try:
            data = StepData.model_validate(result.result_data)
        except ValidationError as error:
            what = faults_of(error)[0]
            raise ToolError(f"The worker's result has the wrong form: {what}.") from None
        return ToolResult(data.text, data=data.data)

    async def _home(
        self, queue: queues.SubTaskQueue, message: SubTaskMessage, context: ToolContext
    ) -> SubTaskResult:
        """Return the result of a sub-task from any worker. Raises ``ToolError`` if none will come."""
        context.emit(f"Handed out to a worker of {message.assigned_agent_role}.\n")
        try:
            async with asyncio.TaskGroup() as group:
                questions = _Questions(self.inquiries, queue, context, group, message.id)
                try:
                    return await self._taken(queue, message, questions)
                finally:
                    questions.follow((), "")
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None

    async def _taken(
        self, queue: queues.SubTaskQueue, message: SubTaskMessage, questions: "_Questions"
    ) -> SubTaskResult:
        results = queues.ResultsQueue(self.database)
        returns, tick = 0, 0
        while True:
            if result := (await asyncio.to_thread(results.take, [message.id])).get(message.id):
                return result
            tick += 1
            if tick % _LOOKS == 0:
                work = await self._looked(queue, message)
                lost = work.state == "running" and self.leases.over(work)
                questions.follow(() if lost or work.state != "running" else work.asks, work.worker)
                returns += lost
                if returns > queues.MOST_RETURNS:
                    raise ToolError(f"{returns} workers ended while they worked on it.")
                if lost:
                    self.leases.forget(work.id)
                    questions.context.emit("Its worker is gone: another one takes it.\n")
                    role = message.assigned_agent_role
                    await asyncio.to_thread(queue.give_back, message.id, role)
            await asyncio.sleep(TICK_SECONDS)

    async def _looked(self, queue: queues.SubTaskQueue, message: SubTaskMessage) -> queues.Work:
        work = (await asyncio.to_thread(queue.look, [message.id])).get(message.id)
        if work is None or work.state == "cancelled":
            raise ToolError("The sub-task was taken out of the queue.")
        return work

    def forget(self, execution: str) -> None:
        """Forget all that was handed out for an execution."""
        self.database.forget(self._parent(execution))

    def _parent(self, execution: str) -> str:
        return "plan-" + _digest(f"{self.origin}\0{execution}")

    def _message(self, ticket: Ticket) -> SubTaskMessage:
        arguments = json.dumps(ticket.arguments, sort_keys=True)
        name = f"{ticket.step}\0{ticket.attempt}\0{arguments}"
        return SubTaskMessage(
            sub_task_id=f"step-{_digest(name)}",
            parent_task_id=self._parent(ticket.execution_id),
            assigned_agent_role=ticket.persona,
            tool_name=ticket.spec.tool,
            sub_task_input=dict(ticket.arguments),
            narrative_step=ticket.instructions[:2000],
            stepId=ticket.step.rpartition("/")[2],
        )


@dataclass(slots=True)
class _Questions:
    """The open questions of a step's worker: each is an inquiry here until the worker withdraws it."""

    inquiries: Inquiries
    queue: queues.SubTaskQueue
    context: ToolContext
    group: asyncio.TaskGroup
    work: str
    _asked: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    def follow(self, asks: Sequence[Ask], worker: str) -> None:
        """Ask questions that are new; withdraw inquiries whose question is gone."""
        waiting = {ask.id: ask for ask in asks}
        for id in self._asked.keys() - waiting.keys():
            self._asked.pop(id).cancel()
        for id in waiting.keys() - self._asked.keys():
            self._asked[id] = self.group.create_task(self._ask(waiting[id], worker))

    async def _ask(self, ask: Ask, worker: str) -> None:
        request = _request_of(ask, f"worker {printable(worker)[:200]}")
        outcome = await self.inquiries.ask(self.context.conversation, self.context.call, request)
        answer = AnswerMessage(work=self.work, ask=ask.id, reply=_reply_of(outcome)[:20_000])
        await asyncio.to_thread(self.queue.answer, answer)


def _request_of(ask: Ask, worker: str) -> ApprovalRequest | Question:
    """Return a worker's question in the form for this program; only one call can be allowed."""
    if ask.choices == ("approve", "deny"):
        why = f"{worker} asks, on its machine: {ask.why}"
        change = (Diff("what it would change", ask.change, *_counts(ask.change), made=False),)
        preview = change if ask.change else ()
        return ApprovalRequest(
            ask.title, ask.summary, ask.targets, why, "", preview=preview, asker=worker
        )
    return Question(ask.title, f"{worker} asks. {ask.summary}", ask.choices)


def _counts(change: str) -> tuple[int, int]:
    lines = change.splitlines()
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def _reply_of(outcome: InquiryOutcome) -> str:
    """Return the answer in the form for the worker: only a person's yes becomes the word that approves."""
    match outcome.answer:
        case None:
            return "Nobody can be asked here."
        case Approval(choice="once" | "timed"):
            return "approve"
        case Approval(comment=comment):
            return f"No: {comment}" if comment else "deny"
        case reply:
            return reply.text or "No answer was given."


class StepCalls(Protocol):
    """Makes the calls of a worker's steps, and lists their open questions."""

    def begin(
        self, conversation: ConversationId, tool: str, arguments: str
    ) -> "concurrent.futures.Future[Executed]":
        """Begin a call of a tool, with its arguments as JSON, in a conversation of its own."""
        ...

    def asks(self, conversation: ConversationId) -> Sequence[Ask]:
        """The open questions of a step."""
        ...

    def answer(self, ask: str, reply: str) -> None:
        """A person's answer."""
        ...


@dataclass(slots=True)
class StepRuns:
    """Performs sub-tasks of plan roles: one call of a tool each, through the guard of its program."""

    tools: Mapping[str, Collection[str]]
    """The tools that each role may use on this worker, by role."""
    calls: StepCalls
    _holds: dict[queues.WorkHold, str] = field(default_factory=dict[queues.WorkHold, str])

    def perform(self, task: SubTaskMessage, hold: queues.WorkHold) -> SubTaskResult:
        """Make the call. Raises ``SamError`` where it cannot begin."""
        role = task.assigned_agent_role
        if task.tool_name not in self.tools.get(role, ()):
            raise UntrustedMessage(f"{role} has no tool {task.tool_name!r} on this worker.")
        self._holds[hold] = role  # first, so that a worker that is ended meanwhile returns the work
        try:
            conversation = mint_conversation()
            arguments = json.dumps(task.sub_task_input)
            call = self.calls.begin(conversation, task.tool_name, arguments)
            executed = self._awaited(call, conversation, hold)
        finally:
            del self._holds[hold]
        if executed is None:
            why = "It was cancelled, or moved to another worker."
            return queues.failure(task.parent_task_id, task.sub_task_id, role, why)
        text, ok = executed.finished.text[:MOST_ANSWER], executed.finished.ok
        return SubTaskResult(
            sub_task_id=task.sub_task_id,
            parent_task_id=task.parent_task_id,
            worker_agent_role=role,
            status="COMPLETED" if ok else "FAILED",
            result_data=StepData(text=text, data=dict(executed.data)).model_dump(mode="json"),
            error_details=None
            if ok
            else ErrorDetails(message=text.removeprefix("ERROR: ")[:20_000]),
        )

    def stop(self) -> None:
        """Return the current work to the queue, because the process ends."""
        for hold, role in list(self._holds.items()):
            hold.give_back(role)

    def _awaited(
        self,
        future: "concurrent.futures.Future[Executed]",
        conversation: ConversationId,
        hold: queues.WorkHold,
    ) -> Executed | None:
        """Return the result of the call; None if the work is no longer this worker's."""
        while True:
            try:
                return future.result(BEAT_SECONDS)
            except concurrent.futures.TimeoutError:
                answers = hold.beat(self.calls.asks(conversation)[:MOST_ASKS])
                if answers is None:
                    future.cancel()
                    return None
                for id, answer in answers.items():
                    self.calls.answer(id, answer.reply)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
