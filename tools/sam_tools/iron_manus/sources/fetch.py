"""Fetches from APIs through the URL guard, with retries, and with headers bound to their hosts."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sam_tui.core.clock import Clock
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ids import CallId
from sam_tui.core.ports.storage import ResultStore
from sam_tui.core.ports.web import Page, Web
from sam_tui.core.tooling.contract import ToolContext
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused

MOST_BYTES = 5_000_000
TRIES = 3
PREVIEW = 1500
"""The most characters of a body in the answer, which names where the whole body is stored."""
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_PASSING = re.compile(
    r"did not answer|broke off|cannot be reached|could not connect|has no address"
)
_PAUSES = (0.5, 1.0)
_LONGEST_PAUSE = 10.0
_PRIVATE = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", "api-key"})
_SHOWN_HEADERS = 10


@dataclass(frozen=True, slots=True)
class Fetched:
    """The response of one endpoint. ``fault`` and ``kind`` are empty if it succeeded."""

    endpoint: str
    index: int
    page: Page | None
    text: str
    kind: str
    fault: str
    seconds: float
    attempts: int

    @property
    def ok(self) -> bool:
        """Whether it answered with a success."""
        return not self.kind


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Addresses to fetch, with their limits. ``headers`` by host; the host ``*`` is every one."""

    urls: Sequence[str]
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    seconds: float = 5.0
    at_once: int = 3
    tries: int = TRIES


class Fetcher:
    """Fetches several endpoints side by side."""

    def __init__(self, web: Web, clock: Clock) -> None:
        self._web = web
        self._clock = clock

    async def all(
        self, request: FetchRequest, report: Callable[[str], None]
    ) -> tuple[Fetched, ...]:
        """Return every endpoint's answer, in the order asked. A failed one leaves the others alone."""
        room = asyncio.Semaphore(request.at_once)

        async def one(index: int, url: str) -> Fetched:
            async with room:
                fetched = await self.fetch(request, url, index)
            report(f"{url}: {'ok' if fetched.ok else fetched.fault}\n")
            return fetched

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(i, url)) for i, url in enumerate(request.urls)]
        return tuple(task.result() for task in tasks)

    async def fetch(self, request: FetchRequest, url: str, index: int = 0) -> Fetched:
        """One endpoint. Tried again after 408, 425, 429, 5xx and broken connections only."""
        began, attempt = self._clock.monotonic(), 0
        while True:
            attempt += 1
            page, kind, fault, passing = await self._try(request, url)
            if not passing or attempt >= request.tries:
                break
            await self._clock.sleep(_pause(page, attempt))
        seconds = self._clock.monotonic() - began
        text = page.body.decode("utf-8", "replace") if page else ""
        return Fetched(url, index, page, text, kind, fault, seconds, attempt)

    async def _try(self, request: FetchRequest, url: str) -> tuple[Page | None, str, str, bool]:
        try:
            page = await self._web.fetch(
                url,
                headers=headers_for(url, request.headers),
                most_bytes=MOST_BYTES,
                seconds=request.seconds,
            )
        except ToolError as error:
            explanation = error.explain()
            if "did not answer" in explanation:
                kind = "Timeout"
            elif "Too many requests" in explanation:
                kind = "Rate Limit"
            else:
                kind = (
                    "Network"
                    if _PASSING.search(explanation) or "not found" in explanation
                    else "Refused"
                )
            return None, kind, explanation, _PASSING.search(explanation) is not None
        if 200 <= page.status < 300:
            return page, "", "", False
        return page, "HTTP", f"answered {page.status} {page.phrase}", page.status in _AGAIN


def bound_headers(
    headers: Mapping[str, object] | None, urls: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Headers by the host that they are for. Raises ``InvalidArguments``.

    ``{"Accept": "..."}`` is for every host; ``{"api.example.org": {"Authorization": "..."}}`` for one.
    What identifies somebody is never sent to several hosts because it was given once.
    """
    hosts = sorted({host_of(url) for url in urls})
    bound: dict[str, dict[str, str]] = {"*": {}}
    for name, value in (headers or {}).items():
        if isinstance(value, Mapping):
            if name.lower() not in hosts:
                raise InvalidArguments(f"headers: no endpoint lies on {name}.")
            bound[name.lower()] = {str(k): str(v) for k, v in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] # JSON
        elif name.lower() in _PRIVATE and len(hosts) > 1:
            raise InvalidArguments(
                f"headers: {name} would go to {len(hosts)} hosts.",
                hint=f'Bind it to one: {{"{hosts[0]}": {{"{name}": "..."}}}}.',
            )
        else:
            bound["*"][name] = str(value)
    return bound


def headers_for(url: str, headers: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The headers that go to a URL's host."""
    return {**headers.get("*", {}), **headers.get(host_of(url), {})}


def host_of(url: str) -> str:
    """The host of a URL, in lower case; empty where there is none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


class ResponseStore:
    """Keeps bodies whole: as results that ``read_tool_result`` reads, and with the open phase."""

    def __init__(self, results: ResultStore, workflows: Workflows) -> None:
        self._results = results
        self._workflows = workflows

    def keep(self, fetched: Fetched, context: ToolContext) -> dict[str, str]:
        """Store a body that is longer than its preview; returns where it is stored."""
        if len(fetched.text) <= PREVIEW:
            return {}
        call = CallId(f"{context.call}-{fetched.index + 1}")
        self._results.save(context.conversation, call, fetched.text)
        reference = {"toolCallId": str(call)}
        phase = self._workflows.records.phase(context.conversation)
        if phase is None:
            return reference
        try:
            row = self._workflows.notes.add_artifact(
                phase.execution_id, phase.step, fetched.endpoint[:400], fetched.text, type_="data"
            )
        except WorkflowRefused:
            return reference  # the phase ended meanwhile
        return reference | {"artifactId": row.id}


def as_object(fetched: Fetched, reference: Mapping[str, str]) -> dict[str, object]:
    """Return one result in seed 001's form, with the place of the whole."""
    row: dict[str, object] = {
        "endpoint": fetched.endpoint,
        "index": fetched.index,
        "success": fetched.ok,
        "attempts": fetched.attempts,
        "duration_ms": round(fetched.seconds * 1000),
    }
    if fetched.page is not None:
        page = fetched.page
        row |= {
            "status": page.status,
            "statusText": page.phrase,
            "headers": dict(list(page.headers.items())[:_SHOWN_HEADERS]),
            "size": len(page.body),
            "data": fetched.text[:PREVIEW],
            "truncated": page.truncated,
        }
        if page.url != fetched.endpoint:
            row["final_url"] = page.url
    if reference:
        row["reference"] = dict(reference)
    if not fetched.ok:
        row["error"] = {"type": fetched.kind, "message": fetched.fault}
    return row


def summary_of(fetched: Sequence[Fetched]) -> dict[str, object]:
    """Counts, share of success, mean time, bytes, and errors by type."""
    good = sum(fetch.ok for fetch in fetched)
    kinds = [fetch.kind for fetch in fetched if fetch.kind]
    times = [fetch.seconds for fetch in fetched]
    return {
        "queried": len(fetched),
        "successful": good,
        "failed": len(fetched) - good,
        "success_rate": f"{100 * good / len(fetched):.1f}%",
        "mean_duration_ms": round(1000 * sum(times) / len(times)),
        "bytes": sum(len(fetch.page.body) for fetch in fetched if fetch.page),
        "errors_by_type": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
    }


def _pause(page: Page | None, attempt: int) -> float:
    """Return seconds before the next try: the server's, else half a second, then one."""
    after = page.headers.get("retry-after", "") if page else ""
    if after.isdecimal():
        return min(float(after), _LONGEST_PAUSE)
    return _PAUSES[min(attempt, len(_PAUSES)) - 1]
