"""``sam-tui mcp``: our tools for other agents, and the servers whose tools the agent may call."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import (
    Values,
    guarded_options,
    named_conversation,
    open_runtime,
    place_options,
    server_options,
    settings,
)
from sam_tui.cli.streams import protocol_streams, require_output
from sam_tui.core.authorization.paths.secrets import MCP_TOKEN
from sam_tui.core.errors import UsageError
from sam_tui.folders import data_folder
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.ports.servers import ServerReport
    from sam_tui.core.runtime import Runtime
    from sam_tui.tokens import BearerToken


START_SECONDS = 3600.0
"""Each server has its own, shorter limit."""
_MARKS = {"ready": "✓", "failed": "✗", "untrusted": "·", "disabled": "·"}


@click.command("list", short_help="The servers that the agent may use.")
@click.option("--check", is_flag=True, help="Start them, and say how they stand.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@guarded_options
def list_command(**values: Any) -> int:
    """List the MCP servers that your file and this folder name; nothing is started without --check."""
    require_output()
    reports = asyncio.run(_reports(values, start=values["check"]))
    if values["as_json"]:
        click.echo(json.dumps([asdict(report) for report in reports], indent=2))
    else:
        for line in _listing(reports) or [f"No server is named. {_HOW}"]:
            click.echo(terminal_safe(line))
    return 1 if any(report.standing == "failed" for report in reports) else 0


@click.command("get", short_help="One server, with its tools.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@guarded_options
def get_command(**values: Any) -> int:
    """Start one server and show what it offers; exit 1 when it cannot be used."""
    require_output()
    reports = asyncio.run(_reports(values, start=True, name=values["name"]))
    chosen = next((report for report in reports if report.name == values["name"]), None)
    if chosen is None:
        names = ", ".join(report.name for report in reports) or "none"
        raise UsageError(f"No server is called {values['name']}.", hint=f"There are: {names}.")
    if values["as_json"]:
        click.echo(json.dumps(asdict(chosen), indent=2))
    else:
        for line in described(chosen):
            click.echo(terminal_safe(line))
    return 0 if chosen.standing in ("ready", "ended") else 1


@click.command("add", short_help="Name a server in your own file.")
@click.argument("name")
@click.argument("target", nargs=-1, required=True, metavar="COMMAND [ARGS]... | URL")
@click.option("-e", "--env", multiple=True, metavar="KEY=VALUE", help="A variable; repeatable.")
@click.option("-H", "--header", multiple=True, metavar="NAME: VALUE", help="For a URL; repeatable.")
@click.option(
    "--timeout", type=click.IntRange(min=1), metavar="MS", help="How long a call may take."
)
@click.option("--force", is_flag=True, help="In place of one of the same name.")
@place_options
def add_command(**values: Any) -> int:
    """Name an MCP server in mcp.json of your settings, for every folder.

    Put -- before a command that has options: sam-tui mcp add docs -- npx -y some-server --flag
    """
    from sam_tui.adapters.mcp_client.settings import with_server

    path, name = _own_file(values), values["name"]
    entry = _entry(values)
    _edit(path, lambda data: with_server(data, path, name, entry, replace=values["force"]))
    click.echo(terminal_safe(f"{name} is in {path}."))
    return 0


@click.command("remove", short_help="Take a server out of your own file.")
@click.argument("name")
@place_options
def remove_command(**values: Any) -> int:
    """Name an MCP server no longer."""
    from sam_tui.adapters.mcp_client.settings import without_server

    path, name = _own_file(values), values["name"]
    _edit(path, lambda data: without_server(data, path, name))
    click.echo(terminal_safe(f"{name} is no longer in {path}."))
    return 0


SERVER_COMMANDS = (list_command, get_command, add_command, remove_command)
_HOW = "Add one with: sam-tui mcp add NAME -- COMMAND, or NAME URL"


def described(report: "ServerReport") -> list[str]:
    """One server in lines."""
    lines = [
        f"{report.name}: {report.standing}",
        f"  {report.kind}   {report.target}",
        f"  from    {report.file} ({report.source})",
    ]
    lines += [f"  error   {report.error}"] if report.error else []
    lines += [f"  tool    {name}" for name in report.tools]
    lines += [f"  not offered   {why}" for why in report.left_out]
    if report.log and report.standing != "ready":
        lines += ["  it printed:", *(f"    {line}" for line in report.log.splitlines()[-20:])]
    return lines


def _listing(reports: "Sequence[ServerReport]") -> list[str]:
    lines: list[str] = []
    for report in reports:
        mark = _MARKS.get(report.standing, " ")
        words = {"untrusted": "not loaded: the folder is not trusted", "waiting": ""}
        more = words.get(report.standing, report.standing)
        count = f"{len(report.tools)} tools" if report.standing == "ready" else more
        lines.append(
            f"{mark} {report.name:<16} {report.target}  ({report.source}) {count}".rstrip()
        )
        lines += [f"  {report.error}"] if report.error else []
    return lines


async def _reports(values: Values, *, start: bool, name: str = "") -> "Sequence[ServerReport]":
    runtime = open_runtime(values)
    try:
        return await _found(runtime, start=start, name=name)
    finally:
        await runtime.close()


async def _found(runtime: "Runtime", *, start: bool, name: str) -> "Sequence[ServerReport]":
    if start:
        runtime.servers.begin(name)
        await runtime.servers.settled(START_SECONDS)
    return runtime.servers.reports()


def _own_file(values: Values) -> str:
    from sam_tui.adapters.mcp_client.settings import USER_FILE
    from sam_tui.adapters.policy import AppFolders

    folders = AppFolders.of(os.environ, values["data_dir"] or data_folder())
    return os.path.join(folders.config_dir, USER_FILE)


def _entry(values: Values) -> dict[str, Any]:
    """What the file will hold. Raises ``UsageError`` for what does not go together."""
    first, *extra = values["target"]
    timeout = {"timeout": values["timeout"]} if values["timeout"] else {}
    if first.startswith(("http://", "https://")):
        if extra or values["env"]:
            raise UsageError("A URL takes --header, and neither arguments nor --env.")
        headers = dict(_pair(text, ":") for text in values["header"])
        more = {"headers": headers} if headers else {}
        return {"type": "http", "url": first, **more, **timeout}
    if values["header"]:
        raise UsageError("--header goes with a URL.")
    env = dict(_pair(text, "=") for text in values["env"])
    return {"command": first, "args": extra, **({"env": env} if env else {}), **timeout}


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, separator, value = text.partition(sign)
    if not separator or not name.strip():
        raise UsageError(f"{text!r} is not NAME{sign}VALUE.")
    return name.strip(), value.strip()


def _edit(path: str, change: Callable[[bytes], str]) -> None:
    from sam_tui.adapters.policy.private_files import exclusive, replace_file

    with exclusive(path):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            data = b""
        replace_file(path, change(data))


@click.group("mcp", short_help="Our tools for other agents, and servers for ours.")
def mcp_group() -> None:
    """The Model Context Protocol: serve our tools to other agents, or give servers to ours."""


for _command in SERVER_COMMANDS:
    mcp_group.add_command(_command)


@mcp_group.command("serve")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    help="stdio for one client that starts this program; http for any number on this machine.",
)
@click.option(
    "--profile",
    type=click.Choice(["sam", "iron-manus", "midex", "all"]),
    default="sam",
    help="Our tools, JARVIS and its companions, workflows by tokens, or all.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8932,
    show_default=True,
    help="Of 127.0.0.1, for http; 0 takes a free one.",
)
@click.option("--conversation", metavar="ID", help="Whose todos, results and terminals (stdio).")
@click.option(
    "--take-over", is_flag=True, help="Use that conversation though another program has it open."
)
@click.option(
    "--resume-within",
    type=click.IntRange(0, 3600),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long a call waits for its client to come back, for http.",
)
@click.option("--page-size", type=click.IntRange(min=1), default=100, help="Entries of a list.")
@server_options
def serve_command(**values: Any) -> int:
    """Serve MCP clients until they hang up (stdio) or a signal comes.

    Nothing but the protocol is written to standard output. With http a client sends the token that
    is kept in mcp-token in the data folder as “Authorization: Bearer …”.
    """
    if values["transport"] == "http" and values["conversation"]:
        raise UsageError(
            "--conversation is for stdio, where there is one client.",
            hint="Over HTTP each session has its own; name one in _meta “sam-tui/conversation”.",
        )
    if values["take_over"] and not values["conversation"]:
        raise UsageError("--take-over goes with --conversation.")
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
    """Say where the server is and where its token lies; never the token itself."""

    def announce(port: int) -> None:
        from sam_tui.mcp_server.transports import endpoint

        click.echo(f"sam-tui serves MCP at {endpoint(port)}", err=True)
        click.echo(f"The token for Authorization: Bearer is in {token.path}", err=True)

    return announce
