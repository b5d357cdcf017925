"""Tasks: their definitions, and the operations that run them, read their output and end them."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

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
from sam_tools.build_and_version_control.problems import (
    KNOWN,
    Problem,
    find_problems,
    has_matcher,
    tally,
)
from sam_tui.core.accesses import Access, CommandAccess, Read
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.display import Display, Table, Terminal
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.processes.sandbox import allowance
from sam_tui.core.ports.processes.tasks import TaskBook, TaskRun, Tasks, TaskStart
from sam_tui.core.ports.processes.terminals import CommandResult, Commands
from sam_tui.core.text.plain import PlainStream, escaped, gist, plain, unfinished
from sam_tui.core.tooling.contract import ToolContext, ToolResult

TASKS_FILE = ".vscode/tasks.json"
_LARGEST_FILE = 256 * 1024
_MOST_STEPS = 20


class TaskDefinitions:
    """The task definitions of one workspace; its own file goes before tasks defined by the agent."""

    def __init__(self, files: Files, book: TaskBook, workspace: Workspace) -> None:
        self._files = files
        self._book = book
        self._workspace = workspace

    def new(self, task: Mapping[str, object], folder: str) -> PlannedTask:
        """A task that the call describes. Raises ``ToolError`` if an editor would have to answer."""
        real = self._workspace.locate(folder).real if folder else self._workspace.root
        (entry,) = read_entries([task], "the call").entries
        return PlannedTask(entry, entry.command_line(real), folder)

    def keep(self, task: Mapping[str, object], step: PlannedTask) -> None:
        """Store a task's definition. Raises ``ToolError`` if its label already names a different task."""
        label = step.entry.label
        try:
            planned = self._project().named(label)
        except ToolError:
            planned = None  # a file that cannot be read gives no label a meaning
        if planned is None:
            self._book.save(task)
        elif planned.command_line(self._workspace.root) != step.command:
            raise ToolError(
                f"{TASKS_FILE} already has another task {gist(label, 80)!r}.",
                hint="Run that one with run_task, or choose another label.",
            )

    def plan(self, label: str) -> tuple[PlannedTask, ...]:
        """The tasks for a label: its dependencies, each once, then itself.

        Raises ``ToolError`` for an unknown label, a definition that cannot be read, and a circle.
        """
        project, added = self._project(), read_entries(self._book.tasks(), "the task book")
        search = _Search(
            Definitions((*project.entries, *added.entries), {**added.faults, **project.faults}),
            self._workspace.root,
        )
        search.visit(label, ())
        return tuple(search.plan)

    def _project(self) -> Definitions:
        """The tasks in the workspace's own file; empty if there is no file."""
        where = self._workspace.locate(TASKS_FILE)
        if not where.inside:
            raise ToolError(f"{TASKS_FILE} is a link to a place outside the workspace.")
        if self._files.stat(where) is None:
            return Definitions()
        data = self._files.read(where, limit=_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise ToolError(f"{TASKS_FILE} is larger than {_LARGEST_FILE} bytes.")
        return read_tasks_file(data, TASKS_FILE)


class _Search:
    """Collects a task and every task that it depends on."""

    def __init__(self, definitions: Definitions, root: str) -> None:
        self.plan: list[PlannedTask] = []
        self._definitions = definitions
        self._root = root
        self._done: set[str] = set()

    def visit(self, label: str, above: tuple[str, ...]) -> None:
        """Put the dependencies of a task into the plan, then the task."""
        entry = self._definitions.find(label)
        if entry is None:
            raise self._unknown(label)
        if entry.label in above:
            raise ToolError(f"Tasks depend on each other: {' > '.join((*above, entry.label))}.")
        if entry.label in self._done:
            return
        if len(above) + len(self._done) >= _MOST_STEPS:
            raise ToolError(f"The task comes to more than {_MOST_STEPS} tasks.")
        for dependency in entry.dependencies:
            self.visit(dependency, (*above, entry.label))
        self._done.add(entry.label)
        self._add(entry)

    def _add(self, entry: TaskEntry) -> None:
        folder = entry.workspaceFolder or self._root
        command = entry.command_line(folder)
        if command:
            cwd = entry.working_directory(folder) or entry.workspaceFolder
            self.plan.append(PlannedTask(entry, command, cwd))
        elif not entry.dependencies:
            raise ToolError(f"Task {gist(entry.label, 80)!r} has no command.")

    def _unknown(self, label: str) -> ToolError:
        entries = self._definitions.entries[:50]
        names = ", ".join(repr(gist(entry.label, 80)) for entry in entries)
        hint = f"Tasks: {names}." if names else "There are none; create_and_run_task makes one."
        return ToolError(f"There is no task {gist(label, 80)!r}.", hint=hint)


FOREGROUND_SECONDS = 600.0
"""The longest that a task may run while the call waits for it."""
SETTLING_SECONDS = 0.3
"""Seconds to watch a background task, so that the call reports one that fails at once."""
NEWEST_CHARACTERS = 4000
_REFUSALS = ("Permission denied", "Read-only file system", "Operation not permitted", "EACCES")


@dataclass(frozen=True, slots=True)
class TaskPorts:
    """The ports that the task operations use."""

    commands: Commands
    tasks: Tasks
    book: TaskBook
    files: Files
    workspace: Workspace


class TaskOperations:
    """The three task operations. Runs belong to the conversation that started them."""

    def __init__(self, ports: TaskPorts, *, foreground_seconds: float) -> None:
        self._ports = ports
        self._definitions = TaskDefinitions(ports.files, ports.book, ports.workspace)
        self._limit = foreground_seconds

    def create_accesses(self, arguments: CreateAndRunTask) -> Sequence[Access]:
        """The workspace's own definitions, the command line, and the folder where one is named."""
        unknown = [name for name in arguments.task.problemMatcher or () if not has_matcher(name)]
        if unknown:
            raise ToolError(
                f"There is no problem matcher {gist(unknown[0], 80)!r}.",
                hint=f"One of: {', '.join(KNOWN)}.",
            )
        folder = arguments.workspaceFolder or ""
        step = self._definitions.new(arguments.task.entry(), folder)
        arguments.settle((step,))
        accesses: list[Access] = [Read(TASKS_FILE, "tasks"), CommandAccess(step.command, folder)]
        return [*accesses, Read(folder, "workspaceFolder")] if folder else accesses

    def run_accesses(self, arguments: RunTask) -> Sequence[Access]:
        """The file that defines tasks, and each command with its folder, looked up here and now."""
        plan = self._definitions.plan(arguments.label)
        arguments.settle(plan)
        accesses: list[Access] = [Read(TASKS_FILE, "tasks")]
        for at, step in enumerate(plan):
            accesses.append(CommandAccess(step.command, step.cwd))
            if step.cwd:
                accesses.append(Read(step.cwd, f"cwd.{at}"))
        return accesses

    async def create(self, arguments: CreateAndRunTask, context: ToolContext) -> ToolResult:
        """Store the task's definition and run the task."""
        (step,) = arguments.plan
        task, cwd = arguments.task.entry(), context.workspace
        if arguments.workspaceFolder:
            cwd = context.location("workspaceFolder").real
            task["workspaceFolder"] = cwd
        self._definitions.keep(task, step)
        return await self._run_step(step, cwd, context)

    async def run(self, arguments: RunTask, context: ToolContext) -> ToolResult:
        """Run the planned tasks in order, up to the first that fails."""
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
            display=tuple(part for result in results for part in result.display),
            data={**results[-1].data, "tasks": [dict(result.data) for result in results]},
        )

    async def output(self, arguments: GetTaskOutput, context: ToolContext) -> ToolResult:
        """The output and state of a task; without an id, of all tasks of the conversation."""
        runs = self._ports.tasks.of(context.conversation)
        if not arguments.id:
            if arguments.end:
                raise ToolError("`id` is missing: which task should be ended?", hint=_named(runs))
            return _listing(runs)
        run = self._ports.tasks.find(context.conversation, arguments.id)
        if run is None:
            raise ToolError(
                f"There is no task {gist(arguments.id, 80)!r} in this conversation.",
                hint=_named(runs),
            )
        if arguments.end:
            context.emit("Ending it\n")
            await run.end()
        start = -NEWEST_CHARACTERS if arguments.from_index is None else arguments.from_index
        piece = run.output(start)
        output = _printed(piece.text, run)
        problems = find_problems(output, run.start.matchers)
        data = {
            **_identity(run),
            "output": output,
            "from_index": piece.start,
            "end_index": piece.end - _held(piece.text, run),
            "truncated": piece.start > (arguments.from_index or 0),
            **_problem_data(problems),
        }
        return _json(data, _card(run, output), *_table(problems))

    async def _run_step(self, step: PlannedTask, cwd: str, context: ToolContext) -> ToolResult:
        if context.permit.ask_rehearsed is not None:
            raise ToolError(
                "A task cannot be rehearsed, and commands are only rehearsed here.",
                hint="run_command can be.",
            )
        background = step.entry.isBackground
        listener = _Listener(context)
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
                ask=context.permit.ask_outside,
                again=context.permit.ask_again,
                network=context.permit.network(),
                granted=context.permit.granted,
            ),
            listener,
        )
        try:
            await run.wait(SETTLING_SECONDS if background else None)
        except asyncio.CancelledError:
            await run.end()
            raise
        finally:
            listener.over = True
        if run.fault:
            raise ToolError(run.fault)
        confinement = self._ports.commands.confinement.kind
        return self._account(run, cwd, confined=run.start.confined and confinement != "none")

    def _account(self, run: TaskRun, cwd: str, *, confined: bool) -> ToolResult:
        """The result of a run, or that it is still running."""
        output = _printed(run.result.output if run.result else run.output(0).text, run)
        problems = find_problems(output, run.start.matchers)
        notes = [f"[{self._ending(run)}]"]
        if problems:
            notes.append(f"[{tally(problems)}]")
        notes += _refusals(run, output, confined=confined)
        return ToolResult(
            "\n".join([output.rstrip("\n") if output.strip() else "(no output)", *notes]),
            ok=run.running if run.result is None else not _failed(run.result),
            display=(_card(run, output), *_table(problems)),
            data={**_identity(run), "output": output, "cwd": cwd, **_problem_data(problems)},
        )

    def _ending(self, run: TaskRun) -> str:
        name = f"task {gist(run.start.label, 80)!r}, {run.id}"
        if run.running:
            return f"{name}: runs in the background; get_task_output reads it, `end` ends it"
        if run.result is not None and run.result.timed_out:
            limit = f"timed out after {self._limit:g} s and was ended"
            return f"{name}: {limit}; isBackground is for what goes on"
        return f"{name}: {_state(run)}"


def _failed(result: CommandResult) -> bool:
    return result.exit_code != 0 or result.timed_out


def _refusals(run: TaskRun, output: str, *, confined: bool) -> Iterator[str]:
    """Notes on the accesses that the sandbox refused to a task that has ended."""
    if run.result is None:
        return
    for access in run.result.refused[:10]:
        words = filter(None, (access.words, allowance(access)))
        yield f"[refused by the sandbox: {escaped('; '.join(words))}]"
    if confined and _failed(run.result) and any(words in output for words in _REFUSALS):
        yield "[the sandbox refuses writing outside the workspace and $TMPDIR]"


class _Listener:
    """Passes a task's output on for as long as its call lasts."""

    def __init__(self, context: ToolContext) -> None:
        self.over = False
        self._printer = PlainStream(context.emit)

    def __call__(self, text: str) -> None:
        """Pass output on until the call is over."""
        if not self.over:
            self._printer(text)


def _named(runs: Sequence[TaskRun]) -> str:
    names = ", ".join(f"{run.id} ({gist(run.start.label, 40)}, {_state(run)})" for run in runs)
    return f"Tasks: {names}." if names else "No task was run in this conversation."


def _listing(runs: Sequence[TaskRun]) -> ToolResult:
    rows = tuple((run.id, gist(run.start.label, 80), _state(run)) for run in runs)
    table = Table(("Id", "Task", "State"), rows)
    return _json({"tasks": [_identity(run) for run in runs]}, table)


def _identity(run: TaskRun) -> dict[str, object]:
    return {"id": run.id, "label": run.start.label, "state": _state(run), "exitCode": _code(run)}


def _held(text: str, run: TaskRun) -> int:
    """Return how many characters at the end wait for the next read: they begin an incomplete sequence."""
    return unfinished(text) if run.running else 0


def _printed(text: str, run: TaskRun) -> str:
    return plain(text[: len(text) - _held(text, run)])


def _state(run: TaskRun) -> str:
    """The state of a run in a word."""
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


def _card(run: TaskRun, output: str) -> Terminal:
    command = escaped(run.start.command)
    seconds = run.result.seconds if run.result else 0.0
    return Terminal(command, output, _code(run), seconds, running=run.running)


def _problem_data(problems: Sequence[Problem]) -> dict[str, object]:
    return {"problems": [asdict(problem) for problem in problems]} if problems else {}


def _table(problems: Sequence[Problem]) -> tuple[Table, ...]:
    rows = tuple((p.severity, f"{p.file}:{p.line}:{p.column}", p.message) for p in problems)
    return (Table(("Severity", "Place", "Message"), rows),) if rows else ()


def _json(data: Mapping[str, object], *display: Display) -> ToolResult:
    text = json.dumps(data, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return ToolResult(text, display=display, data=data, mime_type="application/json")
