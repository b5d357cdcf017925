"""``sam-tui worker``: takes sub-tasks from the queues until it is ended."""

import os
import signal
import socket
import sys
import threading
from typing import Any

import click

from sam_tui.cli.commands.fleets.driving import open_database, passed_options
from sam_tui.cli.options import MODES, fleet_options
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import mint


@click.command(
    "worker", short_help="Take sub-tasks of fleets and plans, here or on another machine."
)
@click.option(
    "--roles",
    default="FleetAgent",
    metavar="ROLES",
    help="Whose sub-tasks it takes, separated by commas.",
)
@click.option("--allow-model", multiple=True, metavar="NAME", help="A model that tasks may choose.")
@click.option(
    "--clone-from",
    multiple=True,
    metavar="URL",
    help="Where tasks may have repositories cloned from.",
)
@click.option("--name", hidden=True)
@click.option("--while-stdin", is_flag=True, hidden=True)
@fleet_options
def worker_command(**values: Any) -> int:
    """Take sub-tasks one at a time until a signal comes.

    The queues are in the data folder, or where SAM_TUI_DATABASE_URL says. Messages carry the seal of
    the fleet key: SAM_TUI_FLEET_KEY, else the file fleet-key in the data folder. What a task may do is
    what this worker was started with, whatever the task asks for.
    """
    from sam_tui.adapters.fleet.headless import HeadlessRuns, WorkerAllowance
    from sam_tui.adapters.fleet.messages import FLEET_ROLE
    from sam_tui.adapters.fleet.queues import Takes

    roles = [role.strip() for role in values["roles"].split(",") if role.strip()]
    if roles != [FLEET_ROLE]:
        raise UsageError(f"This worker knows the role {FLEET_ROLE} alone.")
    name = values["name"] or f"{socket.gethostname()[:60]}-{mint('worker')}"
    mode = MODES[values["mode"]] if values["mode"] else "ask"
    allowance = WorkerAllowance(
        name,
        passed_options(values),
        mode,
        tuple(values["allow_model"]),
        tuple(values["clone_from"]),
    )
    runs = HeadlessRuns(allowance)
    if values["api_key"]:
        os.environ["SAM_TUI_API_KEY"] = values[
            "api_key"
        ]  # for its tasks; not on their command line
    database = open_database(values)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: ended.set())
    if values["while_stdin"]:
        threading.Thread(target=_until_end_of_input, args=(ended,), daemon=True).start()
    Takes(database, roles, name, runs.perform)
    click.echo(f"sam-tui worker {name} takes sub-tasks of {', '.join(roles)}", err=True)
    ended.wait()
    runs.stop()
    sys.stdout.flush()
    os._exit(0)  # threads of the queue would wait for what was just given back


def _until_end_of_input(ended: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    ended.set()
