"""/btw and /goal: questions outside of the conversation, and work that ends when a command passes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.worker import Worker

from sam_tui.core.errors import SamError
from sam_tui.core.events import TurnFinished
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.controllers.turns import TurnRunner
from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.agent.drivers.goal import Goal

TURNS = 10
"""The most turns of a goal; then the person has to set it again."""


class BesideTurns:
    """Asks questions outside of the conversation, and starts the next turn of a goal after each turn."""

    def __init__(
        self,
        context: Context,
        conversations: Conversations,
        turns: Callable[[], TurnRunner],
    ) -> None:
        self._context = context
        self._conversations = conversations
        self._turns_here = turns
        self._turns = turns()
        """Turns of the conversation in which the goal is pursued."""
        self._goal: Goal | None = None

    def ask(self, question: str) -> None:
        """Ask the model without adding to the conversation, and show its answer in a window."""
        if not question.strip():
            self._context.notify("Write the question after the command: /btw QUESTION")
            return
        session = self._conversations.session_for_prompt()
        if session is None:
            return

        async def ask() -> None:
            from sam_tui.ui.screens.reader import Reader, whole

            self._context.screen.status.flash("Asking aside…")
            try:
                answer = await session.ask_aside(question)
            except SamError as error:
                self._context.screen.transcript.add_error(error)
                return
            figures = self._context.screen.status.standing.figures
            figures.usage = figures.usage.plus(answer.usage)
            self._context.screen.status.show()
            self._context.app.push_screen(Reader(f"aside: {question}", whole(answer.text)))

        self._context.app.run_worker(ask, name="aside", group="aside", exclusive=True)

    def pursue(self, check: str) -> None:
        """Begin a goal; without a command, drop the present one."""
        if not check:
            left, self._goal = self._goal, None
            self._context.notice(
                "The goal is ended." if left else "There is no goal; /goal COMMAND begins one."
            )
            return
        session = self._conversations.session_for_prompt()
        if session is not None:
            self._goal = session.goal(check, turns=TURNS, cost=self._context.runtime.limits.cost)
            self._context.notice(
                f"Goal: until {one_line(check, 60)} passes, {TURNS} turns at most. Esc ends it."
            )
            self._turns = self._turns_here()
            self._turns.submit(self._goal.opening)

    def go_on(self, turns: TurnRunner, worker: Worker[object]) -> None:
        """A turn has ended: check the goal, and begin the next turn where it is not reached."""
        goal, finished = self._goal, worker.result
        if goal is None or turns is not self._turns or turns.running:
            return  # prompts typed meanwhile run first
        if not isinstance(finished, TurnFinished):
            self._goal = None
            self._context.notice("The goal is ended: its turn was cancelled or failed.")
            return

        async def check() -> None:
            prompt = await goal.next_prompt(finished)
            if self._goal is not goal:
                return
            if prompt:
                turns.submit(prompt)
                return
            self._goal = None
            self._context.notice(goal.outcome, "info" if goal.passed else "warning")

        self._context.app.run_worker(check, name="goal", group="goal", exclusive=True)
