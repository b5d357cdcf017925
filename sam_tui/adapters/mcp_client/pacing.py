"""How fast a server may say what nobody asked for: a burst at once, then so much a second.

What comes faster is left unread, so that the server waits, however many messages it has.
"""

import asyncio
import time
from types import TracebackType

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

BURST, A_SECOND = 5_000.0, 500.0
"""Notifications; a request of the server's counts as five."""
_PRICES: dict[type, float] = {JSONRPCNotification: 1.0, JSONRPCRequest: 5.0}


Arriving = MemoryObjectReceiveStream[SessionMessage | Exception]


class Paced:
    """The stream of a server's messages, read no faster than that. Answers to requests of ours are free."""

    def __init__(self, arriving: Arriving) -> None:
        self._arriving = arriving
        self._left = BURST
        self._since = time.monotonic()

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        item = await self._arriving.receive()
        price = _PRICES.get(type(item.message), 0.0) if isinstance(item, SessionMessage) else 0.0
        if price:
            now = time.monotonic()
            self._left = min(BURST, self._left + (now - self._since) * A_SECOND) - price
            self._since = now
            if self._left < 0:
                await asyncio.sleep(-self._left / A_SECOND)
        return item

    async def aclose(self) -> None:
        """Read no more."""
        await self._arriving.aclose()

    def __aiter__(self) -> "Paced":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Paced":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
