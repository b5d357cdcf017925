"""Which failed model calls are tried again, and when."""

from dataclasses import dataclass

from sam_tui.core.errors import ModelError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``attempts`` tries in all; waits double from ``base`` seconds up to ``cap``.

    A provider's own Retry-After is honoured up to ``patience`` seconds; a longer one is not waited
    for, because a person would rather know.
    """

    attempts: int = 5
    base: float = 0.5
    cap: float = 30.0
    patience: float = 120.0

    def delay(self, attempt: int, error: ModelError) -> float | None:
        """Seconds to wait after try number ``attempt`` (from 1), or None to give up."""
        if not error.retryable or attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        return min(self.cap, self.base * 2 ** (attempt - 1))
