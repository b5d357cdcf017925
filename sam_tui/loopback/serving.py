"""An ASGI application on 127.0.0.1, served until a signal comes."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from sam_tui.core.errors import UsageError
from sam_tui.loopback.access import App
from sam_tui.stop_signals import signals_stop


@asynccontextmanager
async def serve_until(app: App, listening: socket.socket) -> AsyncGenerator[asyncio.Event]:
    """Serve meanwhile; the event is set by the first signal."""
    config = uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType] # uvicorn's own types of the same protocol
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


class _Quiet(uvicorn.Server):
    """uvicorn without its signal handlers: ours end the program in order."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals alone."""
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
