"""Context7DocumentationTool (seed 002, 3.10): a library's documentation by two calls of one MCP server."""

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from sam_tui.adapters.mcp_client.connection_context import NO_OUTPUT
from sam_tui.adapters.mcp_client.settings import ServerSettings, SettingsReader
from sam_tui.core.accesses import Access, Use
from sam_tui.core.errors import ToolError
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single
from sam_tui.core.tooling.offer import Offer

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.server_tools import OfferHost

SERVER = "context7"
"""The name of the documentation server, whether a server file or an environment variable configures it."""
VARIABLE = "CONTEXT7_SERVER_URL"
RESOLVE, DOCUMENTATION, QUERY = "resolve-library-id", "get-library-docs", "query-docs"
"""The server's tools. Newer servers have ``query-docs`` in place of ``get-library-docs``."""
_LIBRARY = re.compile(r"(?<![\w:/.])/[\w.-]+/[\w.-]+(?:/[\w.-]+)?")
_HEADING = re.compile(r"^[-\s]*(?:Title|Name):\s*(.+)$", re.MULTILINE | re.IGNORECASE)


class LibraryRequest(Arguments):
    """The arguments of ``Context7DocumentationTool``."""

    libraryName: str = Field(min_length=1, description="a library's name, or its id /owner/project")
    topic: str = Field(default="", description="what of it")
    maxTokens: int = Field(default=5000, ge=100, le=50_000)


def named_by_variable(url: str) -> tuple[ServerSettings, ...]:
    """The server that the person's environment variables describe."""
    entry = {"mcpServers": {SERVER: {"url": url}}}
    return SettingsReader("user", {}).parse(json.dumps(entry).encode(), VARIABLE)


def documentation_offer(host: "Callable[[], OfferHost | None]") -> Offer:
    """The offer of the tool; ``host`` is the connection, None once no file names the server."""
    return Offer.of(_DocumentationTool(host).tool())


class _DocumentationTool:
    def __init__(self, host: "Callable[[], OfferHost | None]") -> None:
        self._host = host

    def tool(self) -> Tool:
        operation = Operation(
            "Context7DocumentationTool",
            "documentation of a library",
            LibraryRequest,
            self._run,
            lambda a: f"{SERVER}: {a.libraryName[:60]} {a.topic[:60]}".rstrip(),
            self._accesses,
        )
        return single(operation, "Current documentation of a software library, by Context7.")

    def _accesses(self, _: LibraryRequest) -> Sequence[Access]:
        host = self._host()
        names = host.tool_names if host else frozenset[str]()
        # Before it was started it is not known which of the two it has.
        either = [name for name in (DOCUMENTATION, QUERY) if name in names or not names]
        tools = (RESOLVE, *either)
        return host.accesses(*tools) if host else [Use(SERVER, name) for name in tools]

    async def _run(self, arguments: LibraryRequest, context: ToolContext) -> ToolResult:
        host = self._host()
        if host is None:
            raise ToolError(f"No MCP server {SERVER} is named.", hint=f"Set {VARIABLE}.")
        library = arguments.libraryName.strip()
        if not _LIBRARY.fullmatch(library):
            context.emit(f"Looking for {library}\n")
            library = await self._resolved(host, library, arguments.topic, context)
        context.emit(f"Reading the documentation of {library}\n")
        topic = arguments.topic.strip()
        if _is_newer(host):
            request: dict[str, object] = {"libraryId": library, "query": topic or "overview"}
            # A newer server has no limit of its own: a token is about four letters.
            text = (await _called(host, QUERY, request, context))[: 4 * arguments.maxTokens]
        else:
            request = {"context7CompatibleLibraryID": library, "tokens": arguments.maxTokens}
            request |= {"topic": topic} if topic else {}
            text = await _called(host, DOCUMENTATION, request, context)
        data = {"libraryId": library, "topic": arguments.topic, "documentation": text}
        empty = f"Context7 has no documentation of {library}"
        about = f" on {arguments.topic.strip()}" if arguments.topic.strip() else ""
        return ToolResult(text or f"{empty}{about}.", data=data)

    async def _resolved(
        self, host: "OfferHost", name: str, topic: str, context: ToolContext
    ) -> str:
        """The id of the library titled ``name``, or of the first match. Raises ``ToolError``."""
        request: dict[str, object] = {"libraryName": name}
        request |= {"query": topic.strip() or name} if _is_newer(host) else {}
        text = await _called(host, RESOLVE, request, context)
        titles = [(m.end(), m[1].strip().casefold()) for m in _HEADING.finditer(text)]
        start = next((end for end, title in titles if title == name.casefold()), 0)
        match = _LIBRARY.search(text, start) or _LIBRARY.search(text)
        if match is None:
            raise ToolError(f"Context7 knows no library {name!r}.", hint="Try another name.")
        return match[0]


def _is_newer(host: "OfferHost") -> bool:
    return QUERY in host.tool_names and DOCUMENTATION not in host.tool_names


async def _called(
    host: "OfferHost", tool: str, arguments: dict[str, object], context: ToolContext
) -> str:
    try:
        result = await host.call(tool, arguments, context)
    except ToolError as error:
        raise ToolError(f"Context7, {tool}: {error}", hint=error.hint) from None
    if not result.ok:
        raise ToolError(f"Context7, {tool}: {result.text[:500]}")
    return "" if result.text == NO_OUTPUT else result.text.strip()
