"""Work that goes on until a command passes, or its turns or its money have run out."""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sam_tui.core.errors import UsageError
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.messages import ToolCall

if TYPE_CHECKING:
    from sam_tui.core.events import TurnFinished
    from sam_tui.core.tooling.executor import Executed, Executor

TURNS = 10
"""The default limit of turns for a goal."""
_OUTPUT = 6_000
"""The most characters of the check's output that the model gets: the last ones."""


class Goal:
    """One goal of a conversation. ``check`` is a shell command, judged and held as any of the agent's.

    ``cost`` in US dollars over all turns; None for no limit.
    """

    def __init__(
        self,
        executor: "Executor",
        conversation: ConversationId,
        check: str,
        *,
        turns: int = TURNS,
        cost: float | None = None,
    ) -> None:
        if not check.strip():
            raise UsageError("A goal needs a command that checks it.", hint="Such as: make test")
        self._executor = executor
        self._conversation = conversation
        self.check = check.strip()
        self._turns = turns
        self._cost = cost
        self._taken = 0
        self._spent = 0.0
        self._unpriced = False
        self.passed = False
        self.outcome = ""
        """How the goal ended, in words; empty while it is pursued."""

    @property
    def opening(self) -> str:
        """The first prompt, where the person wrote none."""
        return f"Work until this command passes: {self.check}"

    async def pursue(
        self, run: "Callable[[str], Awaitable[TurnFinished]]", finished: "TurnFinished"
    ) -> None:
        """Run turns until the goal has ended; ``finished`` is the first of them."""
        while prompt := await self.next_prompt(finished):
            finished = await run(prompt)

    async def next_prompt(self, finished: "TurnFinished") -> str:
        """Run the check after a turn: the prompt of the next one, or nothing once the goal has ended."""
        self._taken += 1
        self._spent += finished.usage.cost or 0.0
        self._unpriced = self._unpriced or finished.usage.cost is None
        if finished.reason != "finished":
            self.outcome = (
                f"The goal was dropped because the turn did not finish ({finished.reason})."
            )
            return ""
        arguments = json.dumps({"operation": "run_command", "command": self.check})
        call = ToolCall(CallId(mint("goal")), "terminal_operations", arguments)
        executed = await self._executor.execute(call, self._conversation)
        self.passed, self.outcome = executed.finished.ok, self._ending(executed)
        if self.outcome:
            return ""
        output = executed.finished.text[-_OUTPUT:]
        left = self._turns - self._taken
        return (
            f"The check does not pass yet: {self.check}\n\n<output>\n{output}\n</output>\n\n"
            f"Go on until it passes; {left} more turn{'s' if left != 1 else ''}. Do not weaken the check."
        )

    def _ending(self, executed: "Executed") -> str:
        """Return a sentence if this run of the check ends the goal; empty while the goal goes on."""
        if executed.finished.ok:
            return f"The goal is reached: {self.check} passes."
        if executed.decision is not None and not executed.decision.allowed:
            return f"The goal was dropped: {self.check} may not run."
        if self._taken >= self._turns:
            return f"The goal was not reached in {self._taken} turns: {self.check} fails."
        if self._cost is not None and self._spent >= self._cost:
            return f"The goal was not reached within ${self._cost:g}: {self.check} fails."
        if self._cost is not None and self._unpriced:
            why = (
                f"the limit of ${self._cost:g} cannot be enforced without the price of each answer"
            )
            return f"The goal was dropped, because {why}: {self.check} fails."
        return ""
