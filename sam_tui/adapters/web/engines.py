"""Search engines over HTTP: SearXNG, Brave, Tavily, Google, and DuckDuckGo's page of results."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import lxml.etree  # pyright: ignore[reportMissingTypeStubs]  # lxml has no types
import lxml.html  # pyright: ignore[reportMissingTypeStubs]

from sam_tui.adapters.web.hits import decoded, first, hit, rows
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import SearchKind, Web, WebHit

_etree = cast("Any", lxml.etree)  # pyright: ignore[reportUnknownMemberType]
_html = cast("Any", lxml.html)


def read_results(body: bytes) -> list[WebHit] | None:
    """The hits of a result page, advertisements left out; None for a page that is none.

    Raises ``PermissionError`` for the page that asks whether one is a robot.
    """
    parser = _html.HTMLParser(encoding="utf-8", no_network=True)
    try:
        tree = _html.document_fromstring(body, parser=parser)
    except (_etree.LxmlError, ValueError):
        return None
    if tree.xpath('//*[contains(@class, "anomaly")] | //form[@id="challenge-form"]'):
        raise PermissionError
    results = tree.xpath(f"//div[{_has('result')}][not({_has('result--ad')})]")
    hits = [hits for result in results if (hits := _hit(result)) is not None]
    return hits if hits or tree.xpath(f"//*[{_has('no-results')}]") else None


def _hit(result: Any) -> WebHit | None:
    links = result.xpath(f".//a[{_has('result__a')}]")
    if not links:
        return None
    snippets = result.xpath(f".//*[{_has('result__snippet')}]")
    snippet = snippets[0].text_content() if snippets else ""
    return hit(links[0].text_content(), _address(links[0].attrib), snippet)


def _address(attributes: Mapping[str, str]) -> str:
    """The result's own address: links lead through a counter that names it as ``uddg``."""
    link = attributes.get("href", "")
    try:
        parts = urlsplit("https:" + link if link.startswith("//") else link)
    except ValueError:
        return ""
    if parts.path.startswith("/l/"):
        return parse_qs(parts.query).get("uddg", [""])[0]
    return "" if parts.path == "/y.js" else parts.geturl()


def _has(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


_OTHERS = (
    "Configure another engine with SAM_TUI_SEARXNG_BASE, BRAVE_API_KEY, TAVILY_API_KEY,"
    " or SEARCH_API_KEY and CSE_ID."
)
_ROBOT = (202, 403, 418, 429)
"""HTTP statuses with which a search engine asks for proof that a person is searching."""


class DuckDuckGo:
    """DuckDuckGo's HTML page of results, which may change at any time: an unknown form is an error."""

    def __init__(self, web: Web, base: str = "https://html.duckduckgo.com/html/") -> None:
        self._web = web
        self.address = base

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """The first page of results; news are those of the last month."""
        parameters = {"q": query, "kl": "wt-wt", **({"df": "m"} if kind == "news" else {})}
        page = await self._web.fetch(
            f"{self.address}?{urlencode(parameters)}", most_bytes=2_000_000
        )
        if page.status in _ROBOT:
            raise _refused()
        try:
            hits = await asyncio.to_thread(read_results, page.accepted().body)
        except PermissionError:
            raise _refused() from None
        if hits is None:
            text = "DuckDuckGo's answer contains no readable results."
            raise ToolError(text, hint=_OTHERS)
        return first(hits, limit)


def _refused() -> ToolError:
    return ToolError("DuckDuckGo takes this for a robot and gave no results.", hint=_OTHERS)


class SearxNG:
    """A SearXNG instance, one's own as a rule; its settings must allow the JSON format."""

    def __init__(self, web: Web, base: str) -> None:
        self._web = web
        self.address = base.rstrip("/") + "/search"

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """Results of the category that fits the kind."""
        category = {"general": "general", "news": "news", "technical": "it,general"}[kind]
        parameters = urlencode({"q": query, "format": "json", "categories": category})
        page = await self._web.fetch(f"{self.address}?{parameters}")
        results = rows(decoded(page, "SearXNG").get("results"))
        return first(
            [
                hit(r.get("title"), r.get("url"), r.get("content"), r.get("publishedDate"))
                for r in results
            ],
            limit,
        )


class Brave:
    """Brave Search by key."""

    def __init__(
        self, web: Web, key: str, base: str = "https://api.search.brave.com/res/v1"
    ) -> None:
        self._web = web
        self._key = key
        self.address = base.rstrip("/")

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """Web or news results."""
        section = "news" if kind == "news" else "web"
        parameters = urlencode({"q": query[:400], "count": min(max(limit, 1), 20)})
        page = await self._web.fetch(
            f"{self.address}/{section}/search?{parameters}",
            headers={"x-subscription-token": self._key, "accept": "application/json"},
        )
        answer = decoded(page, "Brave Search")
        # News are at the top level, web results one level below.
        nested = rows([answer.get("web")])
        results = rows(nested[0].get("results") if nested else answer.get("results"))
        return first(
            [
                hit(r.get("title"), r.get("url"), r.get("description"), r.get("age"))
                for r in results
            ],
            limit,
        )


class Tavily:
    """Tavily by key."""

    def __init__(self, web: Web, key: str, base: str = "https://api.tavily.com") -> None:
        self._web = web
        self._key = key
        self.address = base.rstrip("/") + "/search"

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """Results of the topic that fits the kind."""
        topic = "news" if kind == "news" else "general"
        parameters = {"query": query, "max_results": min(max(limit, 1), 20), "topic": topic}
        page = await self._web.fetch(
            self.address,
            method="POST",
            headers={"authorization": f"Bearer {self._key}", "content-type": "application/json"},
            data=json.dumps(parameters).encode(),
        )
        results = rows(decoded(page, "Tavily").get("results"))
        return first(
            [
                hit(r.get("title"), r.get("url"), r.get("content"), r.get("published_date"))
                for r in results
            ],
            limit,
        )


_GOOGLE_PAGE = 10
_GOOGLE_MOST = 20


class GoogleSearch:
    """Google Custom Search by key and engine id (seed 002); a request gives ten results at most."""

    def __init__(
        self,
        web: Web,
        key: str,
        engine: str,
        base: str = "https://www.googleapis.com/customsearch/v1",
    ) -> None:
        self._web = web
        self._key = key
        self._engine = engine
        self.address = base

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """Results in Google's order; news are those of the last month."""
        recent = {"dateRestrict": "m1"} if kind == "news" else {}
        total = min(max(limit, 1), _GOOGLE_MOST)
        hits: list[WebHit | None] = []
        for start in range(1, total + 1, _GOOGLE_PAGE):
            count = min(_GOOGLE_PAGE, total + 1 - start)
            results = await self._page({"q": query, "num": count, "start": start, **recent})
            hits += [hit(r.get("title"), r.get("link"), r.get("snippet")) for r in results]
            if len(results) < count:
                break
        return first(hits, limit)

    async def _page(self, parameters: Mapping[str, str | int]) -> Sequence[Mapping[str, Any]]:
        url = f"{self.address}?{urlencode({**parameters, 'cx': self._engine, 'key': self._key})}"
        try:
            page = await self._web.fetch(url)
        except ToolError as error:
            # The address contains the key, which must not appear in an error.
            text = str(error).replace(url, "Google Custom Search").replace(self._key, "…")
            raise ToolError(text, hint=error.hint) from None
        return rows(decoded(page, "Google Custom Search").get("items"))
