"""The budget of a piece of work: one object, shared by reference; every model call counts."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sam_tui.core.errors import BudgetExhausted
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import Model, ModelCatalog, ModelOffer
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.usage import Usage

DEFAULT_STEPS = 300
"""The default limit of model calls in one turn (seed 004, iteration limit)."""
MOST_STEPS = 1000
"""The most model calls of one turn to which the model may raise its limit."""


_UNMETERED = "the model does not report its usage"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one turn: model calls, tokens in and out, US dollars; None is no limit.

    ``raised`` is up to how many model calls the model may raise ``steps`` without a question; 0 where
    the person set them.
    """

    steps: int = DEFAULT_STEPS
    tokens: int | None = None
    cost: float | None = None
    raised: int = MOST_STEPS


@dataclass(slots=True)
class Budget:
    """Limits, and the use of them so far. ``max_steps`` may be raised while work is going on.

    Money and tokens spent here count for ``parent`` too, within its limits; its steps are its own.
    """

    max_steps: int = DEFAULT_STEPS
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    parent: "Budget | None" = None
    limits: Limits = Limits()
    """Limits of tokens and dollars, checked before each step, and of raising ``max_steps``."""
    unmetered: bool = False
    """Whether the provider left out the usage of an answer, so that ``usage`` is too low."""
    unpriced: bool = False
    """Whether the cost of an answer is not known, so that the cost in ``usage`` is too low."""

    def take_step(self) -> int:
        """Count one model call, before it is made. Raises ``BudgetExhausted``."""
        refusal = self._refusal()
        if refusal is not None:
            raise refusal
        self.steps += 1
        return self.steps

    @property
    def spent(self) -> bool:
        """Whether the next step would be refused."""
        return self._refusal() is not None

    @property
    def raised(self) -> int:
        """The number of steps the agent may reach without asking; a parent's limit binds too."""
        allowed = self.limits.raised
        return allowed if self.parent is None else min(allowed, self.parent.raised)

    @property
    def reach(self) -> int:
        """The most steps that the agent may have here without asking: no subagent of it has more."""
        return max(self.max_steps, self.raised)

    def _refusal(self) -> BudgetExhausted | None:
        if self.steps >= self.max_steps:
            return _reached(f"{self.max_steps} model calls", "turns")
        return self._overdrawn()

    def _overdrawn(self) -> BudgetExhausted | None:
        """Whether tokens or money are gone; a limit that nothing can be held against ends it too."""
        overdrawn = self._tokens_gone() or self._money_gone()
        return overdrawn or (self.parent._overdrawn() if self.parent is not None else None)

    @property
    def _tokens_used(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    def _tokens_gone(self) -> BudgetExhausted | None:
        tokens = self.limits.tokens
        if tokens is None:
            return None
        if self.unmetered:
            return _unkept(f"{tokens:,} tokens", "tokens", _UNMETERED, "--max-turns")
        return _reached(f"{tokens:,} tokens", "tokens") if self._tokens_used >= tokens else None

    def _money_gone(self) -> BudgetExhausted | None:
        cost = self.limits.cost
        if cost is None:
            return None
        if self.unmetered:
            return _unkept(f"${cost:g}", "cost", _UNMETERED, "--max-turns")
        if self.unpriced:
            why = "the price of the model is not known"
            return _unkept(f"${cost:g}", "cost", why, "--max-tokens or --max-turns")
        return _reached(f"${cost:g}", "cost") if (self.usage.cost or 0.0) >= cost else None

    def spend(self, usage: Usage) -> None:
        """Add the usage of a call to this budget and to its parent's."""
        self.usage = self.usage.plus(usage)
        self.unmetered = self.unmetered or not (usage.input_tokens or usage.output_tokens)
        self.unpriced = self.unpriced or usage.cost is None
        if self.parent is not None:
            self.parent.spend(usage)


def _reached(what: str, limit: str) -> BudgetExhausted:
    hint = f"Continue with another message, or raise --max-{limit}."
    return BudgetExhausted(f"The limit of {what} was reached.", limit=limit, hint=hint)


def unpriced(limits: Limits, model: Model | None, catalog: ModelCatalog) -> str:
    """Return a warning about a limit of dollars if the model's price is unknown before a call."""
    if limits.cost is None or model is None or not model.host:
        return ""
    if catalog.price(ModelOffer(model.name, model.name, "")) is not None:
        return ""
    return (
        f"The price of {model.name} is not known, so --max-cost ends each turn after its first call "
        "unless the server reports what that cost. Write the price into prices.toml of the settings "
        "folder, or use --max-tokens or --max-turns."
    )


def _unkept(what: str, limit: str, why: str, instead: str) -> BudgetExhausted:
    text = f"The limit of {what} cannot be enforced: {why}."
    return BudgetExhausted(text, limit=limit, hint=f"Use {instead} instead.")


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
        """Register the budget, model and gate of a turn for as long as it runs."""
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

    def conversation(self, model: Model) -> ConversationId | None:
        """The conversation whose turn uses this model object, or None."""
        return next((c for c, entry in self._running.items() if entry[1] is model), None)

    def gate(self, conversation: ConversationId) -> Gate | None:
        """The gate of the turn that runs in a conversation, or None where all may be called."""
        entry = self._running.get(conversation)
        return entry[2] if entry else None
