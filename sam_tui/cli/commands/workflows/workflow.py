"""``sam-tui workflow``: definitions, executions and their verbs, without a screen.

Only ``run`` needs a model. Every other command works on the stored executions, by token or by id.
"""

import asyncio
from typing import Any, cast

import click

from sam_tui.cli.commands.workflows.console import (
    WorkflowConsole,
    open_console,
    workflow_options,
)
from sam_tui.cli.commands.workflows.execution import (
    DONE,
    FAILED,
    AttendedRuntime,
    drive,
    exit_code,
    open_attended,
)
from sam_tui.cli.commands.workflows.lines import (
    advanced_lines,
    advanced_object,
    definition_lines,
    definition_object,
    event_line,
    execution_lines,
    execution_object,
)
from sam_tui.cli.options import (
    Values,
    agent_options,
    limit_options,
)
from sam_tui.cli.streams import input_descriptor
from sam_tui.core.errors import UsageError
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.text.nesting import json_object
from sam_tui.core.workflow.views import VERBS, Advanced, Verb, WorkflowRefused
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.output import terminal_safe
from sam_tui.headless.prompt_input import read_prompt


@click.group("workflow", short_help="Workflows: phases, tokens and people.")
def workflow_group() -> None:
    """Workflows: list and check them, start one, advance it by tokens, or let the agent run it."""


@workflow_group.command("list")
@workflow_options
def list_command(**values: object) -> int:
    """List the workflows that can be started."""
    with open_console(values) as at:
        views = at.workflows.catalog.views()
        at.show(
            [definition_object(view) for view in views],
            [f"{view.name}  ({view.origin})  {view.definition.description}" for view in views],
        )
        for problem in at.workflows.catalog.lint():
            click.echo(terminal_safe(str(problem)), err=True)
    return DONE


@workflow_group.command("show")
@click.argument("name")
@workflow_options
def show_command(**values: Any) -> int:
    """Show a workflow: its parameters and steps."""
    with open_console(values) as at:
        view = at.workflows.catalog.view(values["name"])
        at.show(definition_object(view), definition_lines(view))
    return DONE


@workflow_group.command("lint", short_help="Check every definition, or the file PATH.")
@click.argument("path", required=False)
@workflow_options
def lint_command(**values: Any) -> int:
    """Check every definition, or the file PATH; exit 1 when one has errors."""
    with open_console(values, trusting=True) as at:
        problems = at.workflows.catalog.lint(values["path"] or "")
        rows = [
            {"path": p.path, "line": p.line, "level": p.level, "message": p.message}
            for p in problems
        ]
        at.show(rows, [str(problem) for problem in problems] or ["No problems."])
        return FAILED if any(problem.level == "error" for problem in problems) else DONE


@workflow_group.command("sync", short_help="Say which definition files changed since last time.")
@workflow_options
def sync_command(**values: object) -> int:
    """Say which definition files were added, updated, unchanged or are missing since last time."""
    with open_console(values) as at:
        report = at.workflows.upkeep.sync()
        at.show(
            report, [f"{change}: {', '.join(names) or '-'}" for change, names in report.items()]
        )
    return DONE


@workflow_group.command("prune", short_help="Delete what ended long ago.")
@click.option(
    "--days",
    type=click.IntRange(min=0),
    default=30,
    show_default=True,
    help="Keep what ended within so many days.",
)
@workflow_options
def prune_command(**values: Any) -> int:
    """Delete executions, with their steps and artifacts, that ended long ago; accepted findings stay."""
    with open_console(values) as at:
        deleted = at.workflows.upkeep.prune(values["days"] * 86_400.0)
        at.show({"deleted": deleted}, [f"Deleted {deleted} execution{'s' * (deleted != 1)}."])
    return DONE


@workflow_group.command("new", short_help="Write a workflow to start from into .sam/workflows.")
@click.argument("name")
@workflow_options
def new_command(**values: Any) -> int:
    """Write a sample workflow into this project's .sam/workflows."""
    with open_console(values) as at:
        path = at.workflows.catalog.create(values["name"])
        at.show({"path": path}, [path])
    return DONE


@workflow_group.command("start")
@click.argument("name")
@click.option("-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="Repeatable.")
@click.option("--params", metavar="JSON", help="All parameters as one object.")
@click.option("--id", "execution", default="", metavar="ID", help="Name the execution.")
@workflow_options
def start_command(**values: Any) -> int:
    """Start an execution and print its first steps with their tokens."""
    with open_console(values) as at:
        params, it = _params(values), values["execution"]
        return _print_advanced(at, at.workflows.start(values["name"], params, execution_id=it))


@workflow_group.command("next", short_help="Hand in a step's output with its token.")
@click.argument("token")
@click.argument("output", required=False, metavar="[OUTPUT|-]")
@click.option("--id", "it", default="", metavar="ID", help="Refuse a token of another execution.")
@workflow_options
def next_command(**values: Any) -> int:
    """Hand in a step's OUTPUT (JSON or text; - reads it) with its TOKEN; prints what follows."""
    with open_console(values) as at:
        word, advance = _output(values["output"]), at.workflows.advance
        return _print_advanced(at, advance(values["token"], word, execution_id=values["it"]))


def _show_newest(at: WorkflowConsole) -> None:
    """The newest executions."""
    views = at.workflows.records.executions()
    if not views:
        click.echo("No workflow was run yet: “workflow start NAME” begins one.", err=True)
    lines = [line for view in views for line in execution_lines(view)]
    at.show([execution_object(view) for view in views], lines)


@workflow_group.command("status")
@click.argument("execution", required=False)
@click.option("--tokens", is_flag=True, help="With fresh tokens for the open steps.")
@click.option("--events", is_flag=True, help="With everything that happened.")
@workflow_options
def status_command(**values: Any) -> int:
    """Show one execution, or the newest ones."""
    with open_console(values) as at:
        name = values["execution"]
        if not name:
            _show_newest(at)
            return DONE
        view, steps = at.workflows.records.execution(name), at.workflows.records.steps(name)
        status, lines = execution_object(view, steps), execution_lines(view, steps)
        if values["tokens"]:
            tickets = at.workflows.tickets(name)
            status["tokens"] = {ticket.step: ticket.token for ticket in tickets}
            lines += [f"  {ticket.step}: {ticket.token}" for ticket in tickets]
        if values["events"]:
            events = at.workflows.records.reader.events(EventQuery(name, limit=10_000))
            status["events"] = [
                {"seq": e.seq, "type": e.type, "step": e.step, "data": e.data} for e in events
            ]
            lines += [event_line(event) for event in events]
        at.show(status, lines)
    return DONE


def _add_verb(verb: Verb) -> None:
    """Add the command of a verb: it takes an execution and, perhaps, a word on it."""

    @click.argument("execution")
    @click.argument("word", required=False, default="", metavar="[REASON|STEP|CHOICE]")
    @workflow_options
    def command(**values: Any) -> int:
        with open_console(values) as at:
            return _print_advanced(
                at, at.workflows.steer(verb.name, values["execution"], values["word"])
            )

    command.__doc__ = verb.about
    workflow_group.command(verb.name, short_help=f"{verb.brief.capitalize()}.")(command)


for _each in VERBS.values():
    _add_verb(_each)


@workflow_group.command("artifact")
@click.argument("artifact")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Characters to skip.")
@click.option("--length", type=click.IntRange(min=1), default=200_000, help="Characters to print.")
@workflow_options
def artifact_command(**values: Any) -> int:
    """Print an artifact, or a range of it."""
    with open_console(values) as at:
        chunk = at.workflows.records.read_artifact(
            values["artifact"], values["offset"], values["length"]
        )
        piece = {"text": chunk.text, "start": chunk.start, "end": chunk.end, "total": chunk.total}
        at.show(piece, chunk.text.splitlines())
    return DONE


@workflow_group.command("run", short_help="Let the agent run a workflow, or go on with one.")
@click.argument("name", metavar="WORKFLOW|EXECUTION")
@click.option("-p", "--param", "pairs", multiple=True, metavar="NAME=VALUE", help="Repeatable.")
@click.option("--params", metavar="JSON", help="All parameters as one object.")
@click.option("--id", "execution", default="", metavar="ID", help="Name the execution.")
@click.option(
    "--answers", metavar="FILE", help="JSON patterns that answer approvals and questions."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@limit_options
@agent_options
def run_command(**values: object) -> int:
    """Let the agent run a workflow to its end, or continue an execution.

    At a terminal you are asked for approvals there; elsewhere they are denied unless
    --answers allows them.
    Exits with 0 when it is completed, 3 when it waits for a person, 1 when it failed.
    """
    attended = open_attended(values, "sam-tui workflow run")
    interrupts = Interrupts()
    interrupts.install()
    try:
        with open_console(values, attended.runtime.workflows.workflows) as at:
            return asyncio.run(_run(at, attended, values, interrupts))
    finally:
        interrupts.restore()


async def _run(
    at: WorkflowConsole, attended: AttendedRuntime, values: Values, interrupts: Interrupts
) -> int:
    """Start or continue, drive, and print how it ended."""
    workflows = at.workflows
    try:
        execution = _started(attended, values)
        stopped = await drive(attended, execution, interrupts)
        if stopped is not None:
            click.echo(f"Interrupted. Go on: sam-tui workflow run {execution}", err=True)
            return stopped
        view, steps = workflows.records.execution(execution), workflows.records.steps(execution)
        at.show(execution_object(view, steps), execution_lines(view, steps))
        return exit_code(view)
    finally:
        await attended.runtime.close()


def _started(attended: AttendedRuntime, values: Values) -> str:
    """Return the execution to run, the named one or a new one; nothing begins if a model is missing."""
    runtime, name = attended.runtime, str(values["name"])
    workflows, records = runtime.workflows.workflows(), runtime.workflows.workflows().records
    try:
        view = records.execution(name)
    except WorkflowRefused:
        runtime.require_models(workflows.catalog.certain(name))
        return workflows.start(name, _params(values), execution_id=values["execution"]).execution_id
    if view.state in ("idle", "paused") and not view.question:
        open_ = (step for step in records.steps(name) if step.id in view.current)
        runtime.require_models(open_, records.service(name))
        workflows.steer("resume", name)
    return name


def _print_advanced(at: WorkflowConsole, done: Advanced) -> int:
    at.show(advanced_object(done), advanced_lines(done))
    return FAILED if done.outcome in ("failed", "diverged") and done.failures else DONE


def _params(values: Values) -> dict[str, Any]:
    """Parameters from --params and -p. Raises ``UsageError``."""
    params: dict[str, Any] = {}
    if values["params"]:
        from sam_tui.core.text.json_files import plain_json

        try:
            decoded = plain_json(values["params"])
        except ValueError as error:
            raise UsageError(f"--params is not valid JSON: {error}.") from error
        if not isinstance(decoded, dict):
            raise UsageError("--params must be one JSON object.")
        params.update(cast("dict[str, Any]", decoded))
    for pair in values["pairs"]:
        name, mark, value = str(pair).partition("=")
        if not mark or not name:
            raise UsageError(f"{pair!r} is not NAME=VALUE.")
        params[name] = value
    return params


def _output(argument: str | None) -> Any:
    """Return the output of a step: an object if the text is one, else the text."""
    text = _piped_output() if argument in (None, "-") else argument
    value = json_object(text or "")
    return text if value is None else value


def _piped_output() -> str:
    try:
        return read_prompt("-", input_descriptor()).text
    except UsageError:
        raise UsageError(
            "The step's output is missing.",
            hint="Give it after the token, or on standard input: a JSON object, or text.",
        ) from None
