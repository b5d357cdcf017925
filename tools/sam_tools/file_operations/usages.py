"""list_usages: where a name is defined, declared, called and mentioned."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sam_tools.file_operations.arguments import ListUsages
from sam_tools.file_operations.names import counted, named
from sam_tools.file_operations.search import Recall
from sam_tui.core.accesses import Access, Location, Read
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Symbols, SymbolUsage
from sam_tui.core.ports.files import Files, GrepRequest, Search
from sam_tui.core.text.plain import gist
from sam_tui.core.tooling.contract import Operation, ToolContext, ToolResult

_MOST_HITS = 5000
_MOST_FILES = 500
_MOST_READ = 2_000_000
_MOST_SHOWN = 1000
_LONGEST_LINE = 200
_ORDER = ("definition", "declaration", "call", "reference", "text")


@dataclass(frozen=True, slots=True)
class _Found:
    """One usage, with the file and the text of its line."""

    path: str
    usage: SymbolUsage
    text: str


class Usages:
    """Finds the usages of a name: by text first, then by the grammar of each file."""

    def __init__(self, files: Files, search: Search, symbols: Symbols, recall: Recall) -> None:
        self._files = files
        self._search = search
        self._symbols = symbols
        self._recall = recall

    def list_usages(self) -> Operation[ListUsages]:
        """The operation ``list_usages``."""
        return Operation(
            "list_usages",
            "definitions, calls and references of a name, by syntax",
            ListUsages,
            self._list,
            lambda a: f"Finding usages: {gist(a.symbolName, 60)}",
            _accesses,
            inline_limit=24_000,
        )

    async def _list(self, arguments: ListUsages, context: ToolContext) -> ToolResult:
        holder, name = _split(arguments.symbolName)
        context.emit(f"Looking for files with {gist(name, 60)}\n")
        candidates, cut = await self._candidates(name, _locations(arguments, context))
        usages: list[_Found] = []
        unread = 0
        for number, where in enumerate(candidates):
            if number % 100 == 0:
                context.emit(f"{number} of {len(candidates)} files\n")
            try:
                usages += await asyncio.to_thread(self._in_file, where, name, context.workspace)
            except ToolError:
                unread += 1  # the file vanished, or its syntax is too unusual to be code
        usages = _held(usages, holder)
        result = _report(arguments, usages, files=len(candidates) - unread, cut=cut)
        return self._recall.keep("list_usages", result, context)

    async def _candidates(
        self, name: str, roots: Sequence[Location]
    ) -> tuple[list[Location], bool]:
        """Files that hold the name as a word, and whether there are more."""
        escaped = re.sub(r"([^\w])", r"\\\1", name)
        before = r"\b" if re.match(r"\w", name) else ""
        after = r"\b" if re.search(r"\w\Z", name) else ""
        files: dict[str, Location] = {}
        cut = False
        for where in roots:
            pattern = f"{before}{escaped}{after}"
            matches = await self._search.grep(
                GrepRequest(where, pattern, regex=True, case_sensitive=True, limit=_MOST_HITS)
            )
            cut = cut or matches.truncated
            for hit in matches.hits:
                file = where if hit.path == "." else _below(where, hit.path)
                files.setdefault(file.real, file)
        return list(files.values())[:_MOST_FILES], cut or len(files) > _MOST_FILES

    def _in_file(self, where: Location, name: str, workspace: str) -> list[_Found]:
        data = self._files.read(where, limit=_MOST_READ)
        usages = self._symbols.usages(where.real, data, name)
        if not usages:
            return []
        lines = data.split(b"\n")
        path = named(where, workspace)
        return [
            _Found(path, u, gist(lines[u.line - 1].decode("utf-8", "replace"), _LONGEST_LINE))
            for u in usages
        ]


def _accesses(arguments: ListUsages) -> Sequence[Access]:
    paths = arguments.filePaths
    if not paths:
        return [Read(".", "rootPath")]
    return [Read(path, f"filePaths[{index}]") for index, path in enumerate(paths)]


def _locations(arguments: ListUsages, context: ToolContext) -> list[Location]:
    if not arguments.filePaths:
        return [context.location("rootPath")]
    return [context.location(f"filePaths[{i}]") for i in range(len(arguments.filePaths))]


def _split(symbol: str) -> tuple[str, str]:
    """The holder of a dotted symbol (empty if there is none) and its own name."""
    text = symbol.strip().removesuffix("()")
    *holders, name = re.split(r"::|->|\.|#", text) if text else [""]
    if not name or re.search(r"\s", name):
        raise ToolError(f"{gist(symbol, 80)!r} is not a name.", hint="Pass one, such as read_file.")
    return (holders[-1] if holders else ""), name


def _held(usages: list[_Found], holder: str) -> list[_Found]:
    """For ``Class.name`` the definitions within that class, if there are any; else all usages."""
    if not holder:
        return usages
    definitions = {
        id(item)
        for item in usages
        if item.usage.kind == "definition" and item.usage.within.split(".")[-1] == holder
    }
    if not definitions:
        return usages
    return [item for item in usages if item.usage.kind != "definition" or id(item) in definitions]


def _report(arguments: ListUsages, usages: list[_Found], *, files: int, cut: bool) -> ToolResult:
    limit = min(arguments.limit, _MOST_SHOWN)
    kinds = Counter(item.usage.kind for item in usages)
    usages.sort(key=lambda i: (_ORDER.index(i.usage.kind), i.path, i.usage.line, i.usage.column))
    page = usages[:limit]
    counts = ", ".join(_counted(kinds[kind], kind) for kind in _ORDER if kinds[kind])
    symbol = gist(arguments.symbolName, 100)
    text = f"{symbol}: {counts} in {counted(files, 'file')}" if usages else f"no usage of {symbol}"
    notes = list(_notes(kinds["text"], len(usages) - len(page), cut=cut))
    data = {
        "symbolName": arguments.symbolName,
        "usages": [_described(item) for item in page],
        "count": len(page),
        "totalCount": len(usages),
        "counts": dict(kinds),
        "truncated": cut or len(page) < len(usages),
    }
    return ToolResult("\n".join(["; ".join([text, *notes]), *map(_line, page)]), data=data)


def _notes(by_text: int, left: int, *, cut: bool) -> Iterable[str]:
    if by_text:
        yield "text: no grammar for that language, so any mention of the word"
    if left:
        yield f"{left} more, raise limit or name filePaths"
    if cut:
        yield "not all files were looked at; name filePaths"


def _counted(count: int, kind: str) -> str:
    return f"{count} as text" if kind == "text" else counted(count, kind)


def _line(item: _Found) -> str:
    usage = item.usage
    within = f" in {usage.within}" if usage.within else ""
    return f"{usage.kind} {item.path}:{usage.line}:{usage.column}{within}: {item.text}"


def _described(item: _Found) -> dict[str, object]:
    usage = item.usage
    return {
        "path": item.path,
        "line": usage.line,
        "column": usage.column,
        "kind": usage.kind,
        "within": usage.within,
        "text": item.text,
    }


def _below(where: Location, path: str) -> Location:
    return Location(path, f"{where.real.rstrip('/')}/{path}", where.root)
