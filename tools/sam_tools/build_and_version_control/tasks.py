"""Tasks made, looked up, run, read and ended."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sam_tools.build_and_version_control.arguments import (
    CreateAndRunTask,
    GetTaskOutput,
    RunTask,
)
from sam_tools.build_and_version_control.definitions import (
    Definitions,
    PlannedTask,
    TaskEntry,
    read_entries,
    read_tasks_file,
)
from sam_tools.build_and_version_control.printed import Printer, line, printed, unfinished, visible
from sam_tools.build_and_version_control.problems import (
    KNOWN,
    Problem,
    find_problems,
    known,
    tally,
)
from sam_tui.core.accesses import Access, Read, Run
from sam_tui.core.authorization.containment import Workspace
from sam_tui.core.display import Display, Table, Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.ports import Commands, Files
from sam_tui.core.ports.tasks import TaskBook, TaskRun, Tasks, TaskStart
from sam_tui.core.tooling.contract import ToolContext, ToolResult

FOREGROUND_SECONDS = 600.0
"""How long a task may run that is waited for."""
SETTLING_SECONDS = 0.3
"""How long a background task is watched, so that one that fails at once says so at once."""
NEWEST_CHARACTERS = 4000
_TASKS_FILE = ".vscode/tasks.json"
_LARGEST_FILE = 256 * 1024
_MOST_STEPS = 20
_REFUSALS = ("Permission denied", "Read-only file system", "Operation not permitted", "EACCES")


@dataclass(frozen=True, slots=True)
class TaskPorts:
    """What tasks are made of."""

    commands: Commands
    tasks: Tasks
    book: TaskBook
    files: Files
    workspace: Workspace


class TaskDesk:
    """The three task operations. Runs belong to the conversation that started them."""

    def __init__(self, ports: TaskPorts, *, foreground_seconds: float) -> None:
        self._ports = ports
        self._limit = foreground_seconds

    def create_accesses(self, arguments: CreateAndRunTask) -> Sequence[Access]:
        """The command line, and the folder where one is named."""
        folder = arguments.workspaceFolder
        command = self._new_entry(arguments)[1]
        if folder is None:
            return [Run(command)]
        return [Run(command, folder), Read(folder, "workspaceFolder")]

    def run_accesses(self, arguments: RunTask) -> Sequence[Access]:
        """The file that defines tasks, and each command with its folder, looked up here and now."""
        plan = self._plan(arguments.label)
        arguments.settle(plan)
        accesses: list[Access] = [Read(_TASKS_FILE, "tasks")]
        for at, step in enumerate(plan):
            accesses.append(Run(step.command, step.cwd))
            if step.cwd:
                accesses.append(Read(step.cwd, f"cwd.{at}"))
        return accesses

    async def create(self, arguments: CreateAndRunTask, context: ToolContext) -> ToolResult:
        """Keep the task in the book and run it."""
        entry, command = self._new_entry(arguments)
        task = arguments.task.entry()
        cwd = context.workspace
        if arguments.workspaceFolder is not None:
            cwd = context.location("workspaceFolder").real
            task["options"] = {"cwd": cwd}
        elif (defined := self._project().find(entry.label)) and (
            defined.label == entry.label
            and defined.command_line(self._ports.workspace.root) != command
        ):
            raise ToolError(
                f"{_TASKS_FILE} already has another task {entry.label!r}.",
                hint="Run that one with run_task, or choose another label.",
            )
        self._ports.book.save(task)
        return await self._run_step(PlannedTask(entry, command, cwd), cwd, context)

    async def run(self, arguments: RunTask, context: ToolContext) -> ToolResult:
        """Run what was looked up, in order; the first that fails is the last."""
        results: list[ToolResult] = []
        for at, step in enumerate(arguments.plan):
            cwd = context.location(f"cwd.{at}").real if step.cwd else context.workspace
            results.append(await self._run_step(step, cwd, context))
            if not results[-1].ok:
                break
        if len(results) == 1:
            return results[0]
        return ToolResult(
            "\n\n".join(result.text for result in results),
            ok=results[-1].ok,
            display=tuple(shown for result in results for shown in result.display),
            data={**results[-1].data, "tasks": [dict(result.data) for result in results]},
        )

    async def output(self, arguments: GetTaskOutput, context: ToolContext) -> ToolResult:
        """What a task printed and how it stands; without an id, all tasks of the conversation."""
        runs = self._ports.tasks.of(context.conversation)
        if not arguments.id:
            if arguments.end:
                raise ToolError("`id` is missing: which task should be ended?", hint=_named(runs))
            return _listing(runs)
        run = self._ports.tasks.find(context.conversation, arguments.id)
        if run is None:
            raise ToolError(
                f"There is no task {line(arguments.id, 80)!r} in this conversation.",
                hint=_named(runs),
            )
        if arguments.end:
            await run.end()
        asked = -NEWEST_CHARACTERS if arguments.from_index is None else arguments.from_index
        found = run.output(asked)
        held = unfinished(found.text) if run.running else 0
        output = printed(found.text[: len(found.text) - held])
        problems = find_problems(output, run.start.matchers)
        data = {
            **_identity(run),
            "output": output,
            "from_index": found.start,
            "end_index": found.end - held,
            "truncated": found.start > (arguments.from_index or 0),
            **_told(problems),
        }
        shown = Terminal(visible(run.start.command), output, _code(run), _seconds(run))
        return _json(data, shown, *_table(problems))

    def _new_entry(self, arguments: CreateAndRunTask) -> tuple[TaskEntry, str]:
        """The task as it will be kept, and its command line."""
        workspace = self._ports.workspace
        folder = workspace.root
        if arguments.workspaceFolder is not None:
            folder = workspace.locate(arguments.workspaceFolder).real
        given = arguments.task.entry()
        strange = [name for name in arguments.task.problemMatcher or () if not known(name)]
        if strange:
            raise ToolError(
                f"There is no problem matcher {line(strange[0], 80)!r}.",
                hint=f"One of: {', '.join(KNOWN)}.",
            )
        entry = read_entries([given], "the call").entries[0]
        return entry, entry.command_line(folder)

    def _project(self) -> Definitions:
        """The tasks that the workspace's own file defines; none without one."""
        where = self._ports.workspace.locate(_TASKS_FILE)
        if not where.inside:
            raise ToolError(f"{_TASKS_FILE} is a link to a place outside the workspace.")
        if self._ports.files.stat(where) is None:
            return Definitions()
        data = self._ports.files.read(where, limit=_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise ToolError(f"{_TASKS_FILE} is larger than {_LARGEST_FILE} bytes.")
        return read_tasks_file(data, _TASKS_FILE)

    def _plan(self, label: str) -> tuple[PlannedTask, ...]:
        """What a label stands for: the tasks it depends on, then itself."""
        project, made = self._project(), read_entries(self._ports.book.tasks(), "the task book")
        # The workspace's own definition counts before one that was made here.
        all_of_them = Definitions(
            (*project.entries, *made.entries), {**made.faults, **project.faults}
        )
        plan: dict[str, PlannedTask] = {}
        self._visit(all_of_them, label, plan, ())
        return tuple(plan.values())

    def _visit(
        self,
        definitions: Definitions,
        label: str,
        plan: dict[str, PlannedTask],
        above: tuple[str, ...],
    ) -> None:
        entry = definitions.find(label)
        if entry is None:
            raise _unknown(label, definitions)
        if entry.label in above:
            raise ToolError(f"Tasks depend on each other: {' > '.join((*above, entry.label))}.")
        for dependency in entry.dependencies:
            self._visit(definitions, dependency, plan, (*above, entry.label))
        root = self._ports.workspace.root
        command = entry.command_line(root)
        if command:
            plan.setdefault(entry.label, PlannedTask(entry, command, entry.working_directory(root)))
        elif not entry.dependencies:
            raise ToolError(f"Task {entry.label!r} has no command.")
        if len(plan) > _MOST_STEPS:
            raise ToolError(f"Task {label!r} comes to more than {_MOST_STEPS} tasks.")

    async def _run_step(self, step: PlannedTask, cwd: str, context: ToolContext) -> ToolResult:
        background = step.entry.isBackground
        heard = _Listener(context)
        run = self._ports.tasks.start(
            TaskStart(
                conversation=context.conversation,
                label=step.entry.label,
                command=step.command,
                cwd=cwd,
                confined=context.permit.confined,
                writable=context.permit.writable,
                timeout=None if background else self._limit,
                matchers=step.entry.matchers,
            ),
            heard,
        )
        try:
            await run.wait(SETTLING_SECONDS if background else None)
        except asyncio.CancelledError:
            await run.end()
            raise
        finally:
            heard.over = True
        if run.fault:
            raise ToolError(run.fault)
        confinement = self._ports.commands.confinement.kind
        return self._account(run, cwd, held=run.start.confined and confinement != "none")

    def _account(self, run: TaskRun, cwd: str, *, held: bool) -> ToolResult:
        """How a run went, or that it goes on."""
        result = run.result
        output = printed(result.output if result else run.output(0).text)
        problems = find_problems(output, run.start.matchers)
        failed = result is not None and (result.exit_code != 0 or result.timed_out)
        notes = [f"[{self._ending(run)}]"]
        if problems:
            notes.append(f"[{tally(problems)}]")
        if failed and held and any(words in output for words in _REFUSALS):
            notes.append("[the sandbox refuses writing outside the workspace and $TMPDIR]")
        body = output.rstrip("\n")
        data = {**_identity(run), "output": output, "cwd": cwd, **_told(problems)}
        shown = Terminal(visible(run.start.command), output, _code(run), _seconds(run))
        return ToolResult(
            "\n".join([body if body.strip() else "(no output)", *notes]),
            ok=not failed and (run.running or result is not None),
            display=(shown, *_table(problems)),
            data=data,
        )

    def _ending(self, run: TaskRun) -> str:
        name = f"task {line(run.start.label, 80)!r}, {run.id}"
        if run.running:
            return f"{name}: runs in the background; get_task_output reads it, `end` ends it"
        if run.result is not None and run.result.timed_out:
            limit = f"{self._limit:g} s"
            return (
                f"{name}: timed out after {limit} and was ended; isBackground is for what goes on"
            )
        return f"{name}: {_state(run)}"


class _Listener:
    """Passes on what a task prints for as long as its call lasts."""

    def __init__(self, context: ToolContext) -> None:
        self.over = False
        self._printer = Printer(context.emit)

    def __call__(self, text: str) -> None:
        """Pass it on, or let it go."""
        if not self.over:
            self._printer(text)


def _unknown(label: str, definitions: Definitions) -> ToolError:
    names = ", ".join(repr(line(entry.label, 80)) for entry in definitions.entries[:50])
    hint = f"Tasks: {names}." if names else "There are none; create_and_run_task makes one."
    return ToolError(f"There is no task {line(label, 80)!r}.", hint=hint)


def _named(runs: Sequence[TaskRun]) -> str:
    names = ", ".join(f"{run.id} ({line(run.start.label, 40)}, {_state(run)})" for run in runs)
    return f"Tasks: {names}." if names else "No task was run in this conversation."


def _listing(runs: Sequence[TaskRun]) -> ToolResult:
    rows = tuple((run.id, line(run.start.label, 80), _state(run)) for run in runs)
    table = Table(("Id", "Task", "State"), rows)
    return _json({"tasks": [_identity(run) for run in runs]}, table)


def _identity(run: TaskRun) -> dict[str, Any]:
    return {"id": run.id, "label": run.start.label, "state": _state(run), "exitCode": _code(run)}


def _state(run: TaskRun) -> str:
    """Whether it runs, or how it ended."""
    if run.running:
        return "running"
    if run.fault:
        return "not started"
    if run.result is None:
        return "ended"
    if run.result.timed_out:
        return "timed out"
    if run.result.exit_code is None:
        return f"killed({run.result.signal})"
    return f"exited({run.result.exit_code})"


def _code(run: TaskRun) -> int | None:
    return run.result.exit_code if run.result else None


def _seconds(run: TaskRun) -> float:
    return run.result.seconds if run.result else 0.0


def _told(problems: Sequence[Problem]) -> dict[str, Any]:
    return {"problems": [asdict(problem) for problem in problems]} if problems else {}


def _table(problems: Sequence[Problem]) -> tuple[Table, ...]:
    rows = tuple((p.severity, f"{p.file}:{p.line}:{p.column}", p.message) for p in problems)
    return (Table(("Severity", "Place", "Message"), rows),) if rows else ()


def _json(data: Mapping[str, Any], *display: Display) -> ToolResult:
    text = json.dumps(data, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return ToolResult(text, display=display, data=data, mime_type="application/json")
