"""apply_patch: a patch over several files, made as a whole or not at all."""

import asyncio
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sam_tools.file_operations.arguments import ApplyPatch
from sam_tools.file_operations.changes import Commits, noted
from sam_tools.file_operations.names import basename, counted
from sam_tools.file_operations.replacement import as_stored
from sam_tui.core.accesses import Access, Location, Read, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditableFiles, EditStep
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult

if TYPE_CHECKING:
    from sam_tools.file_operations.drafts import PatchDraft
    from sam_tools.file_operations.patch import Patch

_Locate = Callable[[str], Location | None]
_Drafted = tuple["PatchDraft", list[EditStep], list[Diff]]


class Patching:
    """Changes files by a patch."""

    def __init__(self, files: EditableFiles, commits: Commits) -> None:
        self._files = files
        self._commits = commits

    def apply_patch(self) -> Operation[ApplyPatch]:
        """The operation ``apply_patch``."""
        return Operation(
            "apply_patch",
            "patch files, all or none: update, create, delete, rename",
            ApplyPatch,
            self._apply,
            _summary,
            _accesses,
            schedule=Schedule.BLOCKING,
            preview=self._preview,
            inline_limit=24_000,
        )

    async def _apply(self, arguments: ApplyPatch, context: ToolContext) -> ToolResult:
        draft, steps, diffs = await asyncio.to_thread(self._drafted, arguments, context.location)
        added = sum(diff.added for diff in diffs)
        removed = sum(diff.removed for diff in diffs)
        counts = f"{counted(len(diffs), 'file')} (+{added} -{removed})"
        data = {
            "files": [diff.path for diff in diffs],
            "added": added,
            "removed": removed,
            "dryRun": arguments.dry_run,
        }
        if arguments.dry_run:
            hunks = [f"{diff.path}\n{diff.unified}" for diff in diffs]
            text = "\n".join([f"Dry run, nothing was changed: {counts}", *draft.remarks, *hunks])
            return ToolResult(text, display=tuple(diffs), data=data)
        remark = await self._commits.make("apply_patch", steps, context)
        text = "\n".join([f"Patched {counts}", *draft.remarks]) + remark
        return ToolResult(text, display=(*diffs, *noted(remark)), data=data)

    def _preview(self, arguments: ApplyPatch, locations: Mapping[str, Location]) -> Sequence[Diff]:
        try:
            return tuple(self._drafted(arguments, locations.get)[2])
        except ToolError:
            return ()

    def _drafted(self, arguments: ApplyPatch, locate: _Locate) -> _Drafted:
        """The whole edit, computed. Raises ``ToolError`` for the first part that cannot be applied."""
        try:
            return self._composed(arguments.patch, locate)
        except ToolError:
            from sam_tools.file_operations.patch import parse

            # The patch may repeat text that was made harmless before it was shown.
            stored = as_stored(arguments.patchContent)
            if stored == arguments.patchContent:
                raise
            return self._composed(parse(stored, arguments.filePath), locate)

    def _composed(self, patch: "Patch", locate: _Locate) -> _Drafted:
        ends: list[tuple[Location, Location]] = []
        for index, file in enumerate(patch.files):
            source = locate(f"patchContent[{index}]")
            target = locate(f"patchContent[{index}].to") if file.path != file.target else source
            if source is None or target is None:
                raise ToolError("A path of the patch could not be located.")
            ends.append((source, target))
        from sam_tools.file_operations.drafts import PatchDraft

        draft = PatchDraft(self._files, patch)
        draft.compose(ends)
        steps = draft.steps()
        if not steps:
            raise ToolError("The patch changes nothing: all its lines are context.")
        return draft, steps, draft.diffs()


def _summary(arguments: ApplyPatch) -> str:
    try:
        files = arguments.patch.files
    except ToolError:
        return "Patching"
    if len(files) == 1:
        return f"Patching: {basename(files[0].path)}"
    return f"Patching: {counted(len(files), 'file')}"


def _accesses(arguments: ApplyPatch) -> Sequence[Access]:
    """An access for every path in the patch. The names in a git header, a rename or a deletion are not
    followed if they are links; the target of a new link is judged like a file that is written."""
    accesses: list[Access] = []
    for index, file in enumerate(arguments.patch.files):
        itself = file.renamed or file.kind == "delete" or file.exact
        source, parameter = _path(arguments, file.path), f"patchContent[{index}]"
        target = _path(arguments, file.target)
        if file.kind == "copy":
            accesses.append(Read(source, parameter))
        else:
            accesses.append(Write(source, parameter, follow=not itself))
        if file.target != file.path:
            accesses.append(Write(target, f"{parameter}.to", follow=False))
        if file.link_target:
            lies_in = posixpath.dirname(target)
            accesses.append(Write(posixpath.join(lies_in, file.link_target), f"{parameter}.link"))
    return accesses


def _path(arguments: ApplyPatch, path: str) -> str:
    base = arguments.target_directory
    if not base or path.startswith(("/", "~")) or path == arguments.filePath:
        return path
    return f"{base.rstrip('/')}/{path}"
