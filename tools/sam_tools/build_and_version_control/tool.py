"""build_and_version_control: tasks that run, commits and changed files."""

import json
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
from sam_tools.build_and_version_control.commits import commit
from sam_tools.build_and_version_control.git import Git
from sam_tools.build_and_version_control.repository import look
from sam_tools.build_and_version_control.status import FileStatus, Status
from sam_tools.build_and_version_control.tasks import FOREGROUND_SECONDS, TaskOperations, TaskPorts
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.display import Table
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.processes.tasks import TaskBook, Tasks
from sam_tui.core.ports.processes.terminals import Commands
from sam_tui.core.text.plain import gist
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult

MOST_FILES = 2000


async def changed_files(
    commands: Commands, arguments: GetChangedFiles, context: ToolContext
) -> ToolResult:
    """The changes of the whole repository around the folder, those of the wanted states only."""
    where = context.location("repositoryPath")
    context.emit("Asking git what changed\n")
    repository = await look(Git(commands, context, where.real))
    status = repository.status
    states = arguments.sourceControlState
    changes = [c for c in status.changes if not states or c.state in states]
    data: dict[str, object] = {
        "files": [_entry(change) for change in changes[:MOST_FILES]],
        "repository": repository.root,
        "branch": status.branch,
        **_upstream(status),
        "totalFiles": len(changes),
    }
    if len(changes) > MOST_FILES:
        data["truncated"] = True
    rows = tuple((c.state, _words(c), _path(c)) for c in changes[:MOST_FILES])
    # A name's bytes that are not UTF-8 become JSON escapes, which name it again when sent back.
    text = json.dumps(data, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return ToolResult(
        text,
        display=(Table(("State", "Change", "File"), rows),),
        data=data,
        mime_type="application/json",
    )


def _entry(change: FileStatus) -> dict[str, object]:
    entry: dict[str, object] = {"path": change.path}
    if change.old_path:
        entry |= {"oldPath": change.old_path, "similarity": change.score}
    entry |= {"status": change.status, "staged": change.staged}
    if change.conflict:
        entry["conflict"] = change.conflict
    if change.submodule:
        entry["submodule"] = list(change.submodule)
    return entry


def _upstream(status: Status) -> dict[str, object]:
    if not status.upstream:
        return {}
    return {"upstream": status.upstream, "ahead": status.ahead, "behind": status.behind}


def _words(change: FileStatus) -> str:
    detail = change.conflict or ", ".join(change.submodule)
    return f"{change.status} ({detail})" if detail else change.status


def _path(change: FileStatus) -> str:
    path = gist(change.path, 200)
    return f"{gist(change.old_path, 200)} → {path}" if change.old_path else path


_ABOUT = (
    "Build tasks and git. Tasks are VS Code's: those of .vscode/tasks.json, and those made here,"
    " which are kept outside the repository."
)


class BuildAndVersionControl:
    """build_and_version_control (seed 004): tasks run and commits are made as the person's own."""

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
        self._task_runner = TaskOperations(
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
                self._task_runner.create,
                lambda a: f"Creating task: {gist(a.task.label, 60)}",
                self._task_runner.create_accesses,
                Schedule.BLOCKING,
            ),
            Operation(
                "run_task",
                "run a task there is, after those it depends on",
                RunTask,
                self._task_runner.run,
                lambda a: f"Running task: {gist(a.label, 60)}",
                self._task_runner.run_accesses,
                Schedule.BLOCKING,
            ),
            Operation(
                "get_task_output",
                "what a task printed, and whether it runs",
                GetTaskOutput,
                self._task_runner.output,
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
