"""What a piece of work may spend: one object, shared by reference; every model call counts."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sam_tui.core.errors import BudgetExhausted
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import Model
from sam_tui.core.tooling.execute import Gate
from sam_tui.core.usage import Usage

DEFAULT_STEPS = 300
"""Model calls in one turn: seed 004's iteration limit."""


@dataclass(slots=True)
class Budget:
    """Limits and what was used of them. ``max_steps`` may be raised while work is going on.

    What is spent here is spent by ``parent`` too; its steps are its own.
    """

    max_steps: int = DEFAULT_STEPS
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    parent: "Budget | None" = None

    def take_step(self) -> int:
        """Count one model call, before it is made. Raises ``BudgetExhausted``."""
        if self.spent:
            raise BudgetExhausted(
                f"The limit of {self.max_steps} model calls was reached.",
                limit="turns",
                hint="Continue with another message, or raise --max-turns.",
            )
        self.steps += 1
        return self.steps

    @property
    def spent(self) -> bool:
        """Whether the next step would be refused."""
        return self.steps >= self.max_steps

    def spend(self, usage: Usage) -> None:
        """Add what a call used, here and for whoever this is done for."""
        self.usage = self.usage.plus(usage)
        if self.parent is not None:
            self.parent.spend(usage)


class Budgets:
    """The budgets, models and gates of the turns that run now."""

    def __init__(self) -> None:
        self._running: dict[ConversationId, tuple[Budget, Model, Gate | None]] = {}

    @contextmanager
    def running(
        self,
        conversation: ConversationId,
        budget: Budget,
        model: Model,
        gate: Gate | None = None,
    ) -> Generator[None, None, None]:
        """Make known what a turn runs with, for as long as it does."""
        self._running[conversation] = (budget, model, gate)
        try:
            yield
        finally:
            del self._running[conversation]

    def get(self, conversation: ConversationId) -> Budget | None:
        """The budget of the turn that runs in a conversation, or None."""
        entry = self._running.get(conversation)
        return entry[0] if entry else None

    def model(self, conversation: ConversationId) -> Model | None:
        """The model of the turn that runs in a conversation, or None."""
        entry = self._running.get(conversation)
        return entry[1] if entry else None

    def gate(self, conversation: ConversationId) -> Gate | None:
        """The gate of the turn that runs in a conversation, or None where all may be called."""
        entry = self._running.get(conversation)
        return entry[2] if entry else None
