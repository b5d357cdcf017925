"""apply_patch: a patch over several files, made as a whole or not at all."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sam_tools.file_operations.arguments import ApplyPatch
from sam_tools.file_operations.changes import difference, lf
from sam_tools.file_operations.commits import Commits
from sam_tools.file_operations.content import Content, text_of
from sam_tools.file_operations.document import Document
from sam_tools.file_operations.names import basename, counted
from sam_tools.file_operations.patch import FilePatch, Patch, created, parse, patched
from sam_tools.file_operations.replacing import as_stored
from sam_tui.core.accesses import Access, Location, Read, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.plain import printable
from sam_tui.core.ports.code import Drop, EditableFiles, EditStep, Move, Put
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult

_Locate = Callable[[str], Location | None]
_Ends = tuple[Location, Location]


@dataclass
class _Draft:
    """The edit as it grows: steps to make, diffs to show, lines to tell."""

    steps: list[EditStep] = field(default_factory=list[EditStep])
    diffs: list[Diff] = field(default_factory=list[Diff])
    told: list[str] = field(default_factory=list[str])
    updated: dict[str, int] = field(default_factory=dict[str, int])
    """Where in ``steps`` a file's new content is, by real path."""
    texts: dict[str, tuple[Content, Document]] = field(
        default_factory=dict[str, tuple[Content, Document]]
    )
    used: set[str] = field(default_factory=set[str])
    freed: set[str] = field(default_factory=set[str])


class Patching:
    """What changes files by a patch."""

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
        draft = await asyncio.to_thread(self._drafted, arguments, context.location)
        added = sum(diff.added for diff in draft.diffs)
        removed = sum(diff.removed for diff in draft.diffs)
        counts = f"{counted(len(draft.diffs), 'file')} (+{added} -{removed})"
        data = {
            "files": [diff.path for diff in draft.diffs],
            "added": added,
            "removed": removed,
            "dryRun": arguments.dry_run,
        }
        if arguments.dry_run:
            hunks = [f"{diff.path}\n{diff.unified}" for diff in draft.diffs]
            text = "\n".join([f"Dry run, nothing was changed: {counts}", *draft.told, *hunks])
            return ToolResult(text, display=tuple(draft.diffs), data=data)
        remark = self._commits.make("apply_patch", draft.steps, context)
        text = "\n".join([f"Patched {counts}", *draft.told]) + remark
        return ToolResult(text, display=tuple(draft.diffs), data=data)

    def _preview(self, arguments: ApplyPatch, locations: Mapping[str, Location]) -> Sequence[Diff]:
        try:
            return tuple(self._drafted(arguments, locations.get).diffs)
        except ToolError:
            return ()

    def _drafted(self, arguments: ApplyPatch, locate: _Locate) -> _Draft:
        """The whole edit, computed. Raises ``ToolError`` for the first part that cannot be made."""
        try:
            return self._composed(arguments.patch, locate)
        except ToolError:
            # The patch may repeat text that was made harmless before it was shown.
            stored = as_stored(arguments.patchContent)
            if stored == arguments.patchContent:
                raise
            return self._composed(parse(stored, arguments.filePath), locate)

    def _composed(self, patch: Patch, locate: _Locate) -> _Draft:
        draft = _Draft()
        for index, file in enumerate(patch.files):
            source = locate(f"patchContent[{index}]")
            target = locate(f"patchContent[{index}].to") if file.path != file.target else source
            if source is None or target is None:
                raise ToolError("A path of the patch could not be located.")
            self._add(draft, file, (source, target), patch)
        if not draft.steps:
            raise ToolError("The patch changes nothing: all its lines are context.")
        return draft

    def _add(self, draft: _Draft, file: FilePatch, places: _Ends, patch: Patch) -> None:
        source, target = places
        plain = file.kind == "update" and not file.renamed
        # What is copied is what stood there before the patch, whatever else happens to it.
        ends = (target,) if file.kind == "copy" else (source, target)
        for where in {end.real: end for end in ends}.values():
            if where.real in draft.used and not (plain and where.real in draft.texts):
                raise ToolError(
                    f"{printable(where.shown)} is named by two parts of the patch.",
                    hint="Put all changes of a file into one part, or make two calls.",
                )
        draft.used |= {end.real for end in ends}
        match file.kind:
            case "create":
                self._create(draft, file, target, created(file, printable(target.shown)))
            case "delete":
                self._delete(draft, file, source, patch)
            case "copy":
                _, document = self._read(source, file)
                text, _ = patched(document, file, printable(source.shown), style=patch.style)
                self._create(draft, file, target, text, like=document)
            case "update":
                self._update(draft, file, places, patch)

    def _create(
        self,
        draft: _Draft,
        file: FilePatch,
        where: Location,
        text: str,
        *,
        like: Document | None = None,
    ) -> None:
        name = printable(where.shown)
        if self._files.stat(where) is not None and where.real not in draft.freed:
            raise ToolError(
                f"{name} already exists, and the patch makes it new.",
                hint="Update it instead, or delete it first.",
            )
        data = (like or Document("", "utf-8", b"")).encode(text)
        draft.steps.append(Put(where, data, None, executable=file.executable))
        draft.diffs.append(difference(name, "", lf(text)))
        draft.told.append(f"A {name}")

    def _delete(self, draft: _Draft, file: FilePatch, where: Location, patch: Patch) -> None:
        name = printable(where.shown)
        if file.unseen:
            old, before = self._removable(where)
        else:
            content, document = self._read(where, file)
            old, before = content.document.text, content.snapshot
            rest, _ = patched(document, file, name, style=patch.style)
            if rest:
                left = counted(len(rest.splitlines()), "line")
                raise ToolError(
                    f"{name} is to be deleted, but {left} of it are not in the patch.",
                    hint="Read the file again, or delete it with delete_file.",
                )
        draft.steps.append(Drop(where, before))
        draft.freed.add(where.real)
        draft.diffs.append(difference(name, lf(old), ""))
        draft.told.append(f"D {name}")

    def _removable(self, where: Location):
        """What an unseen deletion takes away: its text, as far as it is one, and what it was."""
        found = self._files.stat(where)
        if found is None:
            raise ToolError(f"{printable(where.shown)} cannot be deleted: not found.")
        if found.kind != "file":
            return "", None
        try:
            content = text_of(self._files, where, printable(where.shown), whole=True)
        except ToolError:
            return "", None
        return content.document.text, content.snapshot

    def _update(self, draft: _Draft, file: FilePatch, ends: _Ends, patch: Patch) -> None:
        source, target = ends
        name = printable(source.shown)
        if self._begins_a_file(file, source):
            self._create(draft, file, source, created(file, name))
            return
        content, document = draft.texts.get(source.real) or self._read(source, file)
        old = document.text
        new, remarks = patched(document, file, name, style=patch.style)
        counts = difference(name, lf(old), lf(new))
        changes = new != old or file.executable is not None
        put = Put(target, document.encode(new), content.snapshot, executable=file.executable)
        if file.renamed:
            self._insist_free(draft, target)
            draft.steps.append(Move(source, target))
            draft.freed.add(source.real)
            draft.steps += [put] if changes else []
            shown = f"{name} -> {printable(target.shown)}"
            draft.diffs.append(Diff(shown, counts.unified, counts.added, counts.removed))
            draft.told.append(f"R {shown}")
        elif changes:
            self._put(draft, put, content, replace(document, text=new))
            draft.told.append(f"M {name} (+{counts.added} -{counts.removed})")
        else:
            draft.told.append(f"= {name}: nothing to change, it is so already")
        draft.told += [f"  {remark}" for remark in remarks]

    def _put(self, draft: _Draft, put: Put, content: Content, new: Document) -> None:
        """One write for each file, however many parts of the patch change it."""
        name, real = printable(put.where.shown), put.where.real
        diff = difference(name, lf(content.document.text), lf(new.text.removeprefix("\ufeff")))
        draft.texts[real] = content, new
        if real in draft.updated:
            earlier = draft.steps[draft.updated[real]]
            if put.executable is None and isinstance(earlier, Put):
                put = replace(put, executable=earlier.executable)
            draft.steps[draft.updated[real]] = put
            at = next(i for i, known in enumerate(draft.diffs) if known.path == name)
            draft.diffs[at] = diff
            return
        draft.updated[real] = len(draft.steps)
        draft.steps.append(put)
        draft.diffs.append(diff)

    def _read(self, where: Location, file: FilePatch) -> tuple[Content, Document]:
        """What stands there, and the document that the patch speaks of."""
        content = text_of(self._files, where, printable(where.shown), whole=True)
        document = content.document
        return content, document.spelt() if file.spells_mark else document

    def _begins_a_file(self, file: FilePatch, where: Location) -> bool:
        """Whether an update only adds lines to a file that is not there: it means a new one."""
        only_new = bool(file.hunks) and not any(hunk.old for hunk in file.hunks)
        return only_new and not file.renamed and self._files.stat(where) is None

    def _insist_free(self, draft: _Draft, where: Location) -> None:
        if self._files.stat(where) is not None and where.real not in draft.freed:
            raise ToolError(
                f"{printable(where.shown)} already exists, and the patch renames to it.",
                hint="Choose another name, or delete it first.",
            )


def _summary(arguments: ApplyPatch) -> str:
    try:
        files = arguments.patch.files
    except ToolError:
        return "Patching"
    if len(files) == 1:
        return f"Patching: {basename(files[0].path)}"
    return f"Patching: {counted(len(files), 'file')}"


def _accesses(arguments: ApplyPatch) -> Sequence[Access]:
    """Every path in the patch. Renamed, deleted and made names are meant themselves, as links too."""
    found: list[Access] = []
    for index, file in enumerate(arguments.patch.files):
        moves = file.renamed or file.kind == "delete"
        source, parameter = _path(arguments, file.path), f"patchContent[{index}]"
        if file.kind == "copy":
            found.append(Read(source, parameter))
        else:
            found.append(Write(source, parameter, follow=not moves))
        if file.target != file.path:
            found.append(Write(_path(arguments, file.target), f"{parameter}.to", follow=False))
    return found


def _path(arguments: ApplyPatch, path: str) -> str:
    base = arguments.target_directory
    if not base or path.startswith(("/", "~")) or path == arguments.filePath:
        return path
    return f"{base.rstrip('/')}/{path}"
