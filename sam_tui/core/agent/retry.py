"""Retries of failed model calls: which and when, providers with another key, and fallback models."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from sam_tui.core.errors import (
    ModelAuthError,
    ModelError,
    ModelLimited,
    ModelNotFound,
    ModelUnavailable,
)
from sam_tui.core.ports.model import (
    CallDelta,
    Delta,
    Model,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)

Mend = Callable[[Model, ModelAuthError], Awaitable[Model | None]]
"""Returns the same model with another key; None if there is no other key."""


class Mending:
    """Asks the person for another key after a provider refused one. Without ``ask`` the turn ends
    instead."""

    def __init__(self) -> None:
        self.ask: Mend | None = None

    async def mended(self, model: Model, error: ModelAuthError) -> Model:
        """Return the model to go on with. Raises the error if nobody has another key."""
        mended = await self.ask(model, error) if self.ask is not None else None
        if mended is None:
            raise error
        return mended


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds to wait before each retry; a wait that is not listed is as long as the last one.

    A fault that may pass soon is retried a few times, a rate limit as long as a person would: with many
    long waits. A provider's own Retry-After is honoured up to ``patience`` seconds; a longer one ends
    the retries, because a person would rather know. A rate limit without a time could last for ever:
    after a few tries our own wait is used.
    """

    waits: tuple[float, ...] = (2.0, 4.0, 6.0)
    limited: tuple[float, ...] = (15.0, 30.0, 60.0, 120.0, 300.0)
    limited_retries: int = 20
    patience: float = 300.0

    def attempts(self, error: ModelError) -> int:
        """Return how many attempts a call gets in all after this kind of error."""
        if not error.retryable:
            return 1
        return 1 + (self.limited_retries if isinstance(error, ModelLimited) else len(self.waits))

    def delay(self, attempt: int, error: ModelError) -> float | None:
        """Seconds to wait after try number ``attempt`` (from 1), or None to give up."""
        if attempt >= self.attempts(error):
            return None
        if error.retry_after is not None:
            least = self.waits[-1] if self.waits and attempt > len(self.waits) else 0.0
            return max(error.retry_after, least) if error.retry_after <= self.patience else None
        waits = self.limited if isinstance(error, ModelLimited) else self.waits
        return waits[min(attempt, len(waits)) - 1]


COOLING_SECONDS = 300.0
"""Seconds for which an overloaded model is not used."""


class FallbackModel:
    """A model with fallbacks, which are asked in order while the ones before them cannot answer.

    Another one is asked where a call fails before its first piece because a provider is overloaded,
    limited, unreachable, or has no such model; the last one's failure is reported as any other. ``tell``
    is called with each change in words.
    """

    def __init__(
        self, models: Sequence[Model], monotonic: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._models = models
        self._monotonic = monotonic
        self._tell = tell
        self._at = 0
        self._until = 0.0

    @property
    def name(self) -> str:
        """The name of the model in use."""
        return self._models[self._at].name

    @property
    def host(self) -> str:
        """The host of the model in use."""
        return self._models[self._at].host

    @property
    def context_tokens(self) -> int | None:
        """The smallest context window among the models; None if no model states its own."""
        sizes = [size for model in self._models if (size := model.context_tokens) is not None]
        return min(sizes, default=None)

    @property
    def sees_images(self) -> bool | None:
        """Whether the model in use takes images; None where it does not say."""
        return getattr(self._models[self._at], "sees_images", None)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The answer of the first model that answers."""
        if self._at and self._monotonic() >= self._until:
            self._use(0, "is asked again")
        while True:
            begun, stream = False, self._models[self._at].stream(request)
            withheld: list[Delta] = []
            try:
                async for delta in stream:
                    begun = begun or isinstance(delta, TextDelta | ReasoningDelta | CallDelta)
                    withheld.append(delta)
                    while begun and withheld:
                        yield withheld.pop(0)
                for delta in withheld:
                    yield delta
                return
            except (ModelLimited, ModelUnavailable, ModelNotFound) as error:
                if begun or self._at + 1 >= len(self._models):
                    raise
                self._until = self._monotonic() + max(COOLING_SECONDS, error.retry_after or 0.0)
                self._use(self._at + 1, f"answers instead of {self.name}: {error}")
            finally:
                close = getattr(stream, "aclose", None)
                if close is not None:
                    await close()

    def _use(self, index: int, why: str) -> None:
        self._at = index
        self._tell(f"{self.name} {why}")

    async def close(self) -> None:
        """Release the connections of all."""
        for model in self._models:
            await model.close()
