"""A conversation that can run turns, one at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sam_tui.core.agent.budget import Budget, Limits
from sam_tui.core.agent.history import History
from sam_tui.core.agent.turn import Steering, Turn, TurnEngine
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.events import TurnFinished
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Image, Message
from sam_tui.core.ports.model import Model
from sam_tui.core.prompt.reminders import reminder_of, takes_images

if TYPE_CHECKING:
    from sam_tui.core.agent.drivers.goal import Goal
    from sam_tui.core.agent.drivers.side_question import SideAnswer
    from sam_tui.core.agent.notes.planned import CompactionPlanner


class Session:
    """One open conversation. ``model`` may be changed between turns."""

    def __init__(
        self, engine: TurnEngine, history: History, model: Model | None, *, limits: Limits
    ) -> None:
        self._engine = engine
        self._history = history
        self._limits = limits
        self.model = model
        self.busy = False
        self._opening = "resume" if history.messages else "startup"

    @property
    def conversation(self) -> ConversationId:
        """The id of the conversation."""
        return self._history.conversation

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest message first, reminders included."""
        return self._history.messages

    @property
    def planner(self) -> "CompactionPlanner":
        """Compactions that the person asks for."""
        from sam_tui.core.agent.notes.planned import CompactionPlanner
        from sam_tui.core.agent.turn_hooks import HookedTurn

        engine, hooking = self._engine, self._engine.executor.hooks()
        hooked = hooking and HookedTurn(hooking, self.conversation, engine.executor.asker)
        return CompactionPlanner(engine.room, self._history, engine.notetaker, hooked)

    def close(self) -> None:
        """Let other programs write to the conversation; this session cannot be used after that."""
        self._history.close()

    async def ask_aside(self, question: str) -> "SideAnswer":
        """Ask a side question, also while a turn runs: see ``drivers.side_question``."""
        from sam_tui.core.agent.drivers.side_question import ask_aside

        return await ask_aside(self._engine, self.model, self._history, question)

    def goal(self, check: str, *, turns: int, cost: float | None = None) -> "Goal":
        """A goal for the turns to come. Raises ``UsageError`` without a command."""
        from sam_tui.core.agent.drivers.goal import Goal

        executor = self._engine.executor
        return Goal(executor, self.conversation, check, turns=turns, cost=cost)

    async def run(
        self, text: str, steering: Steering = tuple, *, images: Sequence[Image] = ()
    ) -> TurnFinished:
        """Run one turn. Cancelling the awaiting task ends it cleanly and re-raises.

        Messages of ``steering`` join it after the calls of a step; later ones are not taken.

        Raises ``UsageError`` for an empty message, while a turn runs, and for images to a model that
        takes none; ``ConfigurationError`` without a model.
        """
        if not text.strip():
            raise UsageError("The message is empty.", hint="Type a task.")
        if self.busy:
            raise UsageError("A turn is running.", hint="Wait for it, or cancel it.")
        if self.model is None:
            raise ConfigurationError("No model is chosen.", hint="Choose one with --model.")
        if images and not takes_images(self.model):
            why = f"{self.model.name} does not accept images."
            raise UsageError(why, hint="Choose another model, or leave the images out.")
        self.busy = True
        try:
            for reminder in reminder_of(images, "Images of the message below", self.model):
                self._history.append(reminder)
            budget = Budget(self._limits.steps, limits=self._limits)
            gate = self._engine.executor.gates(self.conversation)
            with self._engine.budgets.running(self.conversation, budget, self.model, gate):
                turn = Turn(self._engine, self.model, self._history, budget, gate)
                turn.opening, self._opening = self._opening, ""
                return await turn.run(self._engine.worded(text), steering)
        finally:
            self.busy = False
