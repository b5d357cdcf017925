"""``sam-tui mcp``: our tools for other agents, and the servers whose tools the agent may call."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from sam_tui.cli.commands.mcp_servers import SERVER_COMMANDS
from sam_tui.cli.options import (
    Values,
    named_conversation,
    open_runtime,
    server_options,
    settings,
)
from sam_tui.cli.streams import protocol_streams, require_output
from sam_tui.core.authorization.paths.secrets import MCP_TOKEN
from sam_tui.core.errors import UsageError

if TYPE_CHECKING:
    from sam_tui.tokens import BearerToken


@click.group("mcp", short_help="Our tools for other agents, and servers for our agent.")
def mcp_group() -> None:
    """The Model Context Protocol: serve our tools to other agents, or add servers to our agent."""


for _command in SERVER_COMMANDS:
    mcp_group.add_command(_command)


@mcp_group.command("serve")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    help="stdio serves one client, which starts this program; http serves any number on this "
    "machine.",
)
@click.option(
    "--profile",
    type=click.Choice(["sam", "iron-manus", "midex", "all"]),
    default="sam",
    help="What to serve: our tools (sam), JARVIS and its companions, workflows by tokens "
    "(midex), or all.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8932,
    show_default=True,
    help="The port at 127.0.0.1, for http; 0 takes a free one.",
)
@click.option(
    "--conversation",
    metavar="ID",
    help="The conversation whose todos, results and terminals the client gets (stdio).",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Use that conversation even while another program has it open.",
)
@click.option(
    "--resume-within",
    type=click.IntRange(0, 3600),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long a call waits for its client to reconnect, for http.",
)
@click.option(
    "--page-size", type=click.IntRange(min=1), default=100, help="Entries per page of a list."
)
@server_options
def serve_command(**values: object) -> int:
    """Serve our tools to MCP clients.

    It ends when a signal arrives, with stdio also when the client disconnects.
    Standard output carries nothing but the protocol. With http a client sends the token from the file
    mcp-token of the data folder as “Authorization: Bearer …”.
    """
    if values["transport"] == "http" and values["conversation"]:
        raise UsageError(
            "--conversation is for stdio, where there is one client.",
            hint="Over HTTP each session has its own; name one in _meta “sam-tui/conversation”.",
        )
    if values["take_over"] and not values["conversation"]:
        raise UsageError("--take-over needs --conversation.")
    require_output()
    source, sink = protocol_streams()
    if values["transport"] == "stdio" and os.isatty(source):
        click.echo("sam-tui speaks MCP on its standard streams; Ctrl+C ends it.", err=True)
    asyncio.run(_serve(values, source, sink))
    return 0


async def _serve(values: Values, source: int, sink: int) -> None:
    from sam_tools import PROFILES
    from sam_tui.mcp_server.calls import Calls
    from sam_tui.mcp_server.server import Service, opened
    from sam_tui.mcp_server.transports import ListenAddress, serve_http, serve_stdio
    from sam_tui.tokens import bearer_token

    named = values["conversation"]
    service = Service(
        values["profile"],
        named_conversation(named) if named else None,
        values["page_size"],
        PROFILES["iron-manus"],
    )
    calls = Calls()
    runtime = open_runtime(values, attended=calls.attends, program="sam-tui mcp serve")
    try:
        if service.conversation is not None:
            runtime.conversations.claim(service.conversation, take_over=values["take_over"])
        async with opened(runtime, calls, service) as server:
            if values["transport"] == "stdio":
                await serve_stdio(server, source, sink)
            else:
                token = bearer_token(settings(values).data_dir, MCP_TOKEN)
                runtime.executor.shield.learn({"MCP_TOKEN": token.text})
                announce = _announced(token)
                patience: int = values["resume_within"]
                address = ListenAddress(values["port"], token.text, patience, announce)
                await serve_http(server, address)
    finally:
        await runtime.close()


def _announced(token: "BearerToken") -> Callable[[int], None]:
    """Prints the server's address and the file of its token, but never the token."""

    def announce(port: int) -> None:
        from sam_tui.mcp_server.transports import endpoint

        click.echo(f"sam-tui serves MCP at {endpoint(port)}", err=True)
        click.echo(f"The token for Authorization: Bearer is in {token.path}", err=True)

    return announce
