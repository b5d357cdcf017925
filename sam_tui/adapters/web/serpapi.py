"""SerpApi: results of many engines by one key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from sam_tui.adapters.web.hits import decoded, first, hit, plain, rows
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import SearchKind, SerpEngine, SerpQuestion, Web, WebHit

KEY = "SERPAPI_API_KEY"


@dataclass(frozen=True, slots=True)
class _Engine:
    """Names of the parameters of one engine; ``count`` is the number of results, empty if unsupported."""

    query: str = "q"
    location_parameter: str = "location"
    count: str = ""


_ENGINES: Mapping[SerpEngine, _Engine] = {
    "google": _Engine(count="num"),
    "google_ai_overview": _Engine(),
    "bing": _Engine(count="count"),
    "amazon": _Engine("k", ""),
    "ebay": _Engine("_nkw", "", "_ipg"),
    "walmart": _Engine("query", ""),
    "tripadvisor": _Engine("q", ""),
    "yelp": _Engine("find_desc", "find_loc"),
}
_LISTS = (
    "organic_results",
    "ads_results",
    "local_results",
    "news_results",
    "shopping_results",
    "places",
    "locations",
)
_EBAY_PAGES = (25, 50, 100, 200)


class SerpApiClient:
    """The ``SerpApi`` port, and a ``WebSearch`` over its Google engine."""

    def __init__(self, web: Web, key: str, base: str = "https://serpapi.com/search.json") -> None:
        self._web = web
        self._key = key
        self.address = base

    async def ask(self, question: SerpQuestion) -> Sequence[WebHit]:
        """The engine's results in its order; a place that the engine cannot use is an error."""
        engine = _ENGINES[question.engine]
        parameters: dict[str, str] = {"engine": question.engine, engine.query: question.query}
        if question.location and not engine.location_parameter:
            raise ToolError(f"{question.engine} takes no location.", hint="Leave location out.")
        if question.location:
            parameters[engine.location_parameter] = question.location
        elif question.engine == "yelp":
            raise ToolError("yelp needs a location.", hint='Such as location="Berlin, Germany".')
        if engine.count:
            parameters[engine.count] = str(_count(question))
        if question.engine == "google_ai_overview":
            return await self._overview({**parameters, "engine": "google"})
        return _hits(await self._get(parameters), question.limit)

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """Google's results."""
        parameters = {"engine": "google", "q": query, "num": str(limit)}
        if kind == "news":
            parameters["tbm"] = "nws"
        return _hits(await self._get(parameters), limit)

    async def _get(self, parameters: Mapping[str, str]) -> Mapping[str, object]:
        url = f"{self.address}?{urlencode({**parameters, 'api_key': self._key})}"
        try:
            page = await self._web.fetch(url, seconds=60.0)
        except ToolError as error:
            # The address contains the key, which must not appear in an error.
            raise ToolError(str(error).replace(url, "SerpApi").replace(self._key, "…")) from None
        return decoded(page, "SerpApi")

    async def _overview(self, parameters: Mapping[str, str]) -> Sequence[WebHit]:
        """Google's overview comes with its results, or is fetched by a token that they hold."""
        overview = _object((await self._get(parameters)).get("ai_overview"))
        token = overview.get("page_token")
        if not overview.get("text_blocks") and isinstance(token, str):
            again = await self._get({"engine": "google_ai_overview", "page_token": token})
            overview = _object(again.get("ai_overview"))
        text = " ".join(filter(None, (_block(b) for b in rows(overview.get("text_blocks")))))
        sources = [
            hit(r.get("title"), r.get("link"), r.get("snippet"))
            for r in rows(overview.get("references"))
        ]
        if not text:
            raise ToolError(
                "Google shows no AI overview for this query.", hint="Use engine google."
            )
        answer = WebHit("AI overview", "https://www.google.com/search", plain(text, 4000))
        return [answer, *first(sources, 10)]


def serpapi_from(web: Web, environ: Mapping[str, str]) -> SerpApiClient | None:
    """SerpApi where its key is in the environment."""
    key = environ.get(KEY, "").strip()
    return SerpApiClient(web, key) if key else None


def _count(question: SerpQuestion) -> int:
    if question.engine != "ebay":
        return question.limit
    return next((page for page in _EBAY_PAGES if page >= question.limit), _EBAY_PAGES[-1])


def _hits(answer: Mapping[str, object], limit: int) -> list[WebHit]:
    results = [row for name in _LISTS for row in rows(answer.get(name))]
    return first([_hit(row) for row in results], limit)


def _hit(row: Mapping[str, Any]) -> WebHit | None:
    """A row of any engine: shops have prices and ratings where others have snippets."""
    url = row.get("link") or row.get("product_page_url") or row.get("link_clean")
    facts = [
        row.get("snippet") or row.get("description"),
        _price(row),
        _labelled("rating", row.get("rating")),
        _labelled("reviews", row.get("reviews")),
        row.get("address"),
    ]
    text = "; ".join(filter(None, (plain(fact, 500) for fact in facts)))
    return hit(row.get("title") or row.get("name"), url, text, row.get("date"))


def _price(row: Mapping[str, object]) -> str:
    offer = _object(row.get("primary_offer"))
    for value in (row.get("price"), row.get("extracted_price"), offer.get("offer_price")):
        nested = _object(value)
        if text := plain(nested.get("raw") if nested else value, 40):
            return f"price {text}"
    return ""


def _labelled(label: str, value: object) -> str:
    text = plain(value, 40)
    return f"{label} {text}" if text else ""


def _block(block: Mapping[str, Any]) -> str:
    items = [
        plain(i.get("title"), 200) + " " + plain(i.get("snippet"), 600)
        for i in rows(block.get("list"))
    ]
    return " ".join(filter(None, [plain(block.get("snippet"), 1200), *items]))


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
