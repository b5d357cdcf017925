"""create_file, replace_string, insert_edit, and multi_replace_string: all of its replacements or none."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sam_tools.file_operations.arguments import (
    CreateFile,
    InsertEdit,
    MultiReplaceString,
    ReplaceString,
)
from sam_tools.file_operations.changes import Commits, difference, lf, noted
from sam_tools.file_operations.document import Content, Document, line_count, standing, text_of
from sam_tools.file_operations.names import basename, counted, named, sized
from sam_tools.file_operations.replacement import replaced, with_ends
from sam_tui.core.accesses import Access, Location, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.inquiry import Draft
from sam_tui.core.ports.code import EditableFiles, Put
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult

_LARGEST_DRAFT = 200_000
"""The most characters of a file that a person can change before they allow the call."""


class SeveralReplacements:
    """Replaces texts in several places in one step."""

    def __init__(self, files: EditableFiles, commits: Commits) -> None:
        self._files = files
        self._commits = commits

    def multi_replace_string(self) -> Operation[MultiReplaceString]:
        """The operation ``multi_replace_string``."""
        return Operation(
            "multi_replace_string",
            "several replacements in one or more files, all or none",
            MultiReplaceString,
            self._replace,
            lambda a: f"Multi-edit: {_named(a)}",
            _accesses,
            schedule=Schedule.BLOCKING,
            preview=self._preview,
            example={
                "filePath": "<filePath>",
                "replacements": [{"oldString": "<oldString>", "newString": "<newString>"}],
            },
        )

    async def _replace(self, arguments: MultiReplaceString, context: ToolContext) -> ToolResult:
        locations = [
            context.location(_parameter(arguments, index))
            for index in range(len(arguments.replacements))
        ]
        puts, diffs = await asyncio.to_thread(self._planned, arguments, locations)
        remark = await self._commits.make("multi_replace_string", puts, context)
        added, removed = sum(d.added for d in diffs), sum(d.removed for d in diffs)
        replaced = sum(item.expectedReplacements for item in arguments.replacements)
        summaries = [f"{diff.path} (+{diff.added} -{diff.removed})" for diff in diffs]
        head = f"Replaced {counted(replaced, 'place')} in {counted(len(diffs), 'file')}"
        data = {
            "files": [diff.path for diff in diffs],
            "replacements": [item.expectedReplacements for item in arguments.replacements],
            "added": added,
            "removed": removed,
        }
        text = "\n".join([f"{head} (+{added} -{removed})", *summaries]) + remark
        return ToolResult(text, display=(*diffs, *noted(remark)), data=data)

    def _preview(
        self, arguments: MultiReplaceString, locations: Mapping[str, Location]
    ) -> Sequence[Diff]:
        items = range(len(arguments.replacements))
        candidates = [locations.get(_parameter(arguments, index)) for index in items]
        located = [where for where in candidates if where is not None]
        try:
            return (
                tuple(self._planned(arguments, located)[1])
                if len(located) == len(candidates)
                else ()
            )
        except ToolError:
            return ()

    def _planned(
        self, arguments: MultiReplaceString, locations: Sequence[Location]
    ) -> tuple[list[Put], list[Diff]]:
        """The new content of each file. Items of one file are applied in order."""
        contents: dict[str, tuple[Location, Content]] = {}
        texts: dict[str, str] = {}
        for index, (item, where) in enumerate(zip(arguments.replacements, locations, strict=True)):
            name = printable(where.display_path)
            if where.real not in contents:
                content = text_of(self._files, where, name, whole=True)
                contents[where.real] = where, content
                texts[where.real] = content.document.text
            document = contents[where.real][1].document
            now = Document(texts[where.real], document.encoding, document.mark)
            try:
                texts[where.real] = replaced(
                    now,
                    item.oldString,
                    item.newString,
                    expected=item.expectedReplacements,
                    name=name,
                )
            except ToolError as error:
                raise ToolError(
                    f"replacements[{index}]: {error} No file was changed.", hint=error.hint
                ) from None
        puts: list[Put] = []
        diffs: list[Diff] = []
        for real, (where, content) in contents.items():
            document = content.document
            puts.append(Put(where, document.encode(texts[real]), content.snapshot))
            diffs.append(
                difference(printable(where.display_path), lf(document.text), lf(texts[real]))
            )
        return puts, diffs


def _parameter(arguments: MultiReplaceString, index: int) -> str:
    own_path = arguments.replacements[index].filePath
    return f"replacements[{index}].filePath" if own_path else "filePath"


def _accesses(arguments: MultiReplaceString) -> Sequence[Access]:
    writes = {
        _parameter(arguments, index): Write(
            item.filePath or arguments.filePath, _parameter(arguments, index)
        )
        for index, item in enumerate(arguments.replacements)
    }
    return list(writes.values())


def _named(arguments: MultiReplaceString) -> str:
    paths = dict.fromkeys(item.filePath or arguments.filePath for item in arguments.replacements)
    if len(paths) == 1:
        return basename(next(iter(paths)))
    return counted(len(paths), "file")


A = TypeVar("A", CreateFile, ReplaceString, InsertEdit)


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """A computed edit of one file: a person approves it first, then it is written."""

    put: Put
    diff: Diff
    summary: str
    facts: Mapping[str, object]


def editable(change: PlannedEdit) -> Draft | None:
    """The new content for an editor; None where an editor would not return the same bytes."""
    try:
        text = change.put.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if len(text) > _LARGEST_DRAFT or "\r" in text or text.startswith("\ufeff"):
        return None
    return Draft(change.diff.path, text)


_Plan = Callable[[A, Location, str], PlannedEdit]


class Editing:
    """Creates files and changes their content."""

    def __init__(self, files: EditableFiles, commits: Commits) -> None:
        self._files = files
        self._commits = commits

    def create_file(self) -> Operation[CreateFile]:
        """The operation ``create_file``."""
        about = "new file, folders above are made"
        return self._operation("create_file", about, CreateFile, self._created, "Creating")

    def replace_string(self) -> Operation[ReplaceString]:
        """The operation ``replace_string``."""
        about = "replace exact text in a file"
        return self._operation("replace_string", about, ReplaceString, self._replaced, "Editing")

    def insert_edit(self) -> Operation[InsertEdit]:
        """The operation ``insert_edit``."""
        about = "insert lines, or replace one line, by number"
        return self._operation("insert_edit", about, InsertEdit, self._inserted, "Inserting in")

    def _operation(
        self, name: str, about: str, arguments: type[A], plan: _Plan[A], doing: str
    ) -> Operation[A]:
        async def run(arguments: A, context: ToolContext) -> ToolResult:
            where = context.location("filePath")
            shown_path = named(where, context.workspace)
            change = await asyncio.to_thread(plan, arguments, where, shown_path)
            remark = await self._commits.make(name, [change.put], context)
            counts = {"added": change.diff.added, "removed": change.diff.removed}
            data = {"filePath": shown_path, **counts, **change.facts}
            displays = (change.diff, *noted(remark))
            return ToolResult(change.summary + remark, display=displays, data=data)

        def preview(arguments: A, locations: Mapping[str, Location]) -> Sequence[Diff]:
            where = locations.get("filePath")
            if where is None:
                return ()
            try:
                return (plan(arguments, where, printable(where.display_path)).diff,)
            except ToolError:
                return ()

        def draft(arguments: A, locations: Mapping[str, Location]) -> Draft | None:
            where = locations.get("filePath")
            if where is None:
                return None
            try:
                return editable(plan(arguments, where, printable(where.display_path)))
            except ToolError:
                return None

        return Operation(
            name,
            about,
            arguments,
            run,
            lambda arguments: f"{doing}: {basename(arguments.filePath)}",
            lambda arguments: [Write(arguments.filePath, "filePath")],
            schedule=Schedule.BLOCKING,
            preview=preview,
            draft=draft,
            amend=lambda arguments, text: (
                self.create_file(),
                CreateFile(filePath=arguments.filePath, content=text, overwrite=True),
            ),
        )

    def _created(self, arguments: CreateFile, where: Location, name: str) -> PlannedEdit:
        old = standing(self._files, where)
        if old is not None and not arguments.overwrite:
            raise ToolError(
                f"{name} already exists.",
                hint="Change it with replace_string, or pass overwrite: true to replace it whole.",
            )
        data = Document("", "utf-8", b"").encode(arguments.content)
        before = old.text if old else ""
        diff = difference(printable(where.display_path), lf(before), lf(arguments.content))
        lines = line_count(arguments.content)
        verb = "CREATED" if old is None else "OVERWRITTEN"
        summary = f"{verb} {name} ({counted(lines, 'line')}, {sized(len(data))})"
        facts = {"created": old is None, "lines": lines, "bytes": len(data)}
        put = Put(where, data, old.snapshot if old else None)
        return PlannedEdit(put, diff, summary, facts)

    def _replaced(self, arguments: ReplaceString, where: Location, name: str) -> PlannedEdit:
        content = text_of(self._files, where, name, whole=True)
        old, times = content.document.text, arguments.expectedReplacements
        new = replaced(
            content.document, arguments.oldString, arguments.newString, expected=times, name=name
        )
        diff = difference(printable(where.display_path), lf(old), lf(new))
        summary = f"Replaced {counted(times, 'place')} in {name} (+{diff.added} -{diff.removed})"
        put = Put(where, content.document.encode(new), content.snapshot)
        return PlannedEdit(put, diff, summary, {"replacements": times})

    def _inserted(self, arguments: InsertEdit, where: Location, name: str) -> PlannedEdit:
        content = text_of(self._files, where, name, whole=True)
        document = content.document
        new = _with_lines(document, arguments, name)
        diff = difference(printable(where.display_path), lf(document.text), lf(new))
        verb = "Inserted at" if arguments.insertOperation == "insert" else "Replaced"
        summary = f"{verb} line {arguments.lineNumber} of {name} (+{diff.added} -{diff.removed})"
        facts = {
            "lineNumber": arguments.lineNumber,
            "totalLines": line_count(new, document.separator),
        }
        return PlannedEdit(Put(where, document.encode(new), content.snapshot), diff, summary, facts)


def _inserted(document: Document, at: int | None, body: str) -> str:
    """Return the text with new lines before the line at ``at``, or after the last one."""
    text, end = document.text, document.newline
    if at is not None:
        return text[:at] + _closed(body, end) + text[at:]
    if not text or text.endswith(document.separator):
        return text + _closed(body, end)
    return text + end + body.removesuffix(end)


def _with_lines(document: Document, arguments: InsertEdit, name: str) -> str:
    """The text with the new lines in it; the file's line ends and its last newline do not change."""
    text, separator = document.text, document.separator
    total, number = document.lines, arguments.lineNumber
    inserting = arguments.insertOperation == "insert"
    last = total + 1 if inserting else total
    if not 1 <= number <= last:
        raise ToolError(
            f"lineNumber {number} is out of range: {name} has {counted(total, 'line')}"
            + (f", so 1-{last} can be used." if last else ", so there is none to replace.")
        )
    end = document.newline
    body = with_ends(arguments.newText, end)
    if inserting and not body:
        raise ToolError("newText is empty.", hint='Pass "\\n" for an empty line.')
    begin, stop = _line_span(text, separator, number)
    if inserting:
        return _inserted(document, begin if number <= total else None, body)
    match = re.search(r"(?:\r\n|\n|\r)?\Z", text[begin:stop])
    ending = match[0] if match else ""
    if not body:
        return text[:begin] + text[stop:]
    return text[:begin] + body.removesuffix(end) + ending + text[stop:]


def _closed(body: str, end: str) -> str:
    return body if body.endswith(end) else body + end


def _line_span(text: str, separator: str, number: int) -> tuple[int, int]:
    """The offsets at which a line and the next one begin."""
    begin = 0
    for _ in range(number - 1):
        line_end = text.find(separator, begin)
        if line_end < 0:
            return len(text), len(text)
        begin = line_end + 1
    line_end = text.find(separator, begin)
    return begin, len(text) if line_end < 0 else line_end + 1
