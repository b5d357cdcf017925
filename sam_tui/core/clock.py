"""Time, as something a test can replace."""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Wall time for records and what lasts beyond a start of the machine, monotonic time for durations
    and expiry, and waiting."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellation ends the wait."""
        ...


_SLEEPING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that also counts while the machine sleeps, as macOS's monotonic clock does."""


def expiry_seconds() -> float:
    """Seconds since the machine started, for all its processes the same: what permissions expire by.

    The time that the machine sleeps counts, and setting its clock changes nothing.
    """
    return time.clock_gettime(_SLEEPING)


@lru_cache(1)
def boot() -> str:
    """Return an id of this start of the machine, for ``expiry_seconds``; empty if it has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return ``expiry_seconds()``: a grant's minutes go on while the machine sleeps."""
        return expiry_seconds()

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        import asyncio  # the supervisor of commands has none

        await asyncio.sleep(seconds)


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds: the one format of wire times."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
