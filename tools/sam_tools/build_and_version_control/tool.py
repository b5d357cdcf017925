"""build_and_version_control: tasks that run, commits and changed files."""

from collections.abc import Sequence
from typing import Any

from sam_tools.build_and_version_control.arguments import (
    CreateAndRunTask,
    GetChangedFiles,
    GetTaskOutput,
    GitCommit,
    RunTask,
    changes_accesses,
    commit_accesses,
)
from sam_tools.build_and_version_control.changes import changed_files
from sam_tools.build_and_version_control.commits import commit
from sam_tools.build_and_version_control.tasks import FOREGROUND_SECONDS, TaskHand, TaskPorts
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.processes.tasks import TaskBook, Tasks
from sam_tui.core.ports.processes.terminals import Commands
from sam_tui.core.text.plain import gist
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult

_ABOUT = (
    "Build tasks and git. Tasks are VS Code's: those of .vscode/tasks.json, and those made here,"
    " which are kept outside the repository."
)


class BuildAndVersionControl:
    """build_and_version_control (seed 004) whose tasks run and whose commits are the person's own."""

    def __init__(
        self,
        commands: Commands,
        tasks: Tasks,
        *,
        book: TaskBook,
        files: Files,
        workspace: Workspace,
        foreground_seconds: float = FOREGROUND_SECONDS,
    ) -> None:
        self._commands = commands
        self._desk = TaskHand(
            TaskPorts(commands, tasks, book, files, workspace),
            foreground_seconds=foreground_seconds,
        )

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operations = (*self._tasks(), *self._git())
        return Tool("build_and_version_control", _ABOUT, operations, local=True)

    def _tasks(
        self,
    ) -> Sequence[Operation[Any]]:
        return (
            Operation(
                "create_and_run_task",
                "keep a task and run it to its end; with isBackground it goes on",
                CreateAndRunTask,
                self._desk.create,
                lambda a: f"Creating task: {gist(a.task.label, 60)}",
                self._desk.create_accesses,
                Schedule.BLOCKING,
            ),
            Operation(
                "run_task",
                "run a task there is, after those it depends on",
                RunTask,
                self._desk.run,
                lambda a: f"Running task: {gist(a.label, 60)}",
                self._desk.run_accesses,
                Schedule.BLOCKING,
            ),
            Operation(
                "get_task_output",
                "what a task printed, and whether it runs",
                GetTaskOutput,
                self._desk.output,
                _output_summary,
                schedule=Schedule.SERIAL,
            ),
        )

    def _git(self) -> Sequence[Operation[Any]]:
        return (
            Operation(
                "git_commit",
                "stage and commit; hooks run",
                GitCommit,
                self._commit,
                _commit_summary,
                commit_accesses,
                Schedule.BLOCKING,
            ),
            Operation(
                "get_changed_files",
                "what differs from the last commit",
                GetChangedFiles,
                self._changes,
                lambda _: "Getting changed files",
                changes_accesses,
                Schedule.SERIAL,
            ),
        )

    async def _commit(self, arguments: GitCommit, context: ToolContext) -> ToolResult:
        return await commit(self._commands, arguments, context)

    async def _changes(self, arguments: GetChangedFiles, context: ToolContext) -> ToolResult:
        return await changed_files(self._commands, arguments, context)


def _output_summary(arguments: GetTaskOutput) -> str:
    if not arguments.id:
        return "Listing tasks"
    return f"{'Ending' if arguments.end else 'Reading'} task: {gist(arguments.id, 60)}"


def _commit_summary(arguments: GitCommit) -> str:
    files = f" ({len(arguments.files)} files)" if arguments.files else ""
    return f"Committing: {gist(arguments.message, 60)}{files}"
