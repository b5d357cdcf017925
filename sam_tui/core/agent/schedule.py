"""Runs the calls of one message in their order: blocking, serial, parallel (seed 004)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sam_tui.core.authorization.message_calls import MessageCalls
from sam_tui.core.authorization.request import Request
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.contract import Schedule
from sam_tui.core.tooling.executor import CallPlan, Executed, Executor, Gate, unread

AT_ONCE = 8
"""The most calls that run at the same time."""

CANCELLED = "Cancelled by the person before it ended."
"""The result of a call that was cancelled."""

Run = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class CallRunner:
    """Runs calls of a conversation through the executor, as far as ``gate`` lets them."""

    executor: Executor
    conversation: ConversationId
    gate: Gate | None

    async def run(
        self, calls: Sequence[ToolCall], store: Callable[[Mapping[int, Executed]], None]
    ) -> list[Executed]:
        """The result of each call in call order; a cancelled call has a result, too.

        ``store`` gets all that have ended, by their indices, whenever one has.
        """
        plans: list[CallPlan] = []
        done: dict[int, Executed] = {}
        indices = {call.id: index for index, call in enumerate(calls)}

        def later(call: CallId) -> list[Request]:
            waiting = [plans[index] for index in behind(plans, indices[call])]
            requests = (self.executor.foresee(plan, self.conversation) for plan in waiting)
            return [request for request in requests if request is not None]

        message = MessageCalls[Request](later)

        async def run(index: int) -> None:
            done[index] = await self.executor.run(plans[index], self.conversation)
            store(done)

        try:
            for call in calls:
                plans.append(replace(self.executor.plan(call, self.gate), message=message))
                await asyncio.sleep(0)  # signals and keys are heard between two of them
            await run_in_order(plans, run)
        finally:
            plans += [unread(call) for call in calls[len(plans) :]]
            for index, plan in enumerate(plans):
                if index not in done:
                    done[index] = self.executor.cancelled(plan, self.conversation, CANCELLED)
            store(done)
        return [done[index] for index in range(len(calls))]


async def run_in_order(plans: Sequence[CallPlan], run: Run) -> None:
    """Run every plan by its index.

    A blocking call waits for all before it and holds up all after it. Between blocking calls,
    serial calls of one tool run one after the other, everything else side by side.
    """
    batch: list[int] = []
    for index, plan in enumerate(plans):
        if plan.schedule is not Schedule.BLOCKING:
            batch.append(index)
            continue
        await _run_batch(plans, batch, run)
        batch = []
        await run(index)
    await _run_batch(plans, batch, run)


def behind(plans: Sequence[CallPlan], index: int) -> list[int]:
    """The calls that begin only once this one has ended, by their indices."""
    after = range(index + 1, len(plans))
    blocking = (i for i in after if plans[i].schedule is Schedule.BLOCKING)
    end = index + 1 if plans[index].schedule is Schedule.BLOCKING else next(blocking, len(plans))
    chain = next(c for c in _chains(plans, range(index, end)) if index in c)
    return [*chain[1:], *range(end, len(plans))]


async def _run_batch(plans: Sequence[CallPlan], batch: Sequence[int], run: Run) -> None:
    if len(batch) == 1:
        await run(batch[0])
        return
    room = asyncio.Semaphore(AT_ONCE)

    async def chain(indices: Sequence[int]) -> None:
        for index in indices:
            async with room:
                await run(index)

    try:
        async with asyncio.TaskGroup() as group:
            for indices in _chains(plans, batch):
                group.create_task(chain(indices))
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None


def _chains(plans: Sequence[CallPlan], batch: Sequence[int]) -> list[list[int]]:
    """Return lists of indices that must follow one another; a parallel call has a list of its own."""
    chains: list[list[int]] = []
    by_tool: dict[str, list[int]] = {}
    for index in batch:
        plan = plans[index]
        if plan.schedule is Schedule.SERIAL:
            tool = plan.key.partition(".")[0]
            if tool in by_tool:
                by_tool[tool].append(index)
                continue
            by_tool[tool] = [index]
            chains.append(by_tool[tool])
        else:
            chains.append([index])
    return chains
