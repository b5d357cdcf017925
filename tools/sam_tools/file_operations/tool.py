"""The tool with its operations in the seed's order, and the operations that rename and delete."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sam_tools.file_operations.arguments import DeleteFile, RenameFile
from sam_tools.file_operations.changes import Commits, difference
from sam_tools.file_operations.diagnostics import Diagnosing
from sam_tools.file_operations.document import Replaced, standing
from sam_tools.file_operations.edits import Editing, SeveralReplacements
from sam_tools.file_operations.index_search import Indexing
from sam_tools.file_operations.names import basename, named
from sam_tools.file_operations.patches import Patching
from sam_tools.file_operations.reads import Reading
from sam_tools.file_operations.search import Recall, Searching
from sam_tools.file_operations.usages import Usages
from sam_tui.core.accesses import Location, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Drop, EditableFiles, EditJournal, Insight, Move
from sam_tui.core.ports.files import Search
from sam_tui.core.ports.processes.terminals import Commands
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult


class Moving:
    """The operations that rename or delete files."""

    def __init__(self, files: EditableFiles, commits: Commits) -> None:
        self._files = files
        self._commits = commits

    def rename_file(self) -> Operation[RenameFile]:
        """The operation ``rename_file``."""
        return Operation(
            "rename_file",
            "rename or move a file or folder",
            RenameFile,
            self._rename,
            lambda a: f"Renaming: {basename(a.oldPath)} to {basename(a.newPath)}",
            lambda a: [
                Write(a.oldPath, "oldPath", follow=False),
                Write(a.newPath, "newPath", follow=False),
            ],
            schedule=Schedule.BLOCKING,
            preview=self._renaming,
        )

    def delete_file(self) -> Operation[DeleteFile]:
        """The operation ``delete_file``."""
        return Operation(
            "delete_file",
            "delete a file; of a link the link",
            DeleteFile,
            self._delete,
            lambda a: f"Deleting: {basename(a.filePath)}",
            lambda a: [Write(a.filePath, "filePath", follow=False)],
            schedule=Schedule.BLOCKING,
            preview=self._deleting,
        )

    async def _rename(self, arguments: RenameFile, context: ToolContext) -> ToolResult:
        old, new = context.location("oldPath"), context.location("newPath")
        names = named(old, context.workspace), named(new, context.workspace)
        remark = await self._commits.make("rename_file", [Move(old, new)], context)
        return ToolResult(
            f"Renamed {names[0]} to {names[1]}{remark}",
            display=(_moved(old, new),),
            data={"oldPath": names[0], "newPath": names[1], "added": 0, "removed": 0},
        )

    async def _delete(self, arguments: DeleteFile, context: ToolContext) -> ToolResult:
        where = context.location("filePath")
        name = named(where, context.workspace)
        old = self._standing(where)
        diff = _without(where, old)
        drop = Drop(where, old.snapshot if old else None)
        remark = await self._commits.make("delete_file", [drop], context)
        counts = {"added": diff.added, "removed": diff.removed}
        return ToolResult(
            f"Deleted {name}{remark}", display=(diff,), data={"filePath": name, **counts}
        )

    def _renaming(self, arguments: RenameFile, locations: Mapping[str, Location]) -> Sequence[Diff]:
        old, new = locations.get("oldPath"), locations.get("newPath")
        return () if old is None or new is None else (_moved(old, new),)

    def _deleting(self, arguments: DeleteFile, locations: Mapping[str, Location]) -> Sequence[Diff]:
        where = locations.get("filePath")
        return () if where is None else (_without(where, self._standing(where)),)

    def _standing(self, where: Location) -> Replaced | None:
        """The regular file at a path; None for anything else."""
        try:
            return standing(self._files, where)
        except ToolError:
            return None


def _without(where: Location, old: Replaced | None) -> Diff:
    """All lines of a text file as removed; no lines for anything else."""
    return difference(printable(where.display_path), old.text if old else "", "")


def _moved(old: Location, new: Location) -> Diff:
    return Diff(printable(new.display_path), "", 0, 0, note=f"was {printable(old.display_path)}")


class FileOperations:
    """file_operations: read, find and change files, by the ports that can (seed 004).

    Without ``insight`` the four operations that need to understand code are left out, and without
    ``commands``, called when a checker runs, get_errors; without ``journal`` edits cannot be undone.
    """

    def __init__(
        self,
        files: EditableFiles,
        search: Search,
        *,
        journal: EditJournal | None = None,
        insight: Insight | None = None,
        commands: Callable[[], Commands] | None = None,
    ) -> None:
        commits = Commits(files, journal)
        self._recall = Recall()
        self._reading = Reading(files)
        self._searching = Searching(search, self._recall)
        self._editing = Editing(files, commits)
        self._several = SeveralReplacements(files, commits)
        self._moving = Moving(files, commits)
        self._patching = Patching(files, commits)
        self._indexing = self._usages = self._diagnosing = None
        if insight is not None:
            self._indexing = Indexing(insight.index, search, self._recall)
            self._usages = Usages(files, search, insight.symbols, self._recall)
            if commands is not None:
                self._diagnosing = Diagnosing(files, insight.checkers, commands)

    def tool(self) -> Tool:
        """The tool, ready to register."""
        return Tool(
            "file_operations",
            "Read, find and change files. Read a file before changing it.",
            tuple(self._operations()),
            local=True,
        )

    def _operations(self) -> Iterator[Operation[Any]]:
        yield self._reading.read_file()
        yield self._reading.list_dir()
        if self._diagnosing is not None:
            yield self._diagnosing.get_errors()
        yield self._recall.get_search_results()
        yield self._searching.file_search()
        yield self._searching.grep_search()
        if self._indexing is not None and self._usages is not None:
            yield self._indexing.semantic_search()
            yield self._usages.list_usages()
            yield self._indexing.search_index()
        yield self._editing.create_file()
        yield self._editing.replace_string()
        yield self._several.multi_replace_string()
        yield self._editing.insert_edit()
        yield self._moving.rename_file()
        yield self._moving.delete_file()
        yield self._patching.apply_patch()
