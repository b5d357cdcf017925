"""semantic_search and search_index: queries of the workspace's index."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sam_tools.file_operations.arguments import SearchIndex, SemanticSearch
from sam_tools.file_operations.names import counted, dated, sized
from sam_tools.file_operations.search import Recall
from sam_tui.core.accesses import Location, Read
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import CodeIndex, FileFilter, IndexedFile, Passage
from sam_tui.core.ports.files import FileMatches, Search
from sam_tui.core.text.plain import gist, printable
from sam_tui.core.tooling.contract import Operation, ToolContext, ToolResult

_MOST_PASSAGES = 100
_LARGEST = 2**62
"""A size in bytes beyond every file, which a database can still compare."""
_MOST_FILES = 1000
_MOST_LISTED = 200_000
_SHOWN_LINES = 12
_LONGEST_LINE = 160
_MOST_SYMBOLS = 8


class Indexing:
    """Queries the index, after updating it."""

    def __init__(self, index: CodeIndex, search: Search, recall: Recall) -> None:
        self._index = index
        self._search = search
        self._recall = recall

    def semantic_search(self) -> Operation[SemanticSearch]:
        """The operation ``semantic_search``."""
        return Operation(
            "semantic_search",
            "code passages that fit words or identifiers best, ranked; limit 20",
            SemanticSearch,
            self._passages,
            lambda a: f"Semantic search: {gist(a.query, 60)}",
            lambda _: [Read(".", "rootPath")],
            inline_limit=24_000,
        )

    def search_index(self) -> Operation[SearchIndex]:
        """The operation ``search_index``."""
        return Operation(
            "search_index",
            "files by name, extension, size and date",
            SearchIndex,
            self._files,
            _summary,
            lambda _: [Read(".", "rootPath")],
            inline_limit=24_000,
        )

    async def _passages(self, arguments: SemanticSearch, context: ToolContext) -> ToolResult:
        where = context.location("rootPath")
        limit = min(arguments.limit, _MOST_PASSAGES)
        context.emit("Looking for changed files\n")
        state = await self._index.update(where, context.emit)
        context.emit(f"Ranking passages of {counted(state.files, 'file')}\n")
        listing = await self._included(where, arguments.includePattern)
        paths = listing.paths if listing else None
        passages = await self._index.passages(where, arguments.query, paths=paths, limit=limit)
        files = len({passage.path for passage in passages})
        text = f"{counted(len(passages), 'passage')} in {counted(files, 'file')}, best first"
        if not passages:
            text = f"nothing for {gist(arguments.query, 200)} in {counted(state.files, 'file')}"
        if state.waiting:
            text += f"; {counted(state.waiting, 'file')} not indexed yet, search again for those"
        text += _unlisted(state.cut or (listing.cut if listing else ""))
        words = _words(arguments.query)
        excerpts = [_excerpt(passage, words) for passage in passages]
        data = {
            "query": arguments.query,
            "results": [_described(passage) for passage in passages],
            "count": len(passages),
            "indexedFiles": state.files,
            "waitingFiles": state.waiting,
        }
        result = ToolResult("\n".join([text, *excerpts]), data=data)
        return self._recall.keep("semantic_search", result, context)

    async def _included(self, where: Location, pattern: str) -> FileMatches | None:
        """The paths that match a glob; None for all paths. A folder's name matches all below
        it."""
        if not pattern:
            return None
        relative = pattern.removeprefix(where.real.rstrip("/") + "/")
        if not re.search(r"[*?\[{]", relative):
            relative = f"{{{relative},{relative.rstrip('/')}/**}}"
        return await self._search.files(where, relative, limit=_MOST_LISTED, offset=0)

    async def _files(self, arguments: SearchIndex, context: ToolContext) -> ToolResult:
        where = context.location("rootPath")
        limit = min(arguments.limit, _MOST_FILES)
        chosen = FileFilter(
            arguments.query,
            arguments.extension,
            min(arguments.minSize, _LARGEST),
            min(arguments.maxSize, _LARGEST),
            _seconds("modifiedAfter", arguments.modifiedAfter),
            _seconds("modifiedBefore", arguments.modifiedBefore),
        )
        context.emit("Looking for changed files\n")
        state = await self._index.scan(where, fresh=arguments.refresh)
        files, total = await self._index.files(where, chosen, limit=limit)
        text = f"{total} of {counted(state.files, 'file')}"
        if len(files) < total:
            text += f", the first {len(files)} shown; narrow it or raise limit"
        text += _unlisted(state.cut)
        data = {
            "matches": [
                {"path": printable(f.path), "size": f.size, "modifiedDate": dated(f.mtime)}
                for f in files
            ],
            "count": len(files),
            "totalCount": total,
            "indexedFiles": state.files,
        }
        return ToolResult("\n".join([text, *map(_line, files)]), data=data)


def _unlisted(cut: str) -> str:
    """A remark where there was not enough time to list every file of the folder."""
    return f"; listing the files {cut}: there may be more, name a folder below" if cut else ""


def _summary(arguments: SearchIndex) -> str:
    if arguments.query or not arguments.extension:
        return f"Searching index: {gist(arguments.query or 'all files', 50)}"
    return f"Finding .{gist(arguments.extension.lstrip('.'), 20)} files"


def _seconds(name: str, date: str) -> float:
    """An ISO date or time in seconds since the epoch; 0 for none."""
    if not date:
        return 0.0
    try:
        parsed = datetime.fromisoformat(date.strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise ToolError(
            f"{name} {gist(date, 60)!r} is no ISO date.",
            hint="Write 2025-01-31 or 2025-01-31T12:00.",
        ) from error


def _line(file: IndexedFile) -> str:
    return f"{printable(file.path)}  {sized(file.size)}  {dated(file.mtime)}"


def _described(passage: Passage) -> dict[str, object]:
    return {
        "path": printable(passage.path),
        "startLine": passage.first,
        "endLine": passage.last,
        "score": round(passage.score, 4),
        "symbols": list(passage.symbols[:_MOST_SYMBOLS]),
        "content": passage.text,
    }


def _excerpt(passage: Passage, words: Sequence[str]) -> str:
    """Return where a passage is, what it defines, and the lines with most of the words."""
    lines = passage.text.split("\n")
    hits = [any(word in line.lower() for word in words) for line in lines]
    begins = range(max(1, len(lines) - _SHOWN_LINES + 1))
    # A line above the first hit says what it belongs to.
    best = max(begins, key=lambda at: (sum(hits[at : at + _SHOWN_LINES]), hits[at], -at))
    begin = max(0, best - 1)
    defined = [printable(symbol) for symbol in passage.symbols[:_MOST_SYMBOLS]]
    head = f"{printable(passage.path)}:{passage.first}-{passage.last}"
    head += f" defines {', '.join(defined)}" if defined else ""
    numbered = enumerate(lines[begin : begin + _SHOWN_LINES], passage.first + begin)
    return "\n".join([head, *(f"  {n}: {_clipped(line)}" for n, line in numbered)])


def _clipped(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _words(query: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_parts(query)))


def _parts(query: str) -> Iterator[str]:
    """Words of three letters and more, whole and in their parts, for finding the telling lines."""
    for word in re.findall(r"\w+", query):
        for part in (word, *re.findall(r"[A-Z]?[a-z]+|[A-Z]+", word)):
            if len(part) > 2:
                yield part.lower()
