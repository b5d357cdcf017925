"""Which failed model calls are tried again and when, and who has another key where one is refused."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sam_tui.core.errors import ModelAuthError, ModelError, ModelLimited
from sam_tui.core.ports.model import Model

Mend = Callable[[Model, ModelAuthError], Awaitable[Model | None]]
"""The same model with another key; None where there is none."""


class Mending:
    """Whom to ask. ``ask`` is None where nobody is there: the turn ends then."""

    def __init__(self) -> None:
        self.ask: Mend | None = None

    async def mended(self, model: Model, error: ModelAuthError) -> Model:
        """The model to go on with. Raises the error where nobody has another key."""
        mended = await self.ask(model, error) if self.ask is not None else None
        if mended is None:
            raise error
        return mended


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds to wait before each retry; a wait that is not listed is as long as the last one.

    What may pass soon is tried again a few times, a rate limit for as long as a person would: its
    waits are long and many. A provider's own Retry-After is honoured up to ``patience`` seconds; a
    longer one is not waited for, because a person would rather know. One that names no time goes on
    for ever: after a few tries there is a wait of our own.
    """

    waits: tuple[float, ...] = (2.0, 4.0, 6.0)
    limited: tuple[float, ...] = (15.0, 30.0, 60.0, 120.0, 300.0)
    limited_retries: int = 20
    patience: float = 300.0

    def attempts(self, error: ModelError) -> int:
        """Tries in all for a call that fails like this."""
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
