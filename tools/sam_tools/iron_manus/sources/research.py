"""APITaskAgent and KnowledgeSynthesize: find sources for an objective, and compare their texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sam_tools.iron_manus.results import INLINE, OUTSIDE, answer
from sam_tools.iron_manus.sources import fetch
from sam_tools.iron_manus.sources.apis import ApiTrials, fetches
from sam_tools.iron_manus.sources.arguments import ApiTask, KnowledgeSynthesize
from sam_tools.iron_manus.sources.registry import ApiEntry, ApiList, keywords_of
from sam_tools.iron_manus.sources.synthesis import Statement, Synthesis, SynthesisWriter, synthesize
from sam_tui.core.agent.subagents import Sender
from sam_tui.core.display import Table, Text
from sam_tui.core.errors import ToolError
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single

HEURISTIC = "counted words, not meaning: a hint where to look, no proof"
_AT_ONCE = {"light": 3, "standard": 3, "comprehensive": 5}
_TRIES = {"light": 1, "standard": 2, "comprehensive": 2}
_READ = 4000
"""The most characters of a source that are compared with the others."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An API to be asked: its URL, or the reason why it has none."""

    entry: ApiEntry
    url: str
    why: str
    skipped: str = ""


class ResearchTools:
    """The two tools. ``writer`` puts a synthesis into words where there is a model."""

    def __init__(
        self,
        apis: ApiList,
        fetcher: fetch.Fetcher,
        responses: fetch.ResponseStore,
        *,
        tried: ApiTrials,
        writer: SynthesisWriter,
    ) -> None:
        self._apis = apis
        self._fetcher = fetcher
        self._responses = responses
        self._trials = tried
        self._writer = writer

    def tools(self) -> tuple[Tool, ...]:
        """The tools, ready to register."""
        synthesis = Operation(
            "KnowledgeSynthesize",
            "hold sources against each other",
            KnowledgeSynthesize,
            self._synthesize,
            lambda a: f"Synthesizing {len(a.api_responses)} sources ({a.synthesis_mode})",
            inline_limit=INLINE,
            anywhere=True,
        )
        task = Operation(
            "APITaskAgent",
            "research by APIs",
            ApiTask,
            self._research,
            lambda a: f"Researching by APIs: {a.objective[:60]}",
            lambda a: fetches([source.url for source in chosen(self._apis, a) if source.url]),
            inline_limit=INLINE,
        )
        return (
            single(
                synthesis,
                "Hold several sources against each other: what they share, where they differ.",
            ),
            single(
                task,
                "Research by public APIs in one go: choose, try, fetch, compare. Name the APIs"
                " yourself with apis, from APISearch, or let their scores choose.",
            ),
        )

    async def _research(self, arguments: ApiTask, context: ToolContext) -> ToolResult:
        picked = chosen(self._apis, arguments)
        fetchable = [source for source in picked if source.url]
        if not fetchable:
            raise _no_api(arguments.objective, picked)
        pairs = await self._fetched(fetchable, arguments, context)
        used = [
            (source, got)
            for source, got in pairs
            if _is_usable(got, needs_text=arguments.validation_required)
        ]
        data: dict[str, object] = {
            "note": OUTSIDE,
            "objective": arguments.objective,
            "summary": fetch.summary_of([got for _, got in pairs]),
            "sources": [self._source(source, got, arguments, context) for source, got in pairs],
            "skipped": {source.entry.name: source.skipped for source in picked if source.skipped},
        }
        comparison = _comparison(arguments.objective, used)
        if comparison is not None:
            data["comparison"] = comparison
        return answer(data, _outcomes(pairs), ok=bool(used))

    async def _fetched(
        self, sources: Sequence[Chosen], arguments: ApiTask, context: ToolContext
    ) -> list[tuple[Chosen, fetch.Fetched]]:
        """The answer of each source; the list notes whether the source answered."""
        urls = [source.url for source in sources]
        depth = arguments.research_depth
        ask = fetch.FetchRequest(
            urls,
            fetch.bound_headers(arguments.headers, urls),
            arguments.timeout_ms / 1000,
            _AT_ONCE[depth],
            _TRIES[depth],
        )
        pairs = list(zip(sources, await self._fetcher.all(ask, context.emit), strict=True))
        for source, got in pairs:
            self._trials.note(source.entry, ok=got.ok)
        return pairs

    def _source(
        self, source: Chosen, got: fetch.Fetched, arguments: ApiTask, context: ToolContext
    ) -> Mapping[str, object]:
        """A source for the answer: its origin, and which share of the objective's words it contains."""
        return {
            "api": source.entry.name,
            "chosen_because": source.why,
            "documentation_url": source.entry.docs_url,
            "confidence": coverage(arguments.objective, got.text) if got.ok else 0.0,
            "confidence_basis": "share of the objective's words that the answer holds",
            **fetch.as_object(got, self._responses.keep(got, context)),
        }

    async def _synthesize(self, arguments: KnowledgeSynthesize, context: ToolContext) -> ToolResult:
        statements = [Statement(r.source, r.data, r.confidence) for r in arguments.api_responses]
        synthesis = synthesize(
            statements, arguments.synthesis_mode, threshold=arguments.confidence_threshold
        )
        if synthesis is None:
            raise ToolError(
                f"No source reaches the confidence of {arguments.confidence_threshold:g}.",
                hint="Lower confidence_threshold, or bring better sources.",
            )
        quoted = [(label, s.source, s.data) for label, s in synthesis.accepted]
        sender = Sender(context.conversation, context.call, context.emit)
        goal = arguments.objective_context or "what these sources say"
        text, why_not = await self._writer.write(sender, goal, [(s, d) for _, s, d in quoted])
        data: dict[str, object] = {
            **compared(synthesis),
            "sources": [
                {"source": s.source, "label": label, "confidence": s.confidence}
                for label, s in synthesis.accepted
            ],
            "synthesis": text or None,
            "synthesis_by": "a model, from these sources alone" if text else None,
        }
        if not text:
            data["message"] = f"No synthesis was written: {why_not} Write it from the sources."
        rows = tuple((label, s.source, f"{s.confidence:.2f}") for label, s in synthesis.accepted)
        return answer(data, Text(text), Table(("label", "source", "confidence"), rows))


def chosen(apis: ApiList, arguments: ApiTask) -> tuple[Chosen, ...]:
    """The APIs to ask: those that were named, else the best that the objective speaks of."""
    words = {"query": " ".join(keywords_of(arguments.objective))}
    if arguments.apis:
        named = [(apis.named(request.api_name), request) for request in arguments.apis]
        unknown = [request.api_name for entry, request in named if entry is None]
        if unknown:
            raise ToolError(
                f"{unknown[0]!r} is not on the list.", hint="APISearch tells the names."
            )
        return tuple(
            _chosen(entry, {**words, **request.parameters}, "it was named")
            for entry, request in named
            if entry is not None
        )[: arguments.max_sources]
    ranking = apis.ranked(
        arguments.objective,
        arguments.user_role,
        category=arguments.category_filter,
        limit=arguments.max_sources,
    )
    return tuple(
        _chosen(
            candidate.entry, words, f"score {candidate.score:.3f}: {'; '.join(candidate.reasons)}"
        )
        for candidate in ranking
        if candidate.topical and not candidate.entry.ended
    )


def _no_api(objective: str, picked: Sequence[Chosen]) -> ToolError:
    skipped = "; ".join(f"{source.entry.name}: {source.skipped}" for source in picked)
    return ToolError(
        f"No API fits {objective[:80]!r} as it is.", hint=skipped or "Search the web instead."
    )


def _is_usable(got: fetch.Fetched, *, needs_text: bool) -> bool:
    return got.ok and (bool(got.text.strip()) or not needs_text)


def _outcomes(pairs: Sequence[tuple[Chosen, fetch.Fetched]]) -> Table:
    rows = tuple((source.entry.name, "ok" if got.ok else got.fault) for source, got in pairs)
    return Table(("source", "outcome"), rows)


def _comparison(
    objective: str, used: Sequence[tuple[Chosen, fetch.Fetched]]
) -> dict[str, object] | None:
    """The comparison of the sources' words; None if every source is empty."""
    statements = [
        Statement(source.entry.name, got.text[:_READ], coverage(objective, got.text))
        for source, got in used
    ]
    together = synthesize(statements, "weighted", threshold=0.0)
    return None if together is None else compared(together)


def _chosen(entry: ApiEntry, values: Mapping[str, str], why: str) -> Chosen:
    url = entry.url(values)
    if url is not None:
        return Chosen(entry, url, why)
    missing = [name for name in entry.needs if not values.get(name)]
    return Chosen(entry, "", why, f"needs {', '.join(missing)}: name it in apis with parameters")


def coverage(objective: str, text: str) -> float:
    """The share of an objective's words that a text holds, 0 to 1."""
    words = keywords_of(objective)
    plain = text.lower()
    return round(sum(word in plain for word in words) / len(words), 2) if words else 0.0


def compared(synthesis: Synthesis) -> dict[str, object]:
    """The figures of a synthesis, labelled as a heuristic."""
    return {
        "mode": synthesis.mode,
        "measured_by": HEURISTIC,
        "confidence": round(synthesis.confidence, 3),
        "agreement": round(synthesis.agreement, 3),
        "completeness": round(synthesis.completeness, 3),
        "grade": synthesis.grade,
        "shared": list(synthesis.shared),
        "contradictions": list(synthesis.contradictions),
    }
