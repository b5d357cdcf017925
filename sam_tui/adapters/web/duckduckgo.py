"""DuckDuckGo's page for browsers without scripts: the search that needs no key."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlencode

from sam_tui.adapters.web.hits import first
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import SearchKind, Web, WebHit

_OTHERS = "Configure another engine with SAM_TUI_SEARXNG_BASE, BRAVE_API_KEY or TAVILY_API_KEY."
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
        from sam_tui.adapters.web.results import read_results

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
