"""Raises the limit of the turn that is running (seed 004, increase_max_iterations)."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, StringConstraints

from sam_tui.core.agent.budget import MOST_STEPS, Budget
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult
from sam_tui.core.verdict import denial

_Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]


class Increase(Arguments):
    """The arguments of ``increase_max_iterations``."""

    requested_iterations: int = Field(gt=0, description=f"the new total, at most {MOST_STEPS}")
    reason: _Reason


class IncreaseMaxIterations:
    """increase_max_iterations: changes the very budget that the loop takes its steps from."""

    def __init__(self, budget_of: Callable[[ConversationId], Budget | None]) -> None:
        self._budget_of = budget_of

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "increase_max_iterations",
            "raise the limit",
            Increase,
            self._increase,
            lambda a: f"Raising the limit to {a.requested_iterations} model calls",
            schedule=Schedule.SERIAL,
        )
        return Tool(
            "increase_max_iterations",
            "Raise how many model calls this turn may take, when the work left needs more.",
            (operation,),
            consolidated=False,
        )

    async def _increase(self, arguments: Increase, context: ToolContext) -> ToolResult:
        budget = self._budget_of(context.conversation)
        if budget is None:
            raise ToolError(
                "No turn of an agent runs here whose limit could be raised.",
                hint="A single call has no limit of model calls.",
            )
        requested, before = arguments.requested_iterations, budget.max_steps
        if requested <= before:
            raise InvalidArguments(
                f"requested_iterations {requested} is not more than the present limit of {before}"
                f" ({budget.steps} used).",
                hint="Give the new total, not how many to add.",
            )
        if requested > MOST_STEPS:
            raise InvalidArguments(
                f"requested_iterations {requested} is beyond {MOST_STEPS}, the most that is"
                f" possible; the present limit is {before} ({budget.steps} used).",
            )
        if requested > budget.raised:
            await self._confirmed(budget, requested, context)
        budget.max_steps = requested
        left = requested - budget.steps
        text = (
            f"The limit was raised from {before} to {requested} model calls.\n"
            f"Used: {budget.steps}, remaining: {left}\nReason: {arguments.reason}"
        )
        data = {
            "previousMax": before,
            "newMax": requested,
            "currentIteration": budget.steps,
            "reason": arguments.reason,
        }
        return ToolResult(text, data=data)

    async def _confirmed(self, budget: Budget, requested: int, context: ToolContext) -> None:
        """Have the person agree to go beyond what they left to the agent. Raises ``ToolError``."""
        why = f"{budget.max_steps} model calls are the limit that was set for this"
        if budget.raised:
            why = f"up to {budget.raised} model calls are left to the agent"
        once = f"up to {requested} model calls for this message"
        host = context.permit.host
        if host is None:
            raise ToolError(f"The limit stays: {why}.")
        decision = await host.confirm(why, once=once, rule="limit:turns")
        if not decision.allowed:
            raise ToolError(denial(decision))
