"""Long-term knowledge: three ways to learn, one to look, one to forget."""

from collections.abc import Sequence
from typing import Any

from sam_tools.memory_operations.arguments import AddDiscovery, AddPattern, AddSolution, Prune
from sam_tools.memory_operations.report import knowledge_report, preview
from sam_tui.core.ports import memory
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult
from sam_tui.core.tooling.shared_memory import (
    knowledge_scope,
    origin_of,
    scope_to_change,
    told_origin,
)

SOLUTION_CONFIDENCE = 0.8


class Knowledge:
    """Discoveries, solutions and patterns of a workspace, or of a shared topic."""

    def __init__(self, memories: memory.MemoryStore, knowledge: memory.KnowledgeStore) -> None:
        self._memories = memories
        self._knowledge = knowledge

    def operations(self) -> tuple[Operation[Any], ...]:
        """In the order the model sees them."""
        serial = Schedule.SERIAL
        return (
            Operation(
                "add_discovery",
                "learn a fact about this workspace for later conversations",
                AddDiscovery,
                self._discovery,
                lambda a: f"Learning: {preview(a.fact, 60)}",
                schedule=serial,
            ),
            Operation(
                "add_solution",
                "learn what solves an error",
                AddSolution,
                self._solution,
                lambda a: f"Learning a solution: {preview(a.error, 60)}",
                schedule=serial,
            ),
            Operation(
                "add_pattern",
                "learn how things are done here",
                AddPattern,
                self._pattern,
                lambda a: f"Learning a pattern: {preview(a.pattern, 60)}",
                schedule=serial,
            ),
            Operation(
                "ltm_stats",
                "what was learnt, the surest first",
                NoArguments,
                self._stats,
                lambda _: "Reading long-term knowledge",
                schedule=serial,
            ),
            Operation(
                "prune_ltm",
                "forget what is old, unsure or too much",
                Prune,
                self._prune,
                lambda _: "Pruning long-term knowledge",
                schedule=serial,
            ),
        )

    async def _discovery(self, arguments: AddDiscovery, context: ToolContext) -> ToolResult:
        learnt = self._knowledge.add(
            await self._scope_to_change(context, arguments.fact),
            memory.LearntDraft(
                "discovery",
                arguments.fact,
                confidence=arguments.confidence,
                origin=origin_of(context),
            ),
        )
        return _learnt(learnt)

    async def _solution(self, arguments: AddSolution, context: ToolContext) -> ToolResult:
        learnt = self._knowledge.add(
            await self._scope_to_change(
                context, arguments.error, arguments.solution, *arguments.examples
            ),
            memory.LearntDraft(
                "solution",
                arguments.error,
                detail=arguments.solution,
                examples=arguments.examples,
                confidence=SOLUTION_CONFIDENCE,
                origin=origin_of(context),
            ),
        )
        return _learnt(learnt)

    async def _pattern(self, arguments: AddPattern, context: ToolContext) -> ToolResult:
        learnt = self._knowledge.add(
            await self._scope_to_change(context, arguments.pattern, *arguments.examples),
            memory.LearntDraft(
                "pattern",
                arguments.pattern,
                examples=arguments.examples,
                confidence=arguments.confidence,
                origin=origin_of(context),
            ),
        )
        return _learnt(learnt)

    async def _stats(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        scope = self._scope(context)
        learnt: dict[memory.LearntKind, Sequence[memory.Learnt]] = {
            kind: self._knowledge.list(scope, kind) for kind in memory.LEARNT_KINDS
        }
        counts = {kind: len(items) for kind, items in learnt.items()}
        text = knowledge_report(
            learnt, whose=lambda origin: told_origin(origin, context.conversation, scope)
        )
        return ToolResult(text, data=counts)

    async def _prune(self, arguments: Prune, context: ToolContext) -> ToolResult:
        scope = await self._scope_to_change(context)
        rule = memory.PruneRule(
            arguments.max_age_days,
            arguments.min_confidence,
            {
                "discovery": arguments.max_discoveries,
                "solution": arguments.max_solutions,
                "pattern": arguments.max_patterns,
            },
        )
        removed = self._knowledge.prune(scope, rule)
        left = len(self._knowledge.list(scope))
        text = f"Forgot {removed}, kept {left}." if removed else f"Nothing to forget; {left} kept."
        return ToolResult(text, data={"removed": removed, "kept": left})

    def _scope(self, context: ToolContext) -> memory.Scope:
        return knowledge_scope(self._memories.scope_of(context.conversation), context.workspace)

    async def _scope_to_change(self, context: ToolContext, *texts: str) -> memory.Scope:
        return knowledge_scope(
            await scope_to_change(self._memories, context, *texts), context.workspace
        )


def _learnt(learnt: memory.Learnt) -> ToolResult:
    text = (
        f"Learnt as a {learnt.kind} (confidence {learnt.confidence:.2f}).\nID: {learnt.id}\n"
        f"Preview: {preview(learnt.subject, 100)}"
    )
    return ToolResult(text, data={"id": learnt.id, "kind": learnt.kind})
