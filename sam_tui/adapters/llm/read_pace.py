"""Reads a stream of many small pieces a few times a second: what came meanwhile is one read.

A wake-up for each token costs more than all that is done with the token.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

INTERVAL = 1 / 16
"""Seconds from one read to the next, at the least."""
AT_ONCE = 16
"""Reads of one response that wait for nothing: short answers, and the beginning of all others."""
LITTLE = 16 * 1024
"""Bytes of a read after which the next one may wait; where more comes, it is read as it comes."""


class ReadPace:
    """When the next read of a response is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reads = 0
        self._due = 0.0

    async def wait(self) -> None:
        """Wait until the next read is due."""
        if (seconds := self._due - self._clock()) > 0:
            await asyncio.sleep(seconds)

    def note(self, size: int) -> None:
        """A read brought so many bytes."""
        self._reads += 1
        if self._reads >= AT_ONCE and size < LITTLE:
            self._due = self._clock() + INTERVAL


@contextmanager
def paced(response: "httpx.Response", pace: ReadPace) -> Generator[None]:
    """Have the body of a response read at a pace; another kind of connection is read as it was.

    The wait is below TLS, which gives out one record at a time, and what comes meanwhile stays in the
    buffer of the kernel.
    """
    stream: Any = response.extensions.get("network_stream")
    stream = getattr(stream, "_stream", None)
    while (below := getattr(stream, "transport_stream", None)) is not None:
        stream = below
    if stream is None:
        yield
        return
    receive: Callable[[int], Awaitable[bytes]] = stream.receive

    async def paced_receive(max_bytes: int = 65_536) -> bytes:
        await pace.wait()
        data = await receive(max_bytes)
        pace.note(len(data))
        return data

    stream.receive = paced_receive
    try:
        yield
    finally:
        del stream.receive
