"""DuckDuckGo's page for browsers without scripts: the search that needs no key."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from sam_tui.adapters.web.hits import first, hit
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import SearchKind, Web, WebHit

_OTHERS = "Configure another engine with SAM_TUI_SEARXNG_BASE, BRAVE_API_KEY or TAVILY_API_KEY."


class DuckDuckGo:
    """Results read out of the HTML page, which promises nothing: what is not understood is an error."""

    def __init__(self, web: Web, base: str = "https://html.duckduckgo.com/html/") -> None:
        self._web = web
        self.address = base

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """The first page of results; news are those of the last month."""
        asked = {"q": query, "kl": "wt-wt", **({"df": "m"} if kind == "news" else {})}
        page = await self._web.fetch(f"{self.address}?{urlencode(asked)}", most_bytes=2_000_000)
        if page.status in (202, 403, 418, 429):
            raise _refused()
        hits = await asyncio.to_thread(parse, page.accepted().body)
        return first(hits, limit)


def parse(body: bytes) -> list[WebHit | None]:
    """The hits of a result page, advertisements left out. Raises ``ToolError`` for any other page."""
    tree = _tree(body)
    if tree.xpath('//*[contains(@class, "anomaly")] | //form[@id="challenge-form"]'):
        raise _refused()
    found = [
        _hit(result) for result in tree.xpath(f"//div[{_has('result')}][not({_has('result--ad')})]")
    ]
    if not any(found) and not tree.xpath(f"//*[{_has('no-results')}]"):
        raise _changed()
    return found


def _tree(body: bytes) -> Any:
    from lxml import etree, html  # pyright: ignore[reportMissingTypeStubs]  # lxml has no types

    parse_html: Any = html.document_fromstring  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    parser: Any = html.HTMLParser
    try:
        return parse_html(body, parser=parser(encoding="utf-8"))
    except (etree.LxmlError, ValueError):
        raise _changed() from None


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
    parts = urlsplit("https:" + link if link.startswith("//") else link)
    if parts.path.startswith("/l/"):
        return parse_qs(parts.query).get("uddg", [""])[0]
    return "" if parts.path == "/y.js" else parts.geturl()


def _has(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def _refused() -> ToolError:
    return ToolError("DuckDuckGo takes this for a robot and gave no results.", hint=_OTHERS)


def _changed() -> ToolError:
    return ToolError("DuckDuckGo's answer holds no results that could be read.", hint=_OTHERS)
