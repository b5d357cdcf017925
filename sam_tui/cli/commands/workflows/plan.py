"""``sam-tui plan``: a task becomes a plan, which is shown, changed, approved and carried out."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from sam_tui.cli.commands.workflows.console import (
    WorkflowConsole,
    naming_others,
    open_console,
    workflow_options,
)
from sam_tui.cli.commands.workflows.execution import drive, exit_code, open_attended
from sam_tui.cli.options import Values, agent_options, limit_options, open_runtime
from sam_tui.cli.roles import hand_out_option
from sam_tui.cli.streams import contract_output, input_descriptor
from sam_tui.core.errors import StorageError, UsageError
from sam_tui.core.local_files.bounded import UnusableFile, read_named
from sam_tui.core.text.invisible import json_visible
from sam_tui.core.workflow.views import MODES, WorkflowRefused
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.prompt_input import read_prompt

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime
    from sam_tui.core.usage import Usage
    from sam_tui.core.workflow.planned import PlannedTasks
    from sam_tui.core.workflow.service import Workflows

_MARKS = {"COMPLETED": "x", "RUNNING": ">", "FAILED": "!", "SKIPPED": "-"}
_LARGEST = 1_000_000
"""The most bytes, and characters, of a plan in a file."""
_ID = re.compile(r"exec_\w*")
"""An id of the program's, perhaps mistyped, and no task in words."""


@click.group("plan", short_help="Plans: a task as stages for worker roles.")
def plan_group() -> None:
    """Plans: make, show, change and run one."""


@plan_group.command("new", short_help="Make a plan, and wait for its approval.")
@click.argument("task")
@click.option("--id", "name", default="", metavar="ID", help="The name of the task.")
@click.option(
    "--task-mode",
    type=click.Choice(MODES),
    default="PLAN_ONLY",
    help="Which part of the work to do.",
)
@click.option("--load", "load", default="", metavar="ID", help="The task for the last two modes.")
@click.option("--answers", metavar="FILE", help="JSON patterns that answer approvals.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--ai-service", metavar="NAME", help="The provider of its models, such as openai.")
@limit_options
@agent_options
def new_command(**values: Any) -> int:
    """Make a plan for TASK and wait for approval; with another --task-mode run it or synthesise.

    Exits with 0 when the plan or the answer is ready, 3 when it waits for something else, 1 when it failed.
    """
    return _agent(values, lambda tasks: tasks.begin(
        values["task"], values["task_mode"], task_id=values["load"], name=values["name"],
        service=values["ai_service"] or "",
    ))  # fmt: skip


@plan_group.command("run", short_help="Run a plan, or plan a task and run it.")
@click.argument("task", metavar="ID|TASK")
@click.option("--id", "name", default="", metavar="ID", help="The name of a new task.")
@click.option("--answers", metavar="FILE", help="JSON patterns that answer approvals.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--ai-service", metavar="NAME", help="The provider of its models, such as openai.")
@hand_out_option
@limit_options
@agent_options
def run_command(**values: Any) -> int:
    """Approve and run the plan ID, or continue it; else plan TASK and run it.

    At a terminal you are asked for approvals there; elsewhere they are denied unless
    --answers allows them.
    """
    service = values["ai_service"] or ""
    if not values["task"].strip():
        raise UsageError("The task is missing.")

    def begin(tasks: "PlannedTasks") -> str:
        try:
            return tasks.begin("", "EXECUTE_PLANNED_TASK", task_id=values["task"], service=service)
        except WorkflowRefused as refusal:
            if refusal.code != "execution_unknown" or _ID.fullmatch(values["task"].strip()):
                raise
            return tasks.begin(values["task"], name=values["name"], service=service)

    return _agent(values, begin)


@plan_group.command("replan", short_help="Have a plan made again, or replace it.")
@click.argument("task", metavar="ID")
@click.option("--because", default="", metavar="TEXT", help="Instructions for the planner.")
@click.option(
    "--file",
    "file",
    metavar="FILE",
    help="Stages as JSON that replace the plan; - reads standard input.",
)
@click.option("--answers", metavar="FILE", help="JSON patterns that answer approvals.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@limit_options
@agent_options
def replan_command(**values: Any) -> int:
    """Make the plan of ID again, or replace it by the stages of a file; finished steps are kept."""
    if values["file"]:
        with open_console(values) as at:
            tasks = _tasks(at.workflows)
            tasks.replace(values["task"], _stages(values["file"]))
            return _show(at, tasks, values["task"])

    def begin(tasks: "PlannedTasks") -> str:
        tasks.replan(values["task"], values["because"])
        return values["task"]

    return _agent(values, begin)


@plan_group.command("show")
@click.argument("task", metavar="ID")
@workflow_options
def show_command(**values: Any) -> int:
    """Show a plan and the results of its steps."""
    with open_console(values) as at:
        return _show(at, _tasks(at.workflows), values["task"])


@plan_group.command("export", short_help="Print a plan as JSON, or write its memory bank.")
@click.argument("task", metavar="ID")
@click.option("--format", "form", type=click.Choice(["seed", "result", "bank"]), default="seed")
@click.option(
    "--output", metavar="FOLDER", help="The folder of the task bank (default: saved_tasks)."
)
@workflow_options
def export_command(**values: Any) -> int:
    """Print the plan ID as stages of sub-tasks (seed), or the whole response (result).

    The memory bank is written as files: FOLDER/tasks_MMDDYYYY/ID/memory_bank.
    """
    with open_console(values) as at:
        tasks = _tasks(at.workflows)
        task = values["task"]
        if values["form"] == "bank":
            at.print(_write_bank(at, task, values["output"] or "saved_tasks"))
            return 0
        at.print(_json(tasks.stages(task) if values["form"] == "seed" else tasks.result(task)))
    return 0


@plan_group.command("capabilities", short_help="Print the roles and tools that the planner sees.")
@click.option("--json", "as_json", is_flag=True, hidden=True)
@click.option(
    "--output", metavar="FILE", help="Write to FILE, such as config/agentCapabilities.json."
)
@limit_options
@agent_options
def capabilities_command(**values: Any) -> int:
    """Print ``agentCapabilities.json``: the worker roles and their available tools."""
    from sam_tui.adapters.workflows import save_file
    from sam_tui.core.workflow.definitions.stages import capabilities_json

    async def gathered() -> str:
        runtime = open_runtime(values, program="sam-tui plan")
        try:
            await runtime.servers.arrive()
            return capabilities_json(runtime.workflows.workflows().capabilities())
        finally:
            await runtime.close()

    text = asyncio.run(gathered())
    if values["output"] is None:
        with contract_output() as out:
            out.write(f"{text}\n")
        return 0
    try:
        save_file(values["output"], f"{text}\n")
    except OSError as error:
        why = f"{values['output']} cannot be written: {error.strerror}."
        raise StorageError(why) from error
    return 0


def _tasks(workflows: "Workflows", runtime: "Runtime | None" = None) -> "PlannedTasks":
    """The planned tasks; with the ``runtime`` that drives them, they begin if it has the models."""
    from sam_tui.core.workflow.planned import PlannedTasks  # with it comes the engine

    return PlannedTasks(workflows, runtime.require_models) if runtime else PlannedTasks(workflows)


def _agent(values: Values, begin: "Callable[[PlannedTasks], str]") -> int:
    """Drive the plan with our agent, and show the result."""
    attended = open_attended(values, "sam-tui plan")
    runtime, interrupts = attended.runtime, Interrupts()
    interrupts.install()
    try:
        with open_console(values, runtime.workflows.workflows) as at:
            tasks = _tasks(at.workflows, runtime)
            if values.get("ai_service"):
                runtime.catalog.service(values["ai_service"])

            async def work() -> int:
                try:
                    await (
                        runtime.servers.arrive()
                    )  # a planner's roles and tools are fixed when it begins
                    runtime.require_hand_out()
                    with naming_others(at.workflows):
                        task = begin(tasks)
                    stopped = await drive(attended, task, interrupts)
                    if stopped is None:
                        return _show(at, tasks, task)
                    click.echo(f"Interrupted. To continue: sam-tui plan run {task}", err=True)
                    return stopped
                finally:
                    await runtime.close()

            return asyncio.run(work())
    finally:
        interrupts.restore()


def _show(at: WorkflowConsole, tasks: "PlannedTasks", task: str) -> int:
    result = tasks.result(task)
    view = at.workflows.records.execution(task)
    failed = view.state in ("failed", "diverged")
    more = [f"To try again: sam-tui plan run {task}"] if failed else []
    at.show(result, [*_lines(result, task), *_used(*at.workflows.records.used(task)), *more])
    return 0 if result["success"] else exit_code(view)


def _lines(result: dict[str, object], task: str) -> list[str]:
    """A plan for people: the stages, each step with its mark, and how to go on."""
    executed = cast("list[Values]", result["executedPlan"])
    entries = {entry["stepId"]: entry for entry in executed}
    lines = [f"{task}  {result['message']}", str(result["originalTask"])]
    for number, stage in enumerate(cast("list[list[Values]]", result["plan"]), 1):
        lines.append(f"  stage {number}")
        for step in stage:
            entry = entries[step["stepId"]]
            mark = _MARKS.get(entry["status"], " ")
            who = f"{step['assigned_agent_role']}/{step['tool_name']}"
            lines.append(f"    [{mark}] {step['stepId']}  {who}  {step['narrative_step']}")
            lines += [f"        {e['message']}" for e in (entry["error_details"],) if e]
    if result["finalAnswer"]:
        lines += ["", str(result["finalAnswer"])]
    elif result["success"]:
        lines.append(f"To approve and run it: sam-tui plan run {task}")
    return lines


def _used(calls: int, usage: "Usage") -> list[str]:
    """Return the cost of a plan so far, for people."""
    if not calls:
        return []
    cost = "" if usage.cost is None else f", ${usage.cost:.4f}"
    tokens = usage.input_tokens + usage.output_tokens
    times = "1 call" if calls == 1 else f"{calls} calls"
    return ["", f"Used: {times} of models, {tokens:,} tokens{cost}"]


def _write_bank(at: WorkflowConsole, task: str, output: str) -> str:
    """Write the files of the memory bank, each whole; their folder. Raises ``StorageError``."""
    from sam_tui.adapters.workflows import save_file
    from sam_tui.core.workflow.planned import MemoryBank

    bank = MemoryBank(at.workflows, task)
    folder = Path(output, bank.folder)
    try:
        for name, text in bank.files():
            save_file(folder / name, text)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror}.") from error
    return str(folder)


def _stages(file: str) -> object:
    """Stages from a file or standard input. Raises ``UsageError``."""
    from sam_tui.core.text.json_files import RepeatedKey, plain_json

    try:
        if file == "-":
            text = read_prompt("-", input_descriptor()).text
        else:
            text = read_named(file, most=_LARGEST).decode("utf-8-sig")
        if len(text) > _LARGEST:
            raise UsageError(f"{file} is larger than {_LARGEST} bytes.")
        return plain_json(text)
    except UnusableFile as error:
        raise UsageError(f"{file} {error}.") from error
    except RepeatedKey as error:
        raise UsageError(f"{file}:{error.line}: {error}.") from error
    except ValueError as error:
        raise UsageError(f"{file} contains no plan: {error}") from error


def _json(value: Sequence[object] | dict[str, object]) -> str:
    return json_visible(json.dumps(value, ensure_ascii=False, indent=2))
