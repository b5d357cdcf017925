"""APISearch, APIValidator, MultiAPIFetch: find public APIs, try them, fetch from them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sam_tools.iron_manus.results import INLINE, OUTSIDE, answer
from sam_tools.iron_manus.sources.arguments import ApiSearch, ApiValidator, MultiApiFetch
from sam_tools.iron_manus.sources.fetch import (
    Fetched,
    Fetcher,
    FetchRequest,
    ResponseStore,
    as_object,
    bound_headers,
    host_of,
    summary_of,
)
from sam_tools.iron_manus.sources.registry import (
    UNKNOWN_RELIABILITY,
    ApiEntry,
    ApiList,
    Ranked,
)
from sam_tui.core.accesses import Access, Fetch
from sam_tui.core.clock import Clock
from sam_tui.core.display import Table
from sam_tui.core.errors import InvalidArguments
from sam_tui.core.ports.memory import KeyValueStore, Scope
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single

_SCOPE = Scope("iron-manus")
_RESPONSE = 2000
"""The most characters of a body in the sources for a synthesis."""


class ApiTrials:
    """The time at which an entry of the list last answered this installation."""

    def __init__(self, notes: KeyValueStore, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    def note(self, entry: ApiEntry, *, ok: bool) -> None:
        """Note how a try ended."""
        when = datetime.fromtimestamp(self._clock.now(), UTC).date().isoformat()
        self._notes.put(_SCOPE, f"api:{entry.name}", f"{'ok' if ok else 'failed'} {when}")

    def of(self, entry: ApiEntry) -> str | None:
        """``ok`` or ``failed`` with the date; None for an API that was never tried here."""
        return self._notes.get(_SCOPE, f"api:{entry.name}")


class ApiTools:
    """The three tools over the list and the URL guard."""

    def __init__(
        self, apis: ApiList, fetcher: Fetcher, responses: ResponseStore, tried: ApiTrials
    ) -> None:
        self._apis = apis
        self._fetcher = fetcher
        self._responses = responses
        self._trials = tried

    def tools(self) -> tuple[Tool, ...]:
        """The tools, ready to register."""
        search = Operation(
            "APISearch",
            "find APIs",
            ApiSearch,
            self._search,
            lambda a: f"Searching APIs: {a.objective[:60]}",
            inline_limit=INLINE,
        )
        validate = Operation(
            "APIValidator",
            "try an endpoint",
            ApiValidator,
            self._validate,
            lambda a: f"Trying: {a.url or a.name}",
            lambda a: fetches(self._candidates(a)),
            inline_limit=INLINE,
        )
        fetch = Operation(
            "MultiAPIFetch",
            "fetch endpoints",
            MultiApiFetch,
            self._fetch,
            lambda a: f"Fetching {len(a.api_endpoints)} endpoints",
            lambda a: fetches(a.api_endpoints),
            inline_limit=INLINE,
        )
        return (
            single(search, "Find public APIs for an objective, with scores and their reasons."),
            single(
                validate,
                "Try an API endpoint; where it does not answer, try the one that the list knows.",
            ),
            single(
                fetch,
                "Fetch up to ten API endpoints side by side. Bodies are kept whole; you get their"
                " begin and a reference.",
            ),
        )

    async def _search(self, arguments: ApiSearch, context: ToolContext) -> ToolResult:
        ranking = self._apis.ranked(
            arguments.objective,
            arguments.user_role,
            category=arguments.category_filter,
            limit=arguments.max_results,
        )
        data: dict[str, object] = {
            "objective": arguments.objective,
            "count": len(ranking),
            "apis": [self._described(entry) for entry in ranking],
        }
        if not ranking:
            data["message"] = "Nothing on the list fits; search the web instead."
        rows = tuple((r.entry.name, r.entry.category, f"{r.score:.3f}") for r in ranking)
        return answer(data, Table(("API", "category", "score"), rows))

    def _described(self, ranking: Ranked) -> dict[str, object]:
        more = {
            "relevance_score": ranking.score,
            "reasons": list(ranking.reasons),
            "verified": self._trials.of(ranking.entry),
        }
        return {**ranking.entry.as_object(), **more}

    async def _validate(self, arguments: ApiValidator, context: ToolContext) -> ToolResult:
        urls = self._candidates(arguments)
        entry = self._entry_of(arguments)
        if not urls:
            needs = f"It needs {', '.join(entry.needs)} in parameters." if entry else ""
            raise InvalidArguments("There is no URL to try.", hint=needs or "Give a url.")
        headers = bound_headers(arguments.headers, urls)
        tried: list[dict[str, object]] = []
        for index, url in enumerate(urls):
            fetched = await self._fetcher.fetch(FetchRequest((url,), headers, tries=1), url, index)
            tried.append(as_object(fetched, {}))
            listed = self._apis.of_host(host_of(url))
            if listed is not None:
                self._trials.note(listed, ok=fetched.ok)
            if fetched.ok:
                valid = {"valid": True, "endpoint": url, "corrected": index > 0, "tried": tried}
                return answer({"note": OUTSIDE, **valid})
        docs = entry.docs_url if entry else None
        failed = {"valid": False, "tried": tried, "documentation_url": docs}
        return answer({"note": OUTSIDE, **failed}, ok=False)

    async def _fetch(self, arguments: MultiApiFetch, context: ToolContext) -> ToolResult:
        urls = tuple(arguments.api_endpoints)
        ask = FetchRequest(
            urls,
            bound_headers(arguments.headers, urls),
            arguments.timeout_ms / 1000,
            arguments.max_concurrent,
        )
        fetched = await self._fetcher.all(ask, context.emit)
        data = {
            "note": OUTSIDE,
            "summary": summary_of(fetched),
            "timeout_ms": arguments.timeout_ms,
            "max_concurrent": arguments.max_concurrent,
            "results": [
                as_object(fetch, self._responses.keep(fetch, context)) for fetch in fetched
            ],
            "responses": [self._response(fetch) for fetch in fetched if fetch.ok],
        }
        rows = tuple(
            (
                fetch.endpoint,
                str(fetch.page.status) if fetch.page else fetch.kind,
                f"{fetch.seconds:.2f} s",
            )
            for fetch in fetched
        )
        table = Table(("endpoint", "status", "time"), rows)
        return answer(data, table, ok=any(fetch.ok for fetch in fetched))

    def _response(self, fetched: Fetched) -> dict[str, object]:
        """A success as KnowledgeSynthesize reads it (seed 001); the list estimates its confidence."""
        listed = self._apis.of_host(host_of(fetched.endpoint))
        confidence = listed.reliability if listed else UNKNOWN_RELIABILITY
        data = fetched.text[:_RESPONSE] or "(empty)"
        return {"source": fetched.endpoint, "data": data, "confidence": confidence}

    def _candidates(self, arguments: ApiValidator) -> tuple[str, ...]:
        """The given URL first, then the list's own where the call allows another one."""
        entry = self._entry_of(arguments) if arguments.auto_correct or not arguments.url else None
        described = entry.url(arguments.parameters) if entry else None
        return tuple(dict.fromkeys(url for url in (arguments.url, described) if url))

    def _entry_of(self, arguments: ApiValidator) -> ApiEntry | None:
        return self._apis.named(arguments.name) or self._apis.of_host(host_of(arguments.url))


def fetches(urls: Sequence[str]) -> tuple[Access, ...]:
    """The network accesses for these addresses."""
    return tuple(Fetch(url, f"endpoint.{number}") for number, url in enumerate(urls))
