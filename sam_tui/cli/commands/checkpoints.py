"""``sam-tui checkpoints``: the files of the workspace before each change, and going back to them."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

import click

from sam_tui.cli.options import closing_runtime, place_options
from sam_tui.cli.streams import print_json, print_list, require_output
from sam_tui.core.errors import UsageError
from sam_tui.core.ports.checkpoints import ChangedFile, Checkpoint, RewindPlan
from sam_tui.core.runtime import Runtime
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.checkpoints import files_untouched
from sam_tui.headless.output import terminal_safe

T = TypeVar("T")


def _number(_context: click.Context, _argument: click.Parameter, text: str) -> int:
    """The number of a checkpoint."""
    if text.isdecimal() and len(text) < 16 and int(text) > 0:
        return int(text)
    raise click.BadParameter(
        f"{text!a} is not a checkpoint. “sam-tui checkpoints list” shows their numbers."
    )


_ID = click.argument("checkpoint", metavar="ID", callback=_number)


@click.group("checkpoints", short_help="The files before each change, and restoring them.")
def checkpoints_group() -> None:
    """The files of this workspace as they were before each call that changed some."""


@checkpoints_group.command("list", short_help="List checkpoints, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@place_options
def list_command(**values: object) -> int:
    """List the checkpoints of this workspace, newest first."""
    require_output()
    checkpoints = _ask(values, lambda runtime: runtime.checkpoints.checkpoints())
    newest_first = list(reversed(checkpoints))
    none = "No call has changed a file of this workspace yet."
    lines = map(_checkpoint_line, newest_first)
    return print_list(newest_first, lines, as_json=bool(values["as_json"]), none=none)


def _checkpoint_line(checkpoint: Checkpoint) -> str:
    at = datetime.fromtimestamp(checkpoint.at).strftime("%Y-%m-%d %H:%M:%S")
    made_by = checkpoint.made_by
    return f"{checkpoint.id:>5}  {at}  {made_by.operation}  {made_by.summary}"


@checkpoints_group.command("show", short_help="Show what restoring a checkpoint would do.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--diff", is_flag=True, help="Show the lines that change.")
@_ID
@place_options
def show_command(**values: Any) -> int:
    """Show what restoring the checkpoint ID would change in each file of the workspace."""
    require_output()
    plan, differences = _ask(values, lambda runtime: _shown(runtime, values["checkpoint"]))
    if values["as_json"]:
        changes = [
            asdict(c) | {"difference": d} for c, d in zip(plan.changes, differences, strict=True)
        ]
        return print_json(asdict(plan) | {"changes": changes})
    for change, difference in zip(plan.changes, differences, strict=True):
        _echo(_line(change))
        if values["diff"] and difference:
            for line in difference.splitlines():
                _echo(f"    {line}")
    _account(plan)
    if not plan.changes:
        click.echo("Restoring it would change no file.", err=True)
    return 0


async def _shown(runtime: Runtime, checkpoint: int) -> tuple[RewindPlan, list[str]]:
    """A plan, and the lines of its files without secrets."""
    plan = await runtime.rewinder.plan_of(checkpoint)
    return plan, [runtime.executor.shield.redact(change.difference) for change in plan.changes]


@checkpoints_group.command("restore", short_help="Restore files: all, or the named PATHs.")
@click.option(
    "--all", "everything", is_flag=True, help="Also restore files that something else changed."
)
@_ID
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@place_options
def restore_command(**values: Any) -> int:
    """Restore the files of the checkpoint ID: all, or those named below the workspace.

    A file that something else changed since is not restored unless you name it or pass --all. The
    command makes a new checkpoint first, and prints how to return to it.
    """
    require_output()
    plan, restored, forward = _ask(
        values,
        lambda runtime: _restore(
            runtime, values["checkpoint"], values["paths"], everything=values["everything"]
        ),
    )
    for change in plan.changes:
        if change.path in restored:
            _echo(f"{change.fate:<9} {printable(change.path)}")
        else:
            _echo(f"left      {printable(change.path)}{_WHY if change.foreign else ''}")
    _account(plan)
    click.echo(
        f"To undo this: sam-tui checkpoints restore {forward}" if forward else "Nothing to do."
    )
    return 0


async def _restore(
    runtime: Runtime, checkpoint: int, paths: tuple[str, ...], *, everything: bool
) -> tuple[RewindPlan, frozenset[str], int]:
    plan = await runtime.rewinder.plan_of(checkpoint)
    paths_of_plan = frozenset(change.path for change in plan.changes)
    named = [_below(runtime.workspace.root, path) for path in paths]
    if unknown := [path for path in named if path not in paths_of_plan]:
        raise UsageError(
            f"Checkpoint {checkpoint} changes nothing at {unknown[0]!a}: it is as it was then, no call "
            "changed it, or it is outside the workspace.",
            hint=f"“sam-tui checkpoints show {checkpoint}” names what can be restored.",
        )
    chosen = frozenset(named) or (paths_of_plan if everything else frozenset(plan.safe))
    forward = await runtime.checkpoints.restore(plan, chosen) if chosen else 0
    return plan, chosen, forward


def _below(root: str, path: str) -> str:
    """A path as plans have it: relative to the workspace ``root``."""
    return os.path.relpath(os.path.join(root, path), root)


@checkpoints_group.command("prune", short_help="Drop old checkpoints, or all.")
@click.option("--all", "everything", is_flag=True, help="Drop all checkpoints of this workspace.")
@place_options
def prune_command(**values: Any) -> int:
    """Drop checkpoints of this workspace that exceed the limits of age or size; this also happens
    automatically.

    Checkpoints of deleted folders are dropped, too, and automatically once they are too old.
    """
    require_output()
    everything = values["everything"]
    dropped = _ask(values, lambda runtime: runtime.checkpoints.prune(everything=everything))
    click.echo(f"Dropped: {dropped.checkpoints}")
    for folder in dropped.folders:
        _echo(f"Dropped those of {printable(folder)}, because the folder is gone")
    return 0


def _ask(values: dict[str, object], ask: Callable[[Runtime], Coroutine[object, object, T]]) -> T:
    with closing_runtime(values) as runtime:
        return asyncio.run(ask(runtime))


_WHY = "  (something else changed it, too)"


def _line(change: ChangedFile) -> str:
    modes = f" (mode {change.modes})" if change.modes else ""
    return f"{change.fate:<9} {printable(change.path)}{modes}{_WHY if change.foreign else ''}"


def _account(plan: RewindPlan) -> None:
    """Print to standard error what restoring does not do."""
    for words in plan.beyond:
        click.echo(terminal_safe(f"cannot be taken back: {words}"), err=True)
    for words in plan.omitted:
        click.echo(terminal_safe(f"not stored: {words}"), err=True)
    if plan.untouched:
        click.echo(files_untouched(plan), err=True)


def _echo(line: str) -> None:
    click.echo(terminal_safe(line))
