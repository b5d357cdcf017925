"""``sam-tui fleet``: many headless tasks, by workers here and on other machines."""

import asyncio
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.commands.fleets.drive import drive_fleet, passed_options
from sam_tui.cli.numbers import FiniteRange
from sam_tui.cli.options import (
    MODES,
    Values,
    fleet_options,
    place_options,
    settings,
)
from sam_tui.cli.streams import print_json, print_lines, require_output
from sam_tui.core.ids import mint_conversation
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.outcome import EXIT_CODES

if TYPE_CHECKING:
    from sam_tui.adapters.fleet.records import FleetFolder, FleetQuestion, Fleets
    from sam_tui.core.ports.fleets import FleetStatus

DONE, FAILED = 0, 1
_JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group("fleet", short_help="Many headless tasks, by workers here and elsewhere.")
def fleet_group() -> None:
    """Fleets: many headless tasks, each in a copy of the workspace; their patches are applied here."""


@fleet_group.command("run", short_help="Run the tasks of a JSON Lines file.")
@click.argument("file", metavar="TASKS.jsonl")
@click.option(
    "--workers",
    type=click.IntRange(0, 64),
    default=2,
    show_default=True,
    help="Worker processes to start here; 0 leaves the work to workers elsewhere.",
)
@click.option(
    "--at-once", type=click.IntRange(1), help="Tasks to hand out at a time (default: workers)."
)
@click.option(
    "--per-minute", type=FiniteRange(0), default=0, help="The most tasks to begin per minute."
)
@click.option(
    "--limit",
    multiple=True,
    metavar="MODEL=N/PER_MINUTE",
    help="The most tasks at once and per minute for one model; repeatable.",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 20),
    default=1,
    show_default=True,
    help="Further attempts at a failed task.",
)
@click.option(
    "--max-cost",
    type=FiniteRange(0, min_open=True),
    metavar="USD",
    help="Begin no task once the fleet has cost this much.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    help="Begin no task once the fleet has used this many tokens.",
)
@click.option(
    "--task-seconds",
    type=FiniteRange(1, 86_400),
    default=3600,
    show_default=True,
    help="The time limit of a task.",
)
@click.option(
    "--answer-seconds",
    type=FiniteRange(0, 86_400),
    default=900,
    show_default=True,
    help="How long a question waits in the inbox before it counts as denied; 0 asks nobody.",
)
@click.option(
    "--keep-patches", is_flag=True, help="Leave patches in the fleet's folder; apply none."
)
@click.option("--empty", is_flag=True, help="Begin every task in an empty folder.")
@_JSON
@fleet_options
def run_command(**values: Any) -> int:
    """Run every task of the file: one JSON object per line, with “prompt” and other keys.

    Each runs headless in its own copy of the last commit of this folder's repository. Its patch is
    applied here, through the guard. Ctrl+C stops the fleet; “sam-tui fleet retry” continues it.
    """
    from sam_tui.adapters.fleet.records import Fleets, FleetSettings
    from sam_tui.adapters.fleet.tasks import FleetLimits, rates_of, read_tasks
    from sam_tui.adapters.fleet.workspaces import head_bundle

    require_output()
    tasks = read_tasks(values["file"])
    options = settings({**values, "max_cost": None, "max_tokens": None})
    workspace = os.path.realpath(options.workspace)
    bundle, commit = ("", "") if values["empty"] else head_bundle(workspace)
    limits = FleetLimits(
        at_once=values["at_once"] or max(1, values["workers"]),
        per_minute=values["per_minute"],
        models=dict(rates_of(values["limit"])),
        retries=values["retries"],
        max_cost=values["max_cost"],
        max_tokens=values["max_tokens"],
        seconds=values["task_seconds"],
        answer_seconds=values["answer_seconds"],
        apply=not values["keep_patches"],
    )
    mode = ("--permission-mode", MODES[values["mode"]]) if values["mode"] else ()
    models = {task.model for task in tasks if task.model}
    fleet = Fleets(options.data_dir).create(
        FleetSettings(
            id=mint_conversation(),
            workspace=workspace,
            commit=commit,
            limits=limits,
            options=(
                *passed_options(values),
                *mode,
                *(word for model in sorted(models) for word in ("--allow-model", model)),
            ),
            workers=values["workers"],
        ),
        tasks,
    )
    return _driven(fleet, values, bundle)


@fleet_group.command("retry", short_help="Continue a fleet, and retry its failed tasks.")
@click.argument("id", required=False, default="")
@_JSON
@fleet_options
def retry_command(**values: Any) -> int:
    """Continue a fleet (the newest, or ID), and retry tasks that failed or whose patch did not apply."""
    from sam_tui.adapters.fleet.workspaces import head_bundle

    require_output()
    fleet = _fleets(values).open(values["id"])
    values["workspace"] = fleet.settings.workspace
    bundle = ""
    if fleet.settings.commit:
        bundle, commit = head_bundle(fleet.settings.workspace)
        fleet.settings.commit = commit
    fleet.reopen()
    return _driven(fleet, values, bundle)


@fleet_group.command("status")
@click.argument("id", required=False, default="")
@_JSON
@place_options
def status_command(**values: Any) -> int:
    """Show the state of fleets; with ID every task of one."""
    require_output()
    fleets = _fleets(values)
    if values["id"]:
        fleet = fleets.open(values["id"])
        return _show(values, report_object(fleet), report_lines(fleet))
    statuses = fleets.statuses(50)
    lines = [status_line(status) for status in statuses] or ["There is no fleet."]
    return _show(values, statuses, lines)


@fleet_group.command("cancel")
@click.argument("id", required=False, default="")
@place_options
def cancel_command(**values: Any) -> int:
    """End a fleet: the newest, or ID.

    No further task begins, and running ones are ended.
    """
    fleets = _fleets(values)
    id = fleets.open(values["id"]).settings.id
    fleets.cancel(id)
    click.echo(f"The fleet {id} is cancelled.")
    return DONE


@fleet_group.command("inbox")
@click.argument("id", required=False, default="")
@_JSON
@place_options
def inbox_command(**values: Any) -> int:
    """Show the questions of a fleet's tasks that wait for an answer."""
    require_output()
    questions = _fleets(values).open(values["id"]).inbox()
    lines = [line for question in questions for line in question_lines(question)]
    rows = [question.model_dump() for question in questions]
    return _show(values, rows, lines or ["No question is waiting."])


@fleet_group.command("answer")
@click.argument("question")
@click.argument("reply")
@click.option(
    "--fleet",
    "id",
    default="",
    metavar="ID",
    help="The fleet of the question (default: the newest).",
)
@place_options
def answer_command(**values: Any) -> int:
    """Answer one question of the inbox: approve, deny, or a text."""
    _fleets(values).answer(values["id"], values["question"], values["reply"])
    return DONE


def _driven(fleet: "FleetFolder", values: Values, bundle: str) -> int:
    """Drive a fleet to its end, then report. The exit code."""
    interrupts = Interrupts()
    interrupts.install()
    try:
        with fleet.driving():
            asyncio.run(drive_fleet(fleet, values, bundle, interrupts))
    except asyncio.CancelledError:
        click.echo(f"Ended. To continue: sam-tui fleet retry {fleet.settings.id}", err=True)
        return EXIT_CODES[interrupts.subtype or "cancelled"]
    finally:
        interrupts.restore()
    _show(values, report_object(fleet), report_lines(fleet))
    return DONE if set(fleet.status().counts) <= {"done"} else FAILED


def _fleets(values: Values) -> "Fleets":
    from sam_tui.adapters.fleet.records import Fleets

    return Fleets(settings({**values, "workspace": os.sep}).data_dir)


def status_line(status: "FleetStatus") -> str:
    """One fleet in a line."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(status.counts.items()))
    how = "running" if status.driven else "at rest"
    asks = f"; {status.questions} questions" if status.questions else ""
    left = f"; about {status.remaining:.0f} s left" if status.remaining and status.driven else ""
    return f"{status.id}  {how}  {counts}{left}{asks}  {status.money}  {status.workspace}"


def report_object(fleet: "FleetFolder") -> dict[str, object]:
    """A fleet for programs: answers, patches, cost and failures."""
    tasks = [
        {
            **r.model_dump(),
            "patch": str(fleet.path / "patches" / f"{r.id}.patch") if r.patch else None,
        }
        for r in fleet.records.values()
    ]
    return {**asdict(fleet.status()), "folder": str(fleet.path), "tasks": tasks}


def report_lines(fleet: "FleetFolder") -> list[str]:
    """Yield lines about a fleet: its totals, then each task with the first line of its answer."""
    lines = [status_line(fleet.status())]
    for record in fleet.records.values():
        words = (record.error or record.answer).strip().splitlines()
        cost = f" ${record.cost:.4f}" if record.cost else ""
        lines.append(
            f"  {record.id}  {record.state}{cost}  {words[0][:300] if words else ''}".rstrip()
        )
    return lines


def question_lines(question: "FleetQuestion") -> list[str]:
    """One question of the inbox."""
    ask = question.ask
    lines = [f"{ask.id}  {question.task}: {ask.title}"]
    lines += [f"  {text}" for text in (ask.summary, *ask.targets, ask.why) if text]
    lines += [f"  | {line}" for line in ask.change.splitlines()]
    lines += [f"  one of: {', '.join(ask.choices)}"] if ask.choices else []
    return lines


def _show(values: Values, value: object, lines: list[str]) -> int:
    return print_json(value) if values["as_json"] else print_lines(lines)
