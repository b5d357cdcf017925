"""Serves a runtime to MCP clients until its time is over: on stdio, or on loopback HTTP."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from sam_tui import signals
from sam_tui.core.errors import UsageError
from sam_tui.mcp_server.http.access import PATH, HttpAccess
from sam_tui.mcp_server.http.sessions import McpSessions
from sam_tui.mcp_server.protocol import SamServer
from sam_tui.mcp_server.stdio import wire

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen on loopback, and what a client must carry. Port 0 takes a free one."""

    port: int
    token: str
    patience: float
    """Seconds that a call waits for its client to come back to a broken stream."""
    announce: Callable[[int], None]
    """Told the port once clients can connect."""


async def serve_stdio(server: SamServer, source: int, sink: int) -> None:
    """Serve one client on two descriptors until it closes its end or a signal comes."""
    loop = asyncio.get_running_loop()
    with _signals() as stopped:
        async with wire(source, sink) as (reads, writes):
            work = loop.create_task(
                server.run(reads, writes, server.create_initialization_options()), name="mcp"
            )
            stop = loop.create_task(stopped.wait(), name="mcp-stop")
            try:
                await asyncio.wait((work, stop), return_when=asyncio.FIRST_COMPLETED)
            finally:
                stop.cancel()
                work.cancel()
                await asyncio.gather(work, stop, return_exceptions=True)


async def serve_http(server: SamServer, address: ListenAddress) -> None:
    """Serve any number of clients on 127.0.0.1 until a signal comes. Raises ``UsageError``."""
    listening = _listen(address.port)
    port = listening.getsockname()[1]
    security = TransportSecuritySettings(
        allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
        allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
    )
    manager = McpSessions(server, security, address.patience)
    door = HttpAccess(manager.asgi_app, address.token, port)
    config = uvicorn.Config(
        door,  # pyright: ignore[reportArgumentType] # uvicorn's own types of the same protocol
        lifespan="off",
        log_config=None,
        access_log=False,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    http = _Quiet(config)
    with _signals() as stopped:
        serving = asyncio.get_running_loop().create_task(http.serve([listening]), name="mcp-http")
        try:
            async with manager.run():
                address.announce(port)
                await stopped.wait()
        finally:
            http.should_exit = True
            await serving


class _Quiet(uvicorn.Server):
    """uvicorn without its signal handlers: ours end the program in order."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals alone."""
        yield


@contextmanager
def _signals() -> Generator[asyncio.Event]:
    """An event that the first signal sets; a second one ends the process at once.

    A SIGHUP that the caller ignores on purpose (nohup) stays ignored.
    """
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        if stopped.is_set():
            os._exit(1)
        stopped.set()

    numbers = [n for n in _SIGNALS if n != signal.SIGHUP or not signals.ignored(n)]
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield stopped
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _listen(port: int) -> socket.socket:
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


def endpoint(port: int) -> str:
    """The URL that clients are given."""
    return f"http://127.0.0.1:{port}{PATH}"
