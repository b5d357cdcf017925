"""file_search, grep_search, and get_search_results, which returns the last search's result in full."""

from collections import OrderedDict

from sam_tools.file_operations.arguments import FileSearch, GetSearchResults, GrepSearch
from sam_tools.file_operations.names import counted, named
from sam_tui.core.accesses import Location, Read
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.files import FileMatches, GrepRequest, Search
from sam_tui.core.text.plain import gist
from sam_tui.core.tooling.contract import Operation, ToolContext, ToolResult

_MOST_CONVERSATIONS = 64


class Recall:
    """The last search of each conversation; the longest unused one is forgotten first."""

    def __init__(self) -> None:
        self._last: OrderedDict[ConversationId, tuple[str, ToolResult]] = OrderedDict()

    def keep(self, operation: str, result: ToolResult, context: ToolContext) -> ToolResult:
        """Remember a result, and give it back."""
        self._last[context.conversation] = operation, result
        self._last.move_to_end(context.conversation)
        if len(self._last) > _MOST_CONVERSATIONS:
            self._last.popitem(last=False)
        return result

    def get_search_results(self) -> Operation[GetSearchResults]:
        """The operation ``get_search_results``."""
        return Operation(
            "get_search_results",
            "the last search again, in full",
            GetSearchResults,
            self._recall,
            lambda _: "Getting search results",
            inline_limit=48_000,
        )

    async def _recall(self, _: GetSearchResults, context: ToolContext) -> ToolResult:
        if context.conversation not in self._last:
            return ToolResult(
                "Nothing was searched for yet.", data={"operation": "", "results": {}}
            )
        operation, result = self._last[context.conversation]
        data = {"operation": operation, "results": dict(result.data)}
        return ToolResult(f"Last search: {operation}\n{result.text}", data=data)


def _heading(arguments: FileSearch, matches: FileMatches) -> str:
    """The number of files found, the range shown, and folders that were not searched."""
    text = f"{counted(matches.total, 'file')} for {gist(arguments.query, 200)}"
    if matches.cut:
        text = f"at least {text}, for the search {matches.cut}: not all was looked through; "
        text += "name a folder below as rootPath"
    elif not matches.total:
        text += "; hidden and ignored files are not searched"
    count = len(matches.paths)
    reached = arguments.offset + count
    if 0 < count < matches.total:
        text += f", {arguments.offset + 1}-{reached} shown"
    if count and reached < matches.total:
        text += f"; go on with offset={reached}"
    return text


_MOST_PATHS = 1000
_MOST_HITS = 2000


class Searching:
    """Finds files by name and lines by content."""

    def __init__(self, search: Search, recall: Recall) -> None:
        self._search = search
        self._recall = recall

    def file_search(self) -> Operation[FileSearch]:
        """The operation ``file_search``."""
        return Operation(
            "file_search",
            "files whose path matches a glob; honours .gitignore",
            FileSearch,
            self._files,
            lambda a: f"Finding files: {gist(a.query, 50)}",
            lambda a: [Read(a.rootPath or ".", "rootPath")],
            inline_limit=24_000,
        )

    def grep_search(self) -> Operation[GrepSearch]:
        """The operation ``grep_search``."""
        return Operation(
            "grep_search",
            "lines with a text, any case; honours .gitignore",
            GrepSearch,
            self._lines,
            lambda a: f"Searching: {gist(a.query, 60)}",
            lambda a: [Read(a.rootPath or ".", "rootPath")],
            inline_limit=24_000,
        )

    async def _files(self, arguments: FileSearch, context: ToolContext) -> ToolResult:
        where = context.location("rootPath")
        limit = min(arguments.limit, _MOST_PATHS)
        context.emit(f"Looking through {named(where, context.workspace)}\n")
        result = await self._search.files(
            where,
            arguments.query,
            limit=limit,
            offset=arguments.offset,
            on_count=context.emit,
        )
        paths = [_path(where, path, context.workspace) for path in result.paths]
        total, reached = result.total, arguments.offset + len(paths)
        text = _heading(arguments, result)
        data = {
            "query": arguments.query,
            "matches": paths,
            "count": len(paths),
            "totalCount": total,
            "hasMore": reached < total,
            "offset": arguments.offset,
            "limit": limit,
            "truncated": bool(result.cut),
        }
        listing = ToolResult("\n".join([text, *paths]), data=data)
        return self._recall.keep("file_search", listing, context)

    async def _lines(self, arguments: GrepSearch, context: ToolContext) -> ToolResult:
        where = context.location("rootPath")
        limit = min(arguments.maxResults, _MOST_HITS)
        context.emit(f"Looking through {named(where, context.workspace)}\n")
        result = await self._search.grep(
            GrepRequest(
                where,
                arguments.query,
                arguments.isRegexp,
                include=arguments.includePattern,
                limit=limit,
            ),
            on_count=context.emit,
        )
        hits = [(_path(where, h.path, context.workspace), h.line, h.text) for h in result.hits]
        file_count = len({path for path, _, _ in hits})
        text = f"{counted(len(hits), 'match', 'matches')} in {counted(file_count, 'file')}"
        if result.cut:
            text += f"; the search {result.cut}, before all was looked through: narrow rootPath or "
            text += "includePattern"
        elif result.truncated:
            text += "; there are more: narrow query or includePattern, or raise maxResults"
        elif not hits:
            text = f"no match for {gist(arguments.query, 200)}; hidden, ignored and binary files "
            text += "are not searched"
        data = {
            "query": arguments.query,
            "isRegexp": arguments.isRegexp,
            "matches": [{"path": p, "line": n, "text": t} for p, n, t in hits],
            "count": len(hits),
            "truncated": result.truncated,
        }
        text = "\n".join([text, *(f"{p}:{n}: {t}" for p, n, t in hits)])
        return self._recall.keep("grep_search", ToolResult(text, data=data), context)


def _path(where: Location, path: str, workspace: str) -> str:
    """A found path in the form that read_file takes."""
    if path == ".":
        return named(where, workspace)
    return named(Location(path, f"{where.real.rstrip('/')}/{path}", where.root), workspace)
