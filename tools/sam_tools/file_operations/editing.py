"""create_file, replace_string and insert_edit."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sam_tools.file_operations.arguments import CreateFile, InsertEdit, ReplaceString
from sam_tools.file_operations.candidates import nearest
from sam_tools.file_operations.changes import difference
from sam_tools.file_operations.content import old_text, text_of
from sam_tools.file_operations.document import Document, line_count
from sam_tools.file_operations.names import basename, counted, named, printable, sized
from sam_tui.core.accesses import Location, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports import Files
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult

_MOST_NAMED = 20

A = TypeVar("A", CreateFile, ReplaceString, InsertEdit)


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it would be written: computed first, shown for approval, then done."""

    data: bytes
    replace: bool
    diff: Diff
    told: str
    facts: Mapping[str, Any]


_Plan = Callable[[A, Location, str], Change]


class Editing:
    """What makes files and changes their content."""

    def __init__(self, files: Files) -> None:
        self._files = files

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
        async def run(given: A, context: ToolContext) -> ToolResult:
            where = context.location("filePath")
            shown = named(where, context.workspace)
            change = await asyncio.to_thread(plan, given, where, shown)
            # On the loop's own thread: once a call is cancelled, nothing of it is written later.
            self._files.write(where, change.data, replace=change.replace)
            counts = {"added": change.diff.added, "removed": change.diff.removed}
            data = {"filePath": shown, **counts, **change.facts}
            return ToolResult(change.told, display=(change.diff,), data=data)

        def preview(given: A, locations: Mapping[str, Location]) -> Sequence[Diff]:
            where = locations.get("filePath")
            if where is None:
                return ()
            try:
                return (plan(given, where, printable(where.shown)).diff,)
            except ToolError:
                return ()

        return Operation(
            name,
            about,
            arguments,
            run,
            lambda given: f"{doing}: {basename(given.filePath)}",
            lambda given: [Write(given.filePath, "filePath")],
            schedule=Schedule.BLOCKING,
            preview=preview,
        )

    def _created(self, arguments: CreateFile, where: Location, name: str) -> Change:
        old = old_text(self._files, where)
        if old is not None and not arguments.overwrite:
            raise ToolError(
                f"{name} already exists.",
                hint="Change it with replace_string, or pass overwrite: true to replace it whole.",
            )
        data = Document("", "utf-8", b"").encode(arguments.content)
        diff = difference(printable(where.shown), _lf(old or ""), _lf(arguments.content))
        lines = line_count(arguments.content)
        verb = "CREATED" if old is None else "OVERWRITTEN"
        told = f"{verb} {name} ({counted(lines, 'line')}, {sized(len(data))})"
        facts = {"created": old is None, "lines": lines, "bytes": len(data)}
        return Change(data, arguments.overwrite, diff, told, facts)

    def _replaced(self, arguments: ReplaceString, where: Location, name: str) -> Change:
        _refuse_pointless(arguments)
        document = text_of(self._files, where, name, whole=True).document
        text = document.text
        spots, replacement = _spots(document, arguments)
        if not spots:
            hint = nearest(text, arguments.oldString)
            raise ToolError(
                f"oldString does not occur in {name}; nothing was changed.",
                hint=hint or "Read the file and copy the text exactly, white space included.",
            )
        if len(spots) != arguments.expectedReplacements:
            raise _miscounted(text, spots, name, arguments.expectedReplacements)
        pieces: list[str] = []
        at = 0
        for begin, end in spots:
            pieces += (text[at:begin], replacement(text[begin:end]))
            at = end
        new = "".join([*pieces, text[at:]])
        diff = difference(printable(where.shown), _lf(text), _lf(new))
        times = counted(len(spots), "place")
        told = f"Replaced {times} in {name} (+{diff.added} -{diff.removed})"
        return Change(document.encode(new), True, diff, told, {"replacements": len(spots)})

    def _inserted(self, arguments: InsertEdit, where: Location, name: str) -> Change:
        document = text_of(self._files, where, name, whole=True).document
        new = _with_lines(document, arguments, name)
        diff = difference(printable(where.shown), _lf(document.text), _lf(new))
        verb = "Inserted at" if arguments.insertOperation == "insert" else "Replaced"
        told = f"{verb} line {arguments.lineNumber} of {name} (+{diff.added} -{diff.removed})"
        facts = {
            "lineNumber": arguments.lineNumber,
            "totalLines": line_count(new, document.separator),
        }
        return Change(document.encode(new), True, diff, told, facts)


def _lf(text: str) -> str:
    """Text for comparing: line ends are kept as they were, so they are no part of a difference."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refuse_pointless(arguments: ReplaceString) -> None:
    if not arguments.oldString:
        raise ToolError(
            "oldString is empty.", hint="Use insert_edit to add lines, or create_file for a file."
        )
    if arguments.oldString == arguments.newString:
        raise ToolError("oldString and newString are the same; nothing would change.")


def _spots(
    document: Document, arguments: ReplaceString
) -> tuple[list[tuple[int, int]], Callable[[str], str]]:
    """Where the old text stands, and what takes the place of each find.

    Newlines in it match whatever line ends the file has. Text that the host made harmless before
    showing it (``<\\system-reminder``) is looked for as the file has it, too.
    """
    for old, new in (
        (arguments.oldString, arguments.newString),
        (_as_stored(arguments.oldString), _as_stored(arguments.newString)),
    ):
        lines = re.split(r"\r\n|\n|\r", old)
        ends = re.escape(document.separator) if document.separator == "\r" else r"\r?\n"
        pattern = re.compile(ends.join(re.escape(line) for line in lines))
        spots = [match.span() for match in pattern.finditer(document.text)]
        if spots:
            return spots, lambda found, new=new: _with_ends(new, _end_in(found, document))
    return [], str


def _as_stored(text: str) -> str:
    return re.sub(r"<\\(\s*/?\s*system-reminder)", r"<\1", text, flags=re.IGNORECASE)


def _end_in(found: str, document: Document) -> str:
    """The line end to write: the one that is replaced, else the file's usual one."""
    match = re.search(r"\r\n|\n|\r", found)
    return match[0] if match else document.newline


def _with_ends(text: str, end: str) -> str:
    return re.sub(r"\r\n|\n|\r", lambda _: end, text)


def _miscounted(text: str, spots: Sequence[tuple[int, int]], name: str, expected: int) -> ToolError:
    separator = "\r" if "\n" not in text else "\n"
    lines: list[str] = []
    line, at = 1, 0
    for begin, _ in spots[:_MOST_NAMED]:
        line, at = line + text.count(separator, at, begin), begin
        lines.append(str(line))
    more = ", …" if len(spots) > _MOST_NAMED else ""
    return ToolError(
        f"oldString occurs {counted(len(spots), 'time')} in {name}, not {expected}: "
        f"{'line' if len(spots) == 1 else 'lines'} {', '.join(lines)}{more}. Nothing was changed.",
        hint="Add lines around it to name one place, or pass "
        f"expectedReplacements: {len(spots)} to replace all.",
    )


def _with_lines(document: Document, arguments: InsertEdit, name: str) -> str:
    """The text with the new lines in place, line ends and the end of the file kept."""
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
    body = _with_ends(arguments.newText, end)
    if inserting and not body:
        raise ToolError("newText is empty.", hint='Pass "\\n" for an empty line.')
    begin, stop = _line_span(text, separator, number)
    if inserting:
        if number <= total:
            return text[:begin] + _closed(body, end) + text[begin:]
        if not text or text.endswith(separator):
            return text + _closed(body, end)
        return text + end + body.removesuffix(end)
    kept = re.search(r"(?:\r\n|\n|\r)?\Z", text[begin:stop])
    ending = kept[0] if kept else ""
    if not body:
        return text[:begin] + text[stop:]
    return text[:begin] + body.removesuffix(end) + ending + text[stop:]


def _closed(body: str, end: str) -> str:
    return body if body.endswith(end) else body + end


def _line_span(text: str, separator: str, number: int) -> tuple[int, int]:
    """Where a line begins and where the next one does."""
    begin = 0
    for _ in range(number - 1):
        found = text.find(separator, begin)
        if found < 0:
            return len(text), len(text)
        begin = found + 1
    found = text.find(separator, begin)
    return begin, len(text) if found < 0 else found + 1
