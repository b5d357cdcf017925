"""``sam-tui audit``: the log of the guard's decisions, and whether it is whole."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import place_options, settings, workspace_of
from sam_tui.cli.streams import contract_output, require_output
from sam_tui.headless.output import HeadlessOutput, terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.storage.decisions import SqliteDecisions
    from sam_tui.core.ports.policy import DecisionEntry

_NO_ENTRY = "0" * 64


@click.group("audit", short_help="The log of the guard's decisions.")
def audit_group() -> None:
    """The log of the guard's decisions; the seal of each entry covers the one before it."""


@audit_group.command("list")
@click.option(
    "--conversation", metavar="ID", default="", help="Only decisions of this conversation."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, help="List only the last N decisions (50)."
)
@click.option("--denied", is_flag=True, help="Only what was not allowed.")
@click.option("--here", is_flag=True, help="Only decisions of conversations in the workspace.")
@click.option(
    "--find", metavar="WORDS", default="", help="Only decisions that contain all these words."
)
@place_options
def list_command(**values: Any) -> int:
    """List the last decisions, oldest first."""
    from sam_tui.core.authorization.paths.containment import Workspace
    from sam_tui.core.ports.policy import DecisionFilter

    require_output()
    folder = Workspace.open(workspace_of(values)).root if values["here"] else ""
    filter_ = DecisionFilter(folder, values["conversation"], values["denied"], values["find"])
    with _opened(values) as decisions:
        entries = decisions.page(filter_, limit=values["limit"])
    for entry in reversed(entries):
        click.echo(terminal_safe(_row(entry)))
    if not entries:
        empty = filter_ == DecisionFilter()
        click.echo("No decisions yet." if empty else "No decision matches.", err=True)
    return 0


@audit_group.command("verify")
@click.option("--seal", metavar="HEX", help="A seal noted earlier, which must still be in the log.")
@place_options
def verify_command(**values: Any) -> int:
    """Check that no entry was changed or removed; exit 1 when one was.

    Prints the count and the last seal. A log that was cut off at the end still
    verifies: note the seal elsewhere, and pass it with --seal to detect that, too.
    """
    require_output()
    with _opened(values) as decisions:
        broken = decisions.first_broken()
        if broken is not None:
            click.echo(
                f"The log is broken at entry {broken}: that entry was changed, or others are "
                "missing."
            )
            return 1
        sought = (values["seal"] or "").lower()
        present, count, seal = not sought, 0, _NO_ENTRY
        for entry in decisions.all():
            count, seal = count + 1, entry.seal
            present = present or entry.seal == sought
    if not present:
        click.echo(f"The seal {sought} is no longer in the log: entries after it were cut off.")
        return 1
    click.echo(f"{count} entries, intact. Last seal {seal}")
    return 0


@audit_group.command("export")
@click.option(
    "--conversation", metavar="ID", default="", help="Only decisions of this conversation."
)
@place_options
def export_command(**values: Any) -> int:
    """Write every decision as one JSON object per line, with its seal."""
    with contract_output() as stream, _opened(values) as decisions:
        out = HeadlessOutput(stream)
        for entry in decisions.all(values["conversation"]):
            out.line(_object(entry))
            if out.failure is not None:
                break
    return 0


@contextmanager
def _opened(values: dict[str, object]) -> "Generator[SqliteDecisions, None, None]":
    from sam_tui.adapters.storage import open_storage

    storage = open_storage(settings(values).data_dir)
    try:
        yield storage.decisions
    finally:
        storage.close()


def _row(entry: "DecisionEntry") -> str:
    decision = entry.decision
    when = datetime.fromtimestamp(entry.made_at).strftime("%Y-%m-%d %H:%M:%S")
    touched = ", ".join(decision.targets) or decision.scope
    remark = f"  “{decision.comment}”" if decision.comment else ""
    asker = f"  from {decision.asker}" if decision.asker else ""
    waited = f"  after {decision.elapsed:.1f} s" if decision.elapsed else ""
    line = (
        f"{entry.number:>6}  {when}  {decision.outcome:<9} {decision.by:<4}  {decision.operation}"
        f"  {touched}  [{decision.rule}]{waited}{asker}{remark}"
    )
    return " ".join(line.split("\n"))


def _object(entry: "DecisionEntry") -> dict[str, object]:
    moment = datetime.fromtimestamp(entry.made_at, UTC)
    return {
        "number": entry.number,
        "made_at": moment.isoformat(timespec="milliseconds"),
        "conversation": entry.conversation,
        "call": entry.call,
        **json.loads(json.dumps(asdict(entry.decision))),
        "chain": entry.seal,
    }
