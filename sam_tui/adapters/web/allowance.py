"""Limits the rate of requests to each host: a token bucket per host, with the monotonic clock."""

from dataclasses import dataclass

from sam_tui.core.clock import Clock
from sam_tui.core.errors import ToolError

_MOST_HOSTS = 512
_LONGEST_WAIT = 30.0
"""A request that would have to wait more seconds than this is refused."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """``burst`` requests at once, then ``rate`` a second."""

    burst: float = 10.0
    rate: float = 2.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class Allowances:
    """The request rates of all hosts in one process."""

    def __init__(self, allowance: Allowance, clock: Clock) -> None:
        self._allowance = allowance
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    async def take(self, host: str) -> None:
        """Take a token for a request, or wait for one. Raises ``ToolError`` if that takes over 30 s.

        A token may be owed: each waiting request takes the next one, so that the first to come is the first
        served, and the limit of the debt limits the queue.
        """
        bucket = self._filled(host)
        wait = (1.0 - bucket.tokens) / self._allowance.rate
        if wait > _LONGEST_WAIT:
            raise ToolError(f"Too many requests to {host}.", hint="Wait, or use another source.")
        bucket.tokens -= 1.0
        if wait > 0:
            await self._clock.sleep(wait)

    def _filled(self, host: str) -> _Bucket:
        now, allowance = self._clock.monotonic(), self._allowance
        bucket = self._buckets.get(host)
        if bucket is None:
            if len(self._buckets) >= _MOST_HOSTS:
                self._forget(now)
            bucket = self._buckets[host] = _Bucket(allowance.burst, now)
        gained = (now - bucket.filled_at) * allowance.rate
        bucket.tokens = min(allowance.burst, bucket.tokens + gained)
        bucket.filled_at = now
        return bucket

    def _forget(self, now: float) -> None:
        """Drop buckets that are full again: a new one would be the same."""
        whole = self._allowance
        for host, bucket in list(self._buckets.items()):
            if bucket.tokens + (now - bucket.filled_at) * whole.rate >= whole.burst:
                del self._buckets[host]
