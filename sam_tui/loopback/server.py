"""An ASGI application on 127.0.0.1, served until a signal comes."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sam_tui.core.errors import UsageError
from sam_tui.loopback.access import App, Receive, Scope, Send, refuse
from sam_tui.stop_signals import signals_stop

MOST_CONNECTIONS = 128
"""The most connections at once; further ones are refused, and beyond twice as many closed unread."""


@dataclass(frozen=True, slots=True)
class RequestSeconds:
    """Seconds that a client may take, after which its connection is closed.

    ``head`` is for the first line and headers of a request, on a new connection from its beginning;
    ``body`` for all that follows them.
    """

    head: float = 10.0
    body: float = 30.0


@asynccontextmanager
async def serve_until(
    app: App, listening: socket.socket, *, seconds: RequestSeconds = RequestSeconds()
) -> AsyncGenerator[asyncio.Event]:
    """Serve meanwhile; the event is set by the first signal."""
    config = uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType] # uvicorn's own types of the same protocol
        http=_protocol(seconds),
        lifespan="off",
        log_config=None,
        access_log=False,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    http = _Quiet(config)
    with signals_stop() as stopped:
        serving = asyncio.get_running_loop().create_task(http.serve([listening]), name="http")
        try:
            yield stopped
        finally:
            http.should_exit = True
            await serving


def _protocol(seconds: RequestSeconds) -> type[asyncio.Protocol]:
    """uvicorn's HTTP, with so many connections at most, and so many seconds for each request."""

    class Bounded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] # as uvicorn has it
            super().connection_made(transport)
            if len(self.connections) > 2 * MOST_CONNECTIONS:
                transport.abort()
            elif len(self.connections) > MOST_CONNECTIONS:
                self.app = _full  # pyright: ignore[reportAttributeAccessIssue] # uvicorn's own types
            self._awaited: object = None  # the request whose body is awaited
            self._limit: asyncio.TimerHandle | None = None
            self._allow(seconds.head)

        def connection_lost(self, exc: Exception | None) -> None:
            self._allow(None)
            super().connection_lost(exc)

        def handle_events(self) -> None:
            super().handle_events()
            if self.conn.their_state is h11.SEND_BODY:
                if self._awaited is not self.cycle:
                    self._awaited = self.cycle
                    self._allow(seconds.body)
            elif self.conn.their_state is not h11.IDLE:
                self._allow(None)  # the request is whole
            elif self._limit is None and self.conn.trailing_data[0]:
                self._allow(seconds.head)

        def _allow(self, delay: float | None) -> None:
            """Close the connection after so many seconds from now; None: not any more."""
            if self._limit is not None:
                self._limit.cancel()
            close = self.transport.close
            self._limit = None if delay is None else self.loop.call_later(delay, close)

    return Bounded


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    why = f"This server already has {MOST_CONNECTIONS} connections; try again later."
    await refuse(503, why, send)


class _Quiet(uvicorn.Server):
    """uvicorn without its signal handlers: ours end the program in order."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Install no signal handlers."""
        yield


def listen(port: int) -> socket.socket:
    """A socket that listens on 127.0.0.1; port 0 takes a free one. Raises ``UsageError``."""
    # With its protocol named, asyncio sends small answers at once (TCP_NODELAY): else 40 ms each.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"Port {port} of 127.0.0.1 cannot be used: {error.strerror}.",
            hint="Choose another with --port, or 0 for any.",
        ) from error
    listening.setblocking(False)
    return listening
