"""DuckDuckGo's result page, taken apart."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import lxml.etree  # pyright: ignore[reportMissingTypeStubs]  # lxml has no types
import lxml.html  # pyright: ignore[reportMissingTypeStubs]

from sam_tui.adapters.web.hits import hit
from sam_tui.core.ports.web import WebHit

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
