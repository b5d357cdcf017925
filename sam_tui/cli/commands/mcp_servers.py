"""``sam-tui mcp``: the servers whose tools the agent may call: named, tried, logged in at."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import Values, guarded_options, open_runtime, place_options
from sam_tui.cli.settings import data_dir_of
from sam_tui.cli.streams import print_json, print_lines, require_output
from sam_tui.core.errors import UsageError
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.ports.servers import ServerReport
    from sam_tui.core.runtime import Runtime


START_SECONDS = 3600.0
"""Seconds to wait for all servers. It is long because each server has its own, shorter limit."""
_MARKS = {"ready": "✓", "failed": "✗", "untrusted": "·", "disabled": "·"}


@click.command("list", short_help="List the servers that the agent may use.")
@click.option("--check", is_flag=True, help="Start the servers and show their state.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@guarded_options
def list_command(**values: Any) -> int:
    """List the MCP servers of your file and of this folder; none is started without --check."""
    require_output()
    reports = asyncio.run(_reports(values, start=values["check"]))
    if values["as_json"]:
        print_json(reports)
    else:
        print_lines(_listing(reports) or [f"No server is configured. {_HOW}"])
    return 1 if any(report.standing == "failed" for report in reports) else 0


@click.command("get", short_help="Show one server with its tools.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@guarded_options
def get_command(**values: Any) -> int:
    """Start one server and show what it offers; exit 1 when it cannot be used."""
    require_output()
    chosen = _chosen(asyncio.run(_reports(values, start=True, name=values["name"])), values)
    if values["as_json"]:
        print_json(chosen)
    else:
        print_lines(described(chosen))
    return 0 if chosen.standing in ("ready", "ended") else 1


@click.command("add", short_help="Add a server to your own file.")
@click.argument("name")
@click.argument("target", nargs=-1, required=True, metavar="COMMAND [ARGS]... | URL")
@click.option(
    "-e", "--env", multiple=True, metavar="KEY=VALUE", help="An environment variable; repeatable."
)
@click.option(
    "-H", "--header", multiple=True, metavar="NAME: VALUE", help="A header for a URL; repeatable."
)
@click.option(
    "--timeout", type=click.IntRange(min=1), metavar="MS", help="The longest time of a call."
)
@click.option("--force", is_flag=True, help="Replace a server of the same name.")
@place_options
def add_command(**values: Any) -> int:
    """Add an MCP server to mcp.json of your settings, for every folder.

    Put -- before a command that has options: sam-tui mcp add docs -- npx -y some-server --flag
    """
    from sam_tui.adapters.mcp_client.settings import with_server

    path, name = _own_file(values), values["name"]
    entry = _entry(values)
    _edit(path, lambda data: with_server(data, path, name, entry, replace=values["force"]))
    click.echo(terminal_safe(f"{name} is in {path}."))
    return 0


@click.command("remove", short_help="Remove a server from your own file.")
@click.argument("name")
@place_options
def remove_command(**values: Any) -> int:
    """Remove an MCP server from your file."""
    from sam_tui.adapters.mcp_client.settings import without_server

    path, name = _own_file(values), values["name"]
    _edit(path, lambda data: without_server(data, path, name))
    click.echo(terminal_safe(f"{name} is no longer in {path}."))
    return 0


@click.command("login", short_help="Log in at a server over HTTP.")
@click.argument("name")
@guarded_options
def login_command(**values: Any) -> int:
    """Open a server's login page in your browser, and store the login in the keyring or the data folder.

    The browser has to run on this machine, because it returns to an address of this machine.
    """
    require_output()
    report = _chosen(
        asyncio.run(_reports(values, start=True, browse=_browse, name=values["name"])), values
    )
    words = "logged in" if report.login else "it did not ask for a login"
    click.echo(terminal_safe(f"{report.name}: {report.error or words}"))
    return 0 if report.standing == "ready" and report.login else 1


@click.command("logout", short_help="Delete a login.")
@click.argument("name")
@guarded_options
def logout_command(**values: object) -> int:
    """Delete a stored login; you can also revoke it on the server's own pages."""
    _chosen(asyncio.run(_reports(values, start=False)), values)
    deleted = asyncio.run(_forgotten(values))
    click.echo(
        terminal_safe(f"{values['name']}: {'logged out' if deleted else 'there was no login'}")
    )
    return 0


@click.command("test", short_help="Start one server and show its state.")
@click.argument("name")
@guarded_options
def test_command(**values: Any) -> int:
    """Start a server, list its tools, and print the outcome of each step; exit 1 when it failed."""
    require_output()
    report = _chosen(asyncio.run(_reports(values, start=True, name=values["name"])), values)
    ready = report.standing == "ready"
    lines = [
        f"{_MARKS['ready' if ready else 'failed']} {report.name}: {report.error or 'it answers'}"
    ]
    if ready:
        lines += [f"  protocol  {report.version}", f"  tools     {len(report.tools)}"]
        lines += (
            [f"  login     {'yes' if report.login else 'none'}"] if report.kind == "http" else []
        )
    print_lines(lines)
    return 0 if ready else 1


_HOW = "Add one with: sam-tui mcp add NAME -- COMMAND, or NAME URL"


def described(report: "ServerReport") -> list[str]:
    """One server as lines of text."""
    lines = [
        f"{report.name}: {report.standing}",
        f"  {report.kind}   {report.target}",
        f"  from    {report.file} ({report.source})",
    ]
    lines += [f"  error   {report.error}"] if report.error else []
    lines += (
        [f"  login   stored; sam-tui mcp logout {report.name} deletes it"] if report.login else []
    )
    lines += [f"  says    {line}" for line in report.instructions.splitlines()]
    lines += [f"  tool    {name}" for name in report.marked_tools]
    lines += [f"  not offered   {why}" for why in report.left_out]
    if report.log and report.standing != "ready":
        lines += ["  it printed:", *(f"    {line}" for line in report.log.splitlines()[-20:])]
    return lines


def _listing(reports: "Sequence[ServerReport]") -> list[str]:
    lines: list[str] = []
    for report in reports:
        mark = _MARKS.get(report.standing, " ")
        whose = "its bundle" if report.source == "bundle" else "the folder"
        words = {"untrusted": f"not loaded: {whose} is not trusted", "waiting": ""}
        more = words.get(report.standing, report.standing)
        count = f"{len(report.tools)} tools" if report.standing == "ready" else more
        lines.append(
            f"{mark} {report.name:<16} {report.target}  ({report.source}) {count}".rstrip()
        )
        lines += [f"  {report.error}"] if report.error else []
    return lines


def _chosen(reports: "Sequence[ServerReport]", values: Values) -> "ServerReport":
    """The server that is named. Raises ``UsageError``."""
    chosen = next((report for report in reports if report.name == values["name"]), None)
    if chosen is None:
        names = ", ".join(report.name for report in reports) or "none"
        raise UsageError(f"No server is called {values['name']}.", hint=f"There are: {names}.")
    return chosen


def _browse(page: str) -> None:
    """Show a page of a login, and open it where there is a browser."""
    import webbrowser

    click.echo(terminal_safe(f"Log in at {page}"), err=True)
    with suppress(webbrowser.Error):
        webbrowser.open(page)


async def _forgotten(values: Values) -> bool:
    runtime = open_runtime(values)
    try:
        return runtime.servers.forget_login(values["name"])
    finally:
        await runtime.close()


async def _reports(
    values: Values,
    *,
    start: bool,
    name: str = "",
    browse: "Callable[[str], None] | None" = None,
) -> "Sequence[ServerReport]":
    runtime = open_runtime(values, browse=browse)
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

    folders = AppFolders.of(os.environ, data_dir_of(values))
    return os.path.join(folders.config_dir, USER_FILE)


def _entry(values: Values) -> dict[str, Any]:
    """The entry to write to the file. Raises ``UsageError`` for options that exclude each other."""
    first, *extra = values["target"]
    timeout = {"timeout": values["timeout"]} if values["timeout"] else {}
    if first.startswith(("http://", "https://")):
        if extra or values["env"]:
            raise UsageError("A URL takes --header, but no arguments and no --env.")
        headers = dict(_pair(text, ":") for text in values["header"])
        more = {"headers": headers} if headers else {}
        return {"type": "http", "url": first, **more, **timeout}
    if values["header"]:
        raise UsageError("--header needs a URL.")
    env = dict(_pair(text, "=") for text in values["env"])
    return {"command": first, "args": extra, **({"env": env} if env else {}), **timeout}


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, separator, value = text.partition(sign)
    if not separator or not name.strip():
        raise UsageError(f"{text!r} is not NAME{sign}VALUE.")
    return name.strip(), value.strip()


def _edit(path: str, change: Callable[[bytes], str]) -> None:
    from sam_tui.core.local_files.private_files import exclusive, replace_file

    with exclusive(path):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            data = b""
        replace_file(path, change(data))


SERVER_COMMANDS = (
    list_command,
    get_command,
    add_command,
    remove_command,
    login_command,
    logout_command,
    test_command,
)
