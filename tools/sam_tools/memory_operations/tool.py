"""memory_operations as a tool: memories, notes and knowledge, one call at a time."""

from typing import Any

from sam_tools.memory_operations.arguments import SearchMemory, StoreMemory
from sam_tools.memory_operations.knowledge import Knowledge
from sam_tools.memory_operations.notes import Notes
from sam_tools.memory_operations.report import (
    collections_report,
    preview,
    search_report,
    stored_report,
)
from sam_tui.core.clock import Clock
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.memory import KeyValueStore, KnowledgeStore, MemoryDraft, MemoryStore
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.shared_memory import (
    knowledge_scope,
    origin_of,
    scope_to_change,
    told_origin,
)

_DAY = 86_400.0
_TAGS, _TAG = 20, 60
_MOST_KNOWLEDGE = 3
"""The most entries of knowledge that are shown beside the memories."""
_ABOUT = (
    "What you remember beyond this context: memories and notes of this conversation (or of all that"
    " share its topic), and knowledge of this workspace. Search before you ask or look again."
)


class MemoryOperations:
    """memory_operations (seed 004): equal content is stored once, and searched by its words."""

    def __init__(
        self, memories: MemoryStore, notes: KeyValueStore, knowledge: KnowledgeStore, clock: Clock
    ) -> None:
        self._memories = memories
        self._notes = notes
        self._knowledge = knowledge
        self._clock = clock

    def tool(self) -> Tool:
        """The tool, ready to register. Its calls are serial: no two can store the same."""
        return Tool(
            "memory_operations",
            _ABOUT,
            (
                *self._own(),
                *Notes(self._memories, self._notes).operations(),
                *Knowledge(self._memories, self._knowledge).operations(),
                Operation(
                    "manage_todos",
                    "moved to todo_operations",
                    NoArguments,
                    self._todos,
                    lambda _: "Todos are elsewhere",
                    schedule=Schedule.SERIAL,
                ),
            ),
        )

    def _own(self) -> tuple[Operation[Any], ...]:
        return (
            Operation(
                "search_memory",
                "memories, imported documents and knowledge by words",
                SearchMemory,
                self._search,
                lambda a: f"Searching memory: {preview(a.query, 60)}",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "store_memory",
                "remember something",
                StoreMemory,
                self._store,
                lambda a: f"Storing memory: {preview(a.content, 60)}",
                schedule=Schedule.SERIAL,
            ),
            Operation(
                "list_collections",
                "how much is remembered of what",
                NoArguments,
                self._collections,
                lambda _: "Counting memories",
                schedule=Schedule.SERIAL,
            ),
        )

    async def _search(self, arguments: SearchMemory, context: ToolContext) -> ToolResult:
        query, threshold = arguments.query, arguments.similarity_threshold
        scope = self._memories.scope_of(context.conversation)
        context.emit("Looking through memory\n")
        await self._memories.prepare([query])
        hits = self._memories.search(scope, query, limit=arguments.limit, threshold=threshold)
        domain = knowledge_scope(scope, context.workspace)
        learnt = self._knowledge.search(
            domain, query, limit=min(_MOST_KNOWLEDGE, arguments.limit), threshold=threshold
        )
        data = {
            "memories": [{"id": h.memory.id, "relevance": round(h.relevance, 4)} for h in hits],
            "knowledge": [{"id": h.learnt.id, "relevance": round(h.relevance, 4)} for h in learnt],
            "threshold": threshold,
        }
        text = search_report(
            query,
            threshold,
            hits,
            learnt,
            whose=lambda origin: told_origin(origin, context.conversation, scope),
        )
        return ToolResult(text, data=data)

    async def _store(self, arguments: StoreMemory, context: ToolContext) -> ToolResult:
        tags = dict.fromkeys(one_line(tag)[:_TAG] for tag in arguments.tags)
        draft = MemoryDraft(
            arguments.content,
            arguments.content_type,
            tuple(tag for tag in tags if tag)[:_TAGS],
            one_line(arguments.context),
            origin=origin_of(context),
        )
        scope = await scope_to_change(
            self._memories, context, draft.content, draft.context, *draft.tags
        )
        context.emit("Storing\n")
        await self._memories.prepare([draft.content])
        memory, new = self._memories.store(scope, draft)
        data = {"id": memory.id, "type": memory.draft.type, "new": new}
        return ToolResult(stored_report(memory, new=new), data=data)

    async def _collections(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        scope = self._memories.scope_of(context.conversation)
        domain = knowledge_scope(scope, context.workspace)
        counts = self._memories.counts(scope)
        recent = len(self._memories.recent(scope, self._clock.now() - _DAY))
        notes, learnt = len(self._notes.keys(scope)), len(self._knowledge.list(domain))
        shared = "" if scope == context.conversation else scope.partition(":")[2]
        return ToolResult(
            collections_report(counts, recent, notes, learnt, shared=shared),
            data={"counts": dict(counts), "recent": recent, "notes": notes, "knowledge": learnt},
        )

    async def _todos(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        raise ToolError(
            "Todos are not kept in memory: the tool for them is todo_operations.",
            hint='Call todo_operations with {"operation": "read"}; it also has write, update and add.',
        )
