"""read_file and list_dir."""

import asyncio
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sam_tools.file_operations.arguments import ListDir, ReadFile
from sam_tools.file_operations.document import MOST_READ, Content, text_of
from sam_tools.file_operations.names import basename, counted, dated, named, sized
from sam_tui.core.accesses import Read
from sam_tui.core.ports.code import EditableFiles
from sam_tui.core.ports.files import FileStat
from sam_tui.core.prompt.images import ENDINGS, LARGEST, image_of
from sam_tui.core.prompt.reminders import described
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import Operation, ToolContext, ToolResult

_MOST_TOKENS = 10_000
_CHARACTERS_PER_TOKEN = 4
_LONGEST_LINE = 2000
_MOST_ENTRIES = 1000


class Reading:
    """Reads files and lists folders."""

    def __init__(self, files: EditableFiles) -> None:
        self._files = files

    def read_file(self) -> Operation[ReadFile]:
        """The operation ``read_file``."""
        return Operation(
            "read_file",
            "text of a file, 2000 lines from offset",
            ReadFile,
            self._read,
            lambda a: f"Reading: {basename(a.filePath)}",
            lambda a: [Read(a.filePath, "filePath")],
            inline_limit=48_000,
        )

    def list_dir(self) -> Operation[ListDir]:
        """The operation ``list_dir``."""
        return Operation(
            "list_dir",
            "entries of a folder, hidden ones left out",
            ListDir,
            self._list,
            lambda a: f"Listing: {basename(a.path or '.')}",
            lambda a: [Read(a.path or ".", "path")],
            inline_limit=48_000,
        )

    async def _read(self, arguments: ReadFile, context: ToolContext) -> ToolResult:
        where = context.location("filePath")
        name = named(where, context.workspace)
        if name.lower().endswith(ENDINGS):
            data = await asyncio.to_thread(self._files.read, where, limit=LARGEST + 1)
            image = image_of(basename(name), data)
            if image is not None:
                text = f"{name}: you are shown {described(image)}"
                return ToolResult(text, data={"filePath": name}, images=(image,))
        return await asyncio.to_thread(
            lambda: _shown(name, text_of(self._files, where, name, whole=False), arguments)
        )

    async def _list(self, arguments: ListDir, context: ToolContext) -> ToolResult:
        where = context.location("path")
        name = named(where, context.workspace)
        listed = await asyncio.to_thread(self._files.list, where)
        entries = [entry for entry in listed if not entry.name.startswith(".")]
        limit = min(arguments.limit, _MOST_ENTRIES)
        page = entries[arguments.offset : arguments.offset + limit]
        reached = arguments.offset + len(page)
        text = f"{name}: {counted(len(entries), 'entry', 'entries')}"
        if page and len(page) < len(entries):
            text += f", {arguments.offset + 1}-{reached} shown"
        elif entries and not page:
            text += f", none after {arguments.offset}"
        if reached < len(entries) and page:
            text += f"; go on with offset={reached}"
        data = {
            "path": name,
            "entries": [_entry(entry) for entry in page],
            "count": len(page),
            "totalCount": len(entries),
            "hasMore": reached < len(entries),
            "offset": arguments.offset,
            "limit": limit,
        }
        return ToolResult("\n".join([text, *map(_line, page)]), data=data)


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a file that a call returns."""

    lines: Sequence[str]
    clipped: int
    token_limited: bool

    @property
    def text(self) -> str:
        return "".join(self.lines)


def _shown(name: str, content: Content, arguments: ReadFile) -> ToolResult:
    document = content.document
    total = document.lines
    first = max(arguments.offset, 1)
    window = _window(document.text, document.separator, first, arguments.limit)
    returned = len(window.lines)
    last = first + returned - 1
    truncated = last < total or first > 1 or not content.whole or window.clipped > 0
    notes = list(_notes(content, total, first, last, window, arguments.limit))
    traits = f" ({document.traits})" if document.traits else ""
    header = f"{name}{traits}: {'; '.join(notes)}"
    data = {
        "filePath": name,
        "content": window.text,
        "totalLines": total,
        "returnedLines": returned,
        "truncated": truncated,
        "estimatedTokens": -(-len(window.text) // _CHARACTERS_PER_TOKEN),
        "tokenLimited": window.token_limited,
        "offset": first,
        "limit": arguments.limit,
        "encoding": document.encoding,
        "sizeBytes": content.size,
        "complete": content.whole,
    }
    return ToolResult(f"{header}\n{window.text}", data=data)


def _extent(total: int, first: int, last: int) -> str:
    """Return which lines were read, in words; ``last`` is 0 if the file ends before ``first``."""
    if not last:
        return f"nothing at line {first}, the file has {counted(total, 'line')}"
    whole = first == 1 and last == total
    return counted(total, "line") if whole else f"lines {first}-{last} of {total}"


def _notes(
    content: Content, total: int, first: int, last: int, window: _Window, limit: int
) -> Iterator[str]:
    if total == 0:
        yield "the file is empty"
        return
    yield _extent(total, first, last if window.lines else 0)
    if window.token_limited:
        yield f"cut at {_MOST_TOKENS} tokens"
    if window.lines and last < total:
        yield f"go on with offset={last + 1}"
    if window.clipped:
        yield f"{counted(window.clipped, 'line')} cut after {_LONGEST_LINE} characters (…)"
    if content.document.encoding == "latin-1":
        yield "not UTF-8, so read as Latin-1"
    if not content.whole:
        yield (
            f"the file has {sized(content.size)}, only the first {sized(MOST_READ)} can be read "
            "here; find the rest with grep_search or in the terminal"
        )


def _window(text: str, separator: str, first: int, limit: int) -> _Window:
    """Lines from ``first`` on, up to the limits, their ends as LF."""
    lines: list[str] = []
    clipped, room = 0, _MOST_TOKENS * _CHARACTERS_PER_TOKEN
    at = _start_of(text, separator, first)
    while 0 <= at < len(text) and len(lines) < limit:
        end = text.find(separator, at)
        stop = len(text) if end < 0 else end
        ending = "" if end < 0 else "\n"
        body = text[at : min(stop, at + _LONGEST_LINE + 1)].removesuffix("\r")
        long = stop - at > _LONGEST_LINE and len(body) > _LONGEST_LINE
        line = (body[:_LONGEST_LINE] + "…" if long else body) + ending
        if len(line) > room and lines:
            return _Window(lines, clipped, token_limited=True)
        room -= len(line)
        clipped += long
        lines.append(line)
        at = stop + 1
    return _Window(lines, clipped, token_limited=False)


def _start_of(text: str, separator: str, line: int) -> int:
    """Return the index at which a line begins, or -1 past the end."""
    at = 0
    for _ in range(line - 1):
        at = text.find(separator, at) + 1
        if at == 0:
            return -1
    return at


def _entry(entry: FileStat) -> dict[str, str | int | bool]:
    return {
        "name": printable(entry.name),
        "isDirectory": entry.kind == "directory",
        "size": entry.size,
        "modifiedDate": dated(entry.mtime),
        "permissions": stat.filemode(entry.mode)[1:],
    }


def _line(entry: FileStat) -> str:
    name = printable(entry.name)
    match entry.kind:
        case "directory":
            return f"{name}/"
        case "link":
            return f"{name}@"
        case "other":
            return f"{name} (special)"
        case "file":
            return f"{name}  {sized(entry.size)}"
