"""Where tasks are found: the workspace's own tasks.json, then the book of those that were made."""

from collections.abc import Mapping
from typing import Any

from sam_tools.build_and_version_control.definitions import (
    Definitions,
    PlannedTask,
    TaskEntry,
    read_entries,
    read_tasks_file,
)
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.processes.tasks import TaskBook
from sam_tui.core.text.plain import gist

TASKS_FILE = ".vscode/tasks.json"
_LARGEST_FILE = 256 * 1024
_MOST_STEPS = 20


class TaskDefinitions:
    """Definitions of one workspace. The workspace's own count before those that were made here."""

    def __init__(self, files: Files, book: TaskBook, workspace: Workspace) -> None:
        self._files = files
        self._book = book
        self._workspace = workspace

    def new(self, task: Mapping[str, Any], folder: str) -> PlannedTask:
        """A task as it was just described. Raises ``ToolError`` for what needs an editor."""
        real = self._workspace.locate(folder).real if folder else self._workspace.root
        (entry,) = read_entries([task], "the call").entries
        return PlannedTask(entry, entry.command_line(real), folder)

    def keep(self, task: Mapping[str, Any], step: PlannedTask) -> None:
        """Put it into the book. Raises ``ToolError`` where the label has another meaning already."""
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
        """What a label stands for: the tasks it depends on, each once, then itself.

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
        """The tasks that the workspace's own file defines; none without one."""
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
    """Collects a task and all it depends on."""

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
