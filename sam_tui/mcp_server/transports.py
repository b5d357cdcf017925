"""Serves a runtime to MCP clients until its time is over: on stdio, or on loopback HTTP."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings

from sam_tui.loopback.access import App, HttpAccess, Receive, Scope, Send, refuse
from sam_tui.loopback.server import listen, serve_until
from sam_tui.mcp_server.http.messages import messages_only
from sam_tui.mcp_server.http.sessions import McpSessions
from sam_tui.mcp_server.protocol import SamServer
from sam_tui.mcp_server.stdio import wire
from sam_tui.stop_signals import signals_stop, until_stopped

PATH: Final = "/mcp"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The port to listen on at loopback, and the token that a client must send. Port 0 takes a free one."""

    port: int
    token: str
    patience: float
    """Seconds that a call waits for its client to resume a broken stream."""
    announce: Callable[[int], None]
    """Called with the port once clients can connect."""


async def serve_stdio(server: SamServer, source: int, sink: int) -> None:
    """Serve one client on two descriptors until it closes its end or a signal comes."""
    options = server.create_initialization_options()
    with signals_stop() as stopped:
        async with wire(source, sink) as (reads, writes):
            await until_stopped(server.run(reads, writes, options), stopped)


async def serve_http(server: SamServer, address: ListenAddress) -> None:
    """Serve any number of clients on 127.0.0.1 until a signal comes. Raises ``UsageError``."""
    listening = listen(address.port)
    port = listening.getsockname()[1]
    security = TransportSecuritySettings(
        allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
        allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
    )
    manager = McpSessions(server, security, address.patience)
    access = HttpAccess(_at_path(messages_only(manager.asgi_app)), address.token, port)
    async with serve_until(access, listening) as stopped, manager.run():
        address.announce(port)
        await stopped.wait()


def _at_path(app: App) -> App:
    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == PATH:
            await app(scope, receive, send)
        else:
            await refuse(404, f"Not found; the server is at {PATH}.", send)

    return served


def endpoint(port: int) -> str:
    """The URL for clients."""
    return f"http://127.0.0.1:{port}{PATH}"
