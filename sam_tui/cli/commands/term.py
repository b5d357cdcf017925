"""``sam-tui term``: agents' terminal sessions that outlive the workbench, and recordings."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.numbers import FiniteRange
from sam_tui.cli.options import existing_folder, folder_option
from sam_tui.cli.settings import data_dir_of, option
from sam_tui.cli.streams import print_list, require_output
from sam_tui.core.errors import UsageError
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.holders.client import Holders, KeptSession

_DATA = option(
    "--data-dir", metavar="PATH", envvar="SAM_TUI_DATA_DIR", help="Where sam-tui keeps its data."
)


@click.group("term", short_help="Terminal sessions that go on, and recordings.")
def term_group() -> None:
    """Agents' terminal sessions that outlive the workbench, and recordings of terminals."""


@term_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@_DATA
def list_command(**values: Any) -> int:
    """List the agent terminals that still run, oldest first."""
    require_output()
    terminals = asyncio.run(_holders(values).sessions())
    rows = list(map(_fields, terminals))
    lines = map(_line, terminals)
    return print_list(rows, lines, as_json=values["as_json"], none="No agent terminal is running.")


def _line(terminal: "KeptSession") -> str:
    state = "attached" if terminal.attached else f"idle {_span(terminal.idle)}"
    origin = terminal.origin
    return f"{origin.id}  {state:<12}  {origin.conversation}  {origin.cwd}"


@term_group.command("attach")
@click.argument("session", required=False)
@_DATA
def attach_command(**values: Any) -> int:
    """Be at a session here. Ctrl+] twice leaves it running. The id can be left out where there is one."""
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("term attach needs a terminal on standard input and output.")

    async def attaching() -> int | None:
        from sam_tui.adapters.terminal.sessions.attachment import attach

        holders = _holders(values)
        return await attach(holders, await _one(holders, values["session"]))

    code = asyncio.run(attaching())
    click.echo(
        "\r\n[the session goes on]" if code is None else f"\r\n[ended: exit {code}]", err=True
    )
    return 0


@term_group.command("kill")
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session that is kept.")
@_DATA
def kill_command(**values: Any) -> int:
    """End a session with all that runs in it: HUP, TERM, KILL."""
    if values["everything"] and values["session"]:
        raise UsageError("One session or --all, not both.")

    async def killing() -> "list[KeptSession]":
        holders = _holders(values)
        if values["everything"]:
            terminals = list(await holders.sessions())
        else:
            terminals = [await _one(holders, values["session"])]
        async with asyncio.TaskGroup() as group:
            for terminal in terminals:
                group.create_task(holders.end(terminal))
        return terminals

    for terminal in asyncio.run(killing()):
        click.echo(f"ended {terminal.origin.id}", err=True)
    return 0


@term_group.command("play")
@click.argument("recording", type=click.Path(dir_okay=False))
@click.option("--speed", type=FiniteRange(min=0.01), default=1.0, help="Times as fast (1).")
@click.option(
    "--idle-limit",
    type=FiniteRange(min=0.0),
    default=2.0,
    help="No pause is longer than so many seconds (2).",
)
def play_command(**values: Any) -> int:
    """Play an asciicast recording (v2 or v3) here. Space pauses and goes on, q ends it."""
    from sam_tui.adapters.terminal.recordings.asciicast import Recording
    from sam_tui.adapters.terminal.sessions.attachment import show

    recording = Recording(values["recording"])
    asyncio.run(show(recording, speed=values["speed"], longest_pause=values["idle_limit"]))
    return 0


@term_group.command("export")
@click.argument("recording", type=click.Path(dir_okay=False))
@click.argument("copy", type=click.Path(dir_okay=False))
@folder_option
def export_command(**values: Any) -> int:
    """Write a copy of a recording without secrets, to give away.

    Known secrets are those of the environment and of the folder's .env; others are known by their form.
    """
    from sam_tui.adapters.terminal.recordings.library import CastRecordings
    from sam_tui.core.redaction.settings_files import SettingsFiles, secrets_of_environment
    from sam_tui.core.redaction.shield import Shield

    folder = existing_folder(values["workspace"])
    shield = Shield(secrets_of_environment(os.environ), source=SettingsFiles(folder).changed)
    shield.refresh()
    recordings = CastRecordings("", lambda: shield)
    masked = asyncio.run(recordings.export(values["recording"], values["copy"]))
    click.echo(f"{values['copy']}: {masked} masked", err=True)
    return 0


def _holders(values: dict[str, Any]) -> "Holders":
    from sam_tui.adapters.terminal.holders.client import Holders

    folder = data_dir_of(values)
    return Holders(os.path.join(folder, "terminals"))


async def _one(holders: "Holders", prefix: str | None) -> "KeptSession":
    """The session meant: by its id or the start of one, or the only one."""
    terminals = [
        k for k in await holders.sessions() if prefix is None or k.origin.id.startswith(prefix)
    ]
    if len(terminals) == 1:
        return terminals[0]
    if not terminals:
        named = f" {terminal_safe(prefix)!r}" if prefix else ""
        raise UsageError(f"No terminal session{named} is kept.", hint="sam-tui term list")
    raise UsageError("More than one session is meant.", hint="Give an id of: sam-tui term list")


def _fields(terminal: "KeptSession") -> dict[str, Any]:
    return {
        "id": terminal.origin.id,
        "conversation": terminal.origin.conversation,
        "cwd": terminal.origin.cwd,
        "pid": terminal.pid,
        "confined": terminal.origin.confined,
        "attached": terminal.attached,
        "idle_seconds": round(terminal.idle, 1),
        "began": terminal.origin.began,
    }


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
