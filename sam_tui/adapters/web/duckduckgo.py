"""DuckDuckGo's page for browsers without scripts: the search that needs no key."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import lxml.etree  # pyright: ignore[reportMissingTypeStubs]  # lxml has no types
import lxml.html  # pyright: ignore[reportMissingTypeStubs]

from sam_tui.adapters.web.hits import first, hit
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
"""Statuses of the page that asks whether one is a robot."""


class DuckDuckGo:
    """Results read out of the HTML page, which promises nothing: what is not understood is an error."""

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
            text = "DuckDuckGo's answer holds no results that could be read."
            raise ToolError(text, hint=_OTHERS)
        return first(hits, limit)


def _refused() -> ToolError:
    return ToolError("DuckDuckGo takes this for a robot and gave no results.", hint=_OTHERS)
