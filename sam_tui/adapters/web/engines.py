"""Search engines with an interface for programs: SearXNG, Brave, Tavily."""

import json
from collections.abc import Sequence
from urllib.parse import urlencode

from sam_tui.adapters.web.hits import decoded, first, hit, rows
from sam_tui.core.ports.web import SearchKind, Web, WebHit


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
        # News stand at the top, web results one level below.
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
