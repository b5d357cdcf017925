"""rename_file and delete_file."""

from collections.abc import Mapping, Sequence

from sam_tools.file_operations.arguments import DeleteFile, RenameFile
from sam_tools.file_operations.changes import Commits, difference
from sam_tools.file_operations.document import Replaced, standing
from sam_tools.file_operations.names import basename, named
from sam_tui.core.accesses import Location, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Drop, EditableFiles, Move
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult


class Moving:
    """What gives files other names, or takes them away."""

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
        remark = self._commits.make("rename_file", [Move(old, new)], context)
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
        remark = self._commits.make("delete_file", [drop], context)
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
        """The regular file that is there; None for anything else."""
        try:
            return standing(self._files, where)
        except ToolError:
            return None


def _without(where: Location, old: Replaced | None) -> Diff:
    """All lines of a text file as removed; no lines for anything else."""
    return difference(printable(where.display_path), old.text if old else "", "")


def _moved(old: Location, new: Location) -> Diff:
    return Diff(printable(new.display_path), "", 0, 0, note=f"was {printable(old.display_path)}")
