"""Drives an execution with our own agent until it ends or waits for somebody."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sam_tui.core.bus import Bus
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.workflow.drivers.agent import work_in_conversation
from sam_tui.core.workflow.drivers.digest import ModelDigest
from sam_tui.core.workflow.drivers.host_steps import (
    Person,
    ask_person,
    make_call,
    steer_with_person,
)
from sam_tui.core.workflow.drivers.models import RunModels
from sam_tui.core.workflow.drivers.run import EvidenceRecorder, RunContext, StepRun
from sam_tui.core.workflow.planned import BankFile, MemoryBank
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import ExecutionView, Ticket, WorkflowRefused

DRIVERS: Final[Mapping[str, Callable[[StepRun, Ticket], Awaitable[None]]]] = {
    "agent": work_in_conversation,
    "llm": work_in_conversation,
    "plan": work_in_conversation,
    "tool": make_call,
    "human": ask_person,
}
"""The driver of each kind of step."""


class Runner:
    """Works on all open steps of one execution side by side."""

    def __init__(self, workflows: Workflows, context: RunContext, bus: Bus) -> None:
        self._workflows = workflows
        self._context = context
        self._recorder = EvidenceRecorder(workflows, bus)

    async def run(self, execution_id: str) -> ExecutionView:
        """Drive it, and return its state then: ended, or ``paused`` with a reason.

        Cancelling leaves it as it is, for a later run to go on with. Raises ``WorkflowRefused``
        (``execution_held``) while another process drives it, and ``ConfigurationError``.
        """
        with self._workflows.claims.drive(execution_id):
            try:
                context = replace(self._context, parent=self._parent(execution_id))
                service = self._workflows.records.service(execution_id)
                models = RunModels(context.model, context.model_source, service)
                run = StepRun(self._workflows, context, self._recorder, models)
                try:
                    return await _ExecutionRun(run, execution_id).to_its_end()
                finally:
                    await models.close()
            finally:
                self._recorder.close()
                if self._context.hand_out is not None:
                    self._context.hand_out.forget(execution_id)

    def _parent(self, execution_id: str) -> ConversationId:
        """Return the run's conversation; without a parent it has one of its own, by its own name."""
        if self._context.parent:
            return self._context.parent
        parent = ConversationId(execution_id)
        if self._context.conversations.find(parent) is None:
            root = self._context.engine.executor.workspace
            self._context.conversations.create(parent, root)
        return parent


class _ExecutionRun:
    """Drives a single execution."""

    def __init__(self, run: StepRun, execution_id: str) -> None:
        self._run = run
        self._workflows = run.workflows
        self._report = run.context.report
        self._execution = execution_id
        self._digest = ModelDigest(run, execution_id)
        saved = run.context.save is not None and self._workflows.records.is_task(execution_id)
        self._bank = MemoryBank(self._workflows, execution_id) if saved else None

    async def to_its_end(self) -> ExecutionView:
        """Drive the execution until it ends or waits for a person; writes the memory bank of a task
        meanwhile."""
        self._write(MemoryBank.first_files)
        try:
            while True:
                view = self._workflows.records.execution(self._execution)
                if view.state == "running":
                    self._workflows.expire()
                    await self._work()
                elif view.question is None or not await self._decide(view):
                    return view
        finally:
            self._write(MemoryBank.last_files)

    def _write(self, files: Callable[[MemoryBank], Sequence[BankFile]]) -> None:
        """Write files of a task. One that cannot be written is reported once and ends nothing: the store
        has its content."""
        save = self._run.context.save
        if self._bank is None or save is None:
            return
        folder = self._bank.folder
        try:
            for name, text in files(self._bank):
                save(f"{folder}/{name}", text)
        except OSError as error:
            self._report(f"The memory bank cannot be written: {error.strerror}.")
            self._bank = None

    async def _work(self) -> None:
        """Drive open steps until there are none."""
        tickets = self._workflows.tickets
        running: dict[tuple[str, int], asyncio.Task[None]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    open_ = self._workflows.records.open_attempts(self._execution)
                    for key in running.keys() - open_:
                        running.pop(key).cancel()
                    if open_ - running.keys():
                        for ticket in tickets(self._execution, mint=False, but=running):
                            driving = group.create_task(self._drive(ticket), name=ticket.step)
                            running[ticket.step, ticket.attempt] = driving
                    if not running:
                        return
                    done, _ = await asyncio.wait(
                        running.values(), return_when=asyncio.FIRST_COMPLETED
                    )
                    running = {key: task for key, task in running.items() if task not in done}
                    self._write(MemoryBank.step_files)
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None

    async def _decide(self, view: ExecutionView) -> bool:
        """Ask the person how to go on after a failure; false without a usable answer."""
        context = self._run.context
        person = Person(context.inquiries, context.parent, CallId(mint("call")))
        try:
            await steer_with_person(self._workflows, person, "resume", view.id)
        except WorkflowRefused as refusal:
            self._report(f"{view.id}: {refusal}")
            return False
        return True

    async def _drive(self, ticket: Ticket) -> None:
        """Work on a step to its end. Raises ``ConfigurationError`` when it needs a model."""
        self._report(f"{ticket.step}: begins ({ticket.spec.kind}, attempt {ticket.attempt})")
        try:
            await self._work_in_time(ticket)
        except TimeoutError:
            self._workflows.expire()
            self._report(f"{ticket.step}: timed out")
        except WorkflowRefused as refusal:
            self._report(f"{ticket.step}: {refusal}")
            # A step that its driver left open would be driven again without end. It is not open where
            # another driver was faster, or a person paused or ended it meanwhile.
            open_ = self._workflows.records.open_attempts(ticket.execution_id)
            if (ticket.step, ticket.attempt) in open_:
                self._run.fail(ticket, str(refusal))

    async def _work_in_time(self, ticket: Ticket) -> None:
        """Work on a step. Raises ``TimeoutError`` once its time is over; the machine's sleep counts."""
        loop, clock = asyncio.get_running_loop(), self._run.context.engine.clock
        timer: asyncio.TimerHandle | None = None

        def look(end: float) -> None:
            nonlocal timer
            left = end - clock.monotonic()
            if left < 0:
                limit.reschedule(loop.time())
            else:
                timer = loop.call_later(left + 0.01, look, end)

        async with asyncio.timeout(None) as limit:
            if ticket.deadline is not None:
                look(clock.monotonic() + ticket.deadline - clock.now())
            try:
                await DRIVERS[ticket.spec.kind](self._run, await self._digest.prepare(ticket))
            finally:
                if timer is not None:
                    timer.cancel()
