"""WebSearchTool, ReadWebpageTool and ExploreSearchResults over the operations of web_operations."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sam_tools.workers.arguments import Exploration, WebPageArguments, WebSearchArguments
from sam_tui.core.accesses import Access, Fetch
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ports.web import Web
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single

_MOST_OF_PAGE = 15_000
"""The most characters of a page in the data of a step (seed 002)."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A search result that can be opened."""

    title: str
    url: str
    snippet: str


class ResearchWork:
    """The research tools of plans; ``search`` and ``fetch`` are operations of web_operations."""

    def __init__(self, search: Operation[Any], fetch: Operation[Any], web: Web) -> None:
        self._search = search
        self._fetch = fetch
        self._web = web

    def tools(self) -> tuple[Tool, ...]:
        """The tools, ready to register."""
        search = Operation(
            "WebSearchTool",
            "searches the web",
            WebSearchArguments,
            self._searched,
            lambda a: f"Searching web: {a.query[:60]}",
            lambda a: self._search.accesses(self._asked(self._search, query=a.query)),
        )
        read = Operation(
            "ReadWebpageTool",
            "reads a page",
            WebPageArguments,
            self._read,
            lambda a: f"Reading: {a.url[:80]}",
            lambda a: self._fetch.accesses(self._asked(self._fetch, url=a.url)),
        )
        explore = Operation(
            "ExploreSearchResults",
            "reads what a search led to",
            Exploration,
            self._explored,
            lambda a: f"Reading up to {a.pagesToExplore} search results",
            lambda a: self._fetches(links_of(a)),
        )
        return (
            single(search, "Searches the web: results with title, link and snippet.", listed=False),
            single(read, "Reads the text of a page, PDF or feed.", listed=False),
            single(
                explore,
                "Opens the best results of a WebSearchTool step beside each other: pages with title, url"
                " and content, and partial_errors. outcome is found, empty or failed.",
                listed=False,
            ),
        )

    async def _searched(self, arguments: WebSearchArguments, context: ToolContext) -> ToolResult:
        values = self._asked(self._search, query=arguments.query, limit=arguments.limit)
        result = await self._search.run(values, context)
        rows = [
            {"title": row["title"], "link": row["url"], "snippet": row["snippet"]}
            for row in result.data["results"]
        ]
        outcome = "found" if rows else "empty"
        data = {"query": arguments.query, "outcome": outcome, "results": rows}
        return ToolResult(result.text, result.ok, result.display, data)

    async def _read(self, arguments: WebPageArguments, context: ToolContext) -> ToolResult:
        result = await self._fetch.run(self._asked(self._fetch, url=arguments.url), context)
        return ToolResult(result.text, result.ok, result.display, _page(result))

    async def _explored(self, arguments: Exploration, context: ToolContext) -> ToolResult:
        links = links_of(arguments)
        async with asyncio.TaskGroup() as group:
            reading = [group.create_task(self._opened(link, context)) for link in links]
        pages = [page for task in reading if (page := task.result()[0])]
        errors = [error for task in reading if (error := task.result()[1])]
        outcome = "found" if pages else "failed" if errors else "empty"
        lines = [f"{outcome}: {len(pages)} of {len(links)} pages were read."]
        lines += [f"\n{page['title']}\n{page['url']}\n{page['content']}" for page in pages]
        lines += [f"\nNot read: {error['url']}: {error['error']}" for error in errors]
        data = {"outcome": outcome, "pages": pages, "partial_errors": errors}
        return ToolResult("\n".join(lines), outcome != "failed", data=data)

    async def _opened(
        self, link: _Link, context: ToolContext
    ) -> tuple[dict[str, object], dict[str, str]]:
        """The page and no error, or an empty page and the error: one refusal does not stop the rest."""
        if refusal := self._web.refusal(link.url):
            return {}, {"url": link.url, "error": refusal}
        try:
            result = await self._fetch.run(self._asked(self._fetch, url=link.url), context)
        except ToolError as error:
            return {}, {"url": link.url, "error": error.explain()}
        page = _page(result)
        return {**page, "title": page["title"] or link.title}, {}

    def _fetches(self, links: Sequence[_Link]) -> tuple[Access, ...]:
        urls = [link.url for link in links if not self._web.refusal(link.url)]
        return tuple(Fetch(url, f"page.{number}") for number, url in enumerate(urls))

    def _asked(self, operation: Operation[Any], **values: object) -> object:
        return operation.arguments.model_validate(values)


def links_of(arguments: Exploration) -> list[_Link]:
    """The results to open: the best by the criteria, else the first. Raises ``InvalidArguments``."""
    links = [link for row in _rows(arguments.searchResults) if (link := _link(row))]
    unique = list({link.url: link for link in reversed(links)}.values())[::-1]
    words = set(re.findall(r"\w{3,}", arguments.relevanceCriteria.lower()))
    if words:
        unique.sort(key=lambda link: -len(words & _words_of(link)))
    return unique[: arguments.pagesToExplore]


def _rows(value: object) -> list[object]:
    """The rows of search results however a plan hands them on; an empty text has none."""
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else []
        except (ValueError, RecursionError):
            value = None
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        value = fields.get("results", fields.get("result_data"))
        if isinstance(value, Mapping):
            value = cast("Mapping[str, object]", value).get("results")
    if not isinstance(value, list):
        raise InvalidArguments(
            "searchResults is no list of results.",
            hint='Such as "@{outputs.search.result_data}" of a WebSearchTool step.',
        )
    return cast("list[object]", value)


def _link(row: object) -> _Link | None:
    fields = cast("Mapping[str, object]", row) if isinstance(row, Mapping) else {"link": row}
    url = fields.get("link") or fields.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    return _Link(str(fields.get("title", "")), url, str(fields.get("snippet", "")))


def _words_of(link: _Link) -> set[str]:
    return set(re.findall(r"\w{3,}", f"{link.title} {link.snippet}".lower()))


def _page(result: ToolResult) -> dict[str, object]:
    text = result.text
    return {
        "title": result.data["title"],
        "url": result.data["url"],
        "content": text[:_MOST_OF_PAGE],
        "truncated": len(text) > _MOST_OF_PAGE,
    }
