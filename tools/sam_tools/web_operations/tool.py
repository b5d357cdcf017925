"""The tool: its operations in the seed's order."""

from collections.abc import Sequence
from typing import Any

from sam_tools.web_operations.arguments import (
    Fetching,
    Research,
    Retrieve,
    Scrape,
    SerpApiSearching,
    WebSearching,
)
from sam_tools.web_operations.research import (
    OUTSIDE,
    Researching,
    hit_list,
    hit_table,
    host_of,
    page_header,
)
from sam_tui.core.accesses import Access, Fetch
from sam_tui.core.errors import InvalidArguments
from sam_tui.core.ports.documents import Documents, DocumentText
from sam_tui.core.ports.memory import MemoryStore
from sam_tui.core.ports.web import Page, SerpApi, SerpQuestion, Web, WebHit, WebSearch
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.offer import canonical

_MOST_BYTES = 20_000_000
_SECONDS = 30.0
_MOST_LINKS = 60
_REMEMBERED = 20
_ENOUGH = 0.3
"""The least relevance of a memory that is shown (spec/sam.md 1.11)."""


class WebOperations:
    """web_operations (seed 004): public pages only, through the URL guard."""

    def __init__(
        self,
        web: Web,
        search: WebSearch,
        documents: Documents,
        memories: MemoryStore,
        *,
        serpapi: SerpApi | None = None,
    ) -> None:
        self._web = web
        self._search = search
        self._documents = documents
        self._memories = memories
        self._serpapi = serpapi
        self._researching = Researching(web, search, documents, memories)

    def tool(self) -> Tool:
        """The tool, ready to register; ``serpapi`` is part of it only where a key was configured."""
        operations: list[Operation[Any]] = [
            Operation(
                "research",
                "search, read several pages, store their passages in memory; returns a digest",
                Research,
                self._researching.run,
                lambda a: f"Researching: {_short(a.query)}",
                lambda _: self._asking(self._search.address),
            ),
            Operation(
                "retrieve",
                "what earlier research and memory hold",
                Retrieve,
                self._retrieve,
                lambda a: f"Retrieving research: {_short(a.query)}",
            ),
            Operation(
                "web_search",
                "titles, addresses and snippets",
                WebSearching,
                self._web_search,
                lambda a: f"Searching web: {_short(a.query)}",
                lambda _: self._asking(self._search.address),
            ),
            Operation(
                "scrape",
                "parts of a page by CSS selectors; without them its text and links",
                Scrape,
                self._scrape,
                lambda a: f"Scraping: {host_of(a.url)}",
                lambda a: (Fetch(a.url, "url"),),
            ),
            Operation(
                "fetch",
                "readable text of a page, PDF, feed or JSON",
                Fetching,
                self._fetch,
                lambda a: f"Fetching: {host_of(a.url)}",
                lambda a: (Fetch(a.url, "url"),),
            ),
        ]
        if self._serpapi is not None:
            operations.insert(3, self._serpapi_operation(self._serpapi))
        return Tool("web_operations", "Search and read the public web.", tuple(operations))

    def _serpapi_operation(self, serpapi: SerpApi) -> Operation[SerpApiSearching]:
        async def run(arguments: SerpApiSearching, context: ToolContext) -> ToolResult:
            context.emit(f"Asking {arguments.engine}\n")
            question = SerpQuestion(
                arguments.query, arguments.engine, arguments.location.strip(), arguments.num_results
            )
            return _found(arguments.query, await serpapi.ask(question))

        return Operation(
            "serpapi",
            "results of one engine",
            SerpApiSearching,
            run,
            lambda a: f"Searching {a.engine}: {_short(a.query)}",
            lambda _: self._asking(serpapi.address),
        )

    async def _web_search(self, arguments: WebSearching, context: ToolContext) -> ToolResult:
        context.emit(f"Asking {host_of(self._search.address)}\n")
        hits = await self._search.search(arguments.query, limit=arguments.limit)
        return _found(arguments.query, hits[: arguments.limit])

    async def _fetch(self, arguments: Fetching, context: ToolContext) -> ToolResult:
        page, document = await self._page(arguments.url, context)
        header = page_header(document, page.url, cut=page.truncated)
        text = f"{header}\n\n{document.text or '(no text)'}"
        return ToolResult(text, data=_facts(page, document))

    async def _scrape(self, arguments: Scrape, context: ToolContext) -> ToolResult:
        if arguments.selectors is not None and not arguments.selectors:
            raise InvalidArguments(
                "selectors is empty.", hint='Such as {"titles": "h2", "links": "a@href"}.'
            )
        if arguments.selectors is None:
            return await self._whole(arguments.url, context)
        page = await self._get(arguments.url, context)
        values_by_name = await self._documents.select(
            page.body,
            arguments.selectors,
            media_type=page.headers.get("content-type", ""),
            url=page.url,
        )
        counted = ", ".join(f"{name}: {len(values)}" for name, values in values_by_name.items())
        results = {name: list(values) for name, values in values_by_name.items()}
        text = f"{OUTSIDE}\n{page.url}\n{counted}\n\n{canonical(results)}"
        return ToolResult(text, data={"url": page.url, "found": results})

    async def _whole(self, url: str, context: ToolContext) -> ToolResult:
        """The whole text and the links of a page, for calls without selectors."""
        page, document = await self._page(url, context)
        links: list[str] = []
        if document.format == "html":
            queries = {"links": "a[href]@href"}
            kind = page.headers.get("content-type", "")
            selected = await self._documents.select(
                page.body, queries, media_type=kind, url=page.url
            )
            links = [link for link in dict.fromkeys(selected["links"]) if link.startswith("http")]
        header = page_header(document, page.url, cut=page.truncated)
        text = f"{header}\n\n{document.text or '(no text)'}"
        if links:
            text += "\n\nLinks:\n" + "\n".join(links[:_MOST_LINKS])
        return ToolResult(text, data={**_facts(page, document), "links": links})

    async def _retrieve(self, arguments: Retrieve, context: ToolContext) -> ToolResult:
        scope = self._memories.scope_of(context.conversation)
        context.emit("Looking through memory\n")
        await self._memories.prepare([arguments.query])
        hits = self._memories.search(scope, arguments.query, limit=_REMEMBERED, threshold=_ENOUGH)
        if not hits:
            return ToolResult(
                f"Memory holds nothing on {arguments.query!r} yet. Use research or web_search.",
                data={"results": []},
            )
        blocks = [
            "\n".join(filter(None, [f"{n}. ({h.relevance:.0%}) {h.memory.draft.source}",
                                    h.memory.draft.content]))
            for n, h in enumerate(hits, start=1)
        ]  # fmt: skip
        results = [
            {"id": h.memory.id, "relevance": round(h.relevance, 3), "source": h.memory.draft.source}
            for h in hits
        ]
        return ToolResult("\n\n".join([OUTSIDE, *blocks]), data={"results": results})

    async def _get(self, url: str, context: ToolContext) -> Page:
        context.emit(f"Asking {host_of(url)}\n")
        page = await self._web.fetch(url, most_bytes=_MOST_BYTES, seconds=_SECONDS)
        context.emit(f"Reading {len(page.body)} bytes\n")
        return page.accepted()

    async def _page(self, url: str, context: ToolContext) -> tuple[Page, DocumentText]:
        page = await self._get(url, context)
        kind = page.headers.get("content-type", "")
        document = await self._documents.read(
            page.body, name=page.url.partition("?")[0], media_type=kind, url=page.url
        )
        return page, document

    def _asking(self, address: str) -> tuple[Access, ...]:
        """The access of a query, which goes to an address from the person's configuration."""
        return (Fetch(address, "query", configured=True),)


def _found(query: str, hits: Sequence[WebHit]) -> ToolResult:
    data = {"query": query, "results": [_row(hit) for hit in hits]}
    if not hits:
        return ToolResult(f"Nothing was found for {query!r}.", data=data)
    return ToolResult(f"{OUTSIDE}\n{hit_list(hits)}", display=(hit_table(hits),), data=data)


def _row(hit: WebHit) -> dict[str, str]:
    return {"title": hit.title, "url": hit.url, "snippet": hit.snippet, "published": hit.published}


def _facts(page: Page, document: DocumentText) -> dict[str, object]:
    return {
        "url": page.url,
        "title": document.title,
        "format": document.format,
        "characters": len(document.text),
        "truncated": page.truncated,
        "properties": dict(document.properties),
    }


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
