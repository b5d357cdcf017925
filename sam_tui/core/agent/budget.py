"""What a piece of work may spend: one object, shared by reference; every model call counts."""

from dataclasses import dataclass, field

from sam_tui.core.errors import BudgetExhausted
from sam_tui.core.usage import Usage

DEFAULT_STEPS = 300
"""Model calls in one turn: seed 004's iteration limit."""


@dataclass(slots=True)
class Budget:
    """Limits and what was used of them. ``max_steps`` may be raised while work is going on."""

    max_steps: int = DEFAULT_STEPS
    steps: int = 0
    usage: Usage = field(default_factory=Usage)

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
        """Add what a call used."""
        self.usage = self.usage.plus(usage)
