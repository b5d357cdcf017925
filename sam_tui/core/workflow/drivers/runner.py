"""Drives an execution with our own agent until it ends or waits for somebody."""

import asyncio
from dataclasses import replace

from sam_tui.core.bus import Bus
from sam_tui.core.ids import ConversationId
from sam_tui.core.workflow.drivers.steps import Drivers, StepCrew
from sam_tui.core.workflow.drivers.witness import Witness
from sam_tui.core.workflow.refusals import WorkflowRefused, execution_held
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import ExecutionView, Ticket


class Runner:
    """Works on all open steps of one execution side by side."""

    def __init__(self, workflows: Workflows, crew: StepCrew, bus: Bus) -> None:
        self._workflows = workflows
        self._crew = crew
        self._witness = Witness(workflows, bus)
        self._drivers = Drivers(workflows, crew, self._witness)

    async def run(self, execution_id: str) -> ExecutionView:
        """Drive it, and say how it stands then: ended, or ``paused`` with a reason.

        Cancelling leaves it as it is, for a later run to go on with. Raises ``WorkflowRefused``
        (``execution_held``) while another process drives it, and ``ConfigurationError``.
        """
        with self._workflows.claims.hold(execution_id) as mine:
            if not mine:
                raise execution_held(execution_id)
            try:
                self._adopt(execution_id)
                return await self._run(execution_id)
            finally:
                self._witness.close()

    def _adopt(self, execution_id: str) -> None:
        """Without a conversation to belong to, the run has one of its own, by its own name."""
        if self._crew.parent:
            return
        parent = ConversationId(execution_id)
        if self._crew.conversations.find(parent) is None:
            root = self._crew.engine.executor.workspace
            self._crew.conversations.create(parent, root)
        self._crew = replace(self._crew, parent=parent)
        self._drivers = Drivers(self._workflows, self._crew, self._witness)

    async def _run(self, execution_id: str) -> ExecutionView:
        while True:
            view = self._workflows.records.execution(execution_id)
            if view.state == "idle":
                self._workflows.resume(execution_id)
            elif view.state == "paused" and view.question is not None:
                if not await self._decide(view):
                    return view
            elif view.state != "running":
                return view
            else:
                self._workflows.expire()
                await self._work(execution_id)

    async def _work(self, execution_id: str) -> None:
        """Drive everything that is open until nothing is."""
        running: dict[str, asyncio.Task[None]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    tickets = self._tickets(execution_id)
                    self._drop(running, tickets)
                    for key, ticket in tickets.items():
                        if key not in running:
                            running[key] = group.create_task(self._drivers.drive(ticket), name=key)
                    if not running:
                        return
                    done, _ = await asyncio.wait(
                        running.values(), return_when=asyncio.FIRST_COMPLETED
                    )
                    for task in done:
                        del running[task.get_name()]
        except BaseExceptionGroup as faults:
            raise faults.exceptions[0] from None

    def _tickets(self, execution_id: str) -> dict[str, Ticket]:
        """The open steps by attempt."""
        return {
            f"{t.step}#{t.attempt}": t for t in self._workflows.tickets(execution_id, mint=False)
        }

    def _drop(self, running: dict[str, asyncio.Task[None]], open_: dict[str, Ticket]) -> None:
        """Stop working on attempts that are no longer open."""
        for key in [key for key in running if key not in open_]:
            running.pop(key).cancel()

    async def _decide(self, view: ExecutionView) -> bool:
        """Ask the person what follows a failure; False without an answer that will do."""
        try:
            self._workflows.decide(view.id, await self._crew.person().decide(view))
        except WorkflowRefused as refusal:
            self._crew.report(f"{view.id}: {refusal}")
            return False
        return True
