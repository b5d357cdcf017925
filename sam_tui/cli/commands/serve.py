"""``sam-tui serve``: the plan API of seed 002 on loopback, or with ``--web`` the workbench for browsers."""

import asyncio
import os
import re
import sys
from typing import cast

import click
from click.core import ParameterSource

from sam_tui import __version__
from sam_tui.cli.options import (
    Values,
    open_runtime,
    server_options,
    settings,
)
from sam_tui.cli.roles import hand_out_option
from sam_tui.cli.settings import data_dir_of, overlay_argument
from sam_tui.core.authorization.paths.secrets import PLAN_TOKEN, WEB_TOKEN
from sam_tui.core.errors import UsageError

_OWN = ("port", "hand_out", "web", "public_url", "most_workbenches")
"""Options of the command that are not passed on to workbenches."""
_ADDRESS = re.compile(r"https?://(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::[0-9]{1,5})?")


@click.command("serve", short_help="Serve plans to programs, or the workbench to browsers.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8933,
    show_default=True,
    help="The port at 127.0.0.1; 0 takes a free one.",
)
@hand_out_option
@click.option("--web", is_flag=True, help="Serve the workbench to browsers of this machine.")
@click.option(
    "--public-url",
    metavar="URL",
    default="",
    help="With --web: https://HOST of a tunnel to this server.",
)
@click.option(
    "--most-workbenches",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="With --web: the most workbenches at once.",
)
@server_options
def serve_command(**values: object) -> int:
    """Serve POST /api/generate-plan and its companions on 127.0.0.1 until a signal arrives.

    A client sends the token from the file plan-token of the data folder as “Authorization: Bearer …”.
    Approvals that a task needs wait at /api/inquiries for an answer.

    With --web it prints an address to open in a browser: each page has its own workbench.
    """
    asyncio.run(_serve_pages(values) if values["web"] else _serve(values))
    return 0


async def _serve_pages(values: Values) -> None:
    from sam_tui.tokens import bearer_token
    from sam_tui.web_server.server import BrowserFace, serve_workbenches

    public: str = values["public_url"].rstrip("/")
    if public and not _ADDRESS.fullmatch(public):
        raise UsageError(f"--public-url {public} is not an address such as https://host.")
    token = bearer_token(data_dir_of(values), WEB_TOKEN)

    announced = False

    def announce(port: int, invitation: str) -> None:
        nonlocal announced
        address = f"http://127.0.0.1:{port}"
        if not announced:
            click.echo(f"sam-tui serves the workbench at {address}", err=True)
        if sys.stderr.isatty():
            purpose = "For another browser" if announced else "Open (works once)"
            click.echo(f"{purpose}: {public or address}/#{invitation}", err=True)
        elif not announced:  # perhaps into a log, where no invitation belongs
            click.echo(f"To get a path, POST /invitation with the token in {token.path}.", err=True)
        announced = True

    environment = dict(os.environ)
    if values["api_key"]:
        environment["SAM_TUI_API_KEY"] = values["api_key"]
    arguments = _workbench_arguments(values)
    most: int = values["most_workbenches"]
    face = BrowserFace(values["port"], token.text, arguments, environment, announce, public, most)
    await serve_workbenches(face)


def _workbench_arguments(values: Values) -> tuple[str, ...]:
    """Return this command's options as arguments of workbenches; the key goes another way."""
    context = click.get_current_context()
    words: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if name in (*_OWN, "api_key") or source is not ParameterSource.COMMANDLINE:
            continue
        value = values[name] if option.expose_value else overlay_argument()
        if getattr(option, "is_flag", False):
            # A flag that sets an option of another name to one of its values is said by that option.
            words += [option.opts[-1]] if value is True else []
        else:
            several = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
            words += [f"{option.opts[-1]}={item}" for item in several]
    return tuple(words)


async def _serve(values: Values) -> None:
    from sam_tui.plan_server.server import PlanFace, attends, serve_plans
    from sam_tui.tokens import bearer_token

    runtime = open_runtime(values, attended=attends, program="sam-tui serve")
    try:
        token = bearer_token(settings(values).data_dir, PLAN_TOKEN)
        runtime.executor.shield.learn({"PLAN_TOKEN": token.text})

        def announce(port: int) -> None:
            click.echo(f"sam-tui serves plans at http://127.0.0.1:{port}", err=True)
            click.echo(f"The token for Authorization: Bearer is in {token.path}", err=True)

        await runtime.servers.arrive()
        runtime.require_hand_out()
        face = PlanFace(values["port"], token.text, __version__, announce)
        await serve_plans(runtime, face)
    finally:
        await runtime.close()
