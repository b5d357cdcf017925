"""Notes by key: five operations on one store."""

import difflib
from collections.abc import Sequence
from typing import Any

from sam_tools.memory_operations.arguments import Keyed, SearchNotes, StoreNote
from sam_tools.memory_operations.report import notes_report, quoted
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.memory import UNKNOWN, KeyValueStore, MemoryStore, Scope
from sam_tui.core.tooling.arguments import NoArguments
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult
from sam_tui.core.tooling.shared_memory import origin_of, scope_to_change, told_origin


class Notes:
    """The notes of a conversation, or of all conversations of its topic."""

    def __init__(self, memories: MemoryStore, notes: KeyValueStore) -> None:
        self._memories = memories
        self._notes = notes

    def operations(self) -> tuple[Operation[Any], ...]:
        """In the order the model sees them."""
        serial = Schedule.SERIAL
        return (
            Operation(
                "store",
                "keep a note under a key",
                StoreNote,
                self._store,
                lambda a: f"Keeping note: {a.key[:60]}",
                schedule=serial,
            ),
            Operation(
                "retrieve",
                "a note by its key",
                Keyed,
                self._retrieve,
                lambda a: f"Reading note: {a.key[:60]}",
                schedule=serial,
            ),
            Operation(
                "search_kv",
                "notes that hold a text",
                SearchNotes,
                self._search,
                lambda a: f"Searching notes: {a.query[:60]}",
                schedule=serial,
            ),
            Operation(
                "list_keys",
                "all notes",
                NoArguments,
                self._list,
                lambda _: "Listing notes",
                schedule=serial,
            ),
            Operation(
                "delete_key",
                "delete a note",
                Keyed,
                self._delete,
                lambda a: f"Deleting note: {a.key[:60]}",
                schedule=serial,
            ),
        )

    async def _store(self, arguments: StoreNote, context: ToolContext) -> ToolResult:
        scope = await scope_to_change(self._memories, context, arguments.content)
        replaced = self._notes.get(scope, arguments.key) is not None
        self._notes.put(scope, arguments.key, arguments.content, origin=origin_of(context))
        done = "Replaced the note" if replaced else "Stored a note"
        text = f"{done} under {arguments.key} ({len(arguments.content)} characters)."
        return ToolResult(text, data={"key": arguments.key, "replaced": replaced})

    async def _retrieve(self, arguments: Keyed, context: ToolContext) -> ToolResult:
        scope = self._scope(context)
        content = self._notes.get(scope, arguments.key)
        if content is None:
            raise self._missing(scope, arguments.key)
        origin = self._notes.origins(scope).get(arguments.key, UNKNOWN)
        text = quoted(content, told_origin(origin, context.conversation, scope))
        return ToolResult(text, data={"key": arguments.key, "content": content})

    async def _search(self, arguments: SearchNotes, context: ToolContext) -> ToolResult:
        notes = self._notes.search(self._scope(context), arguments.query)
        text = self._report(notes, context, empty=f"No note holds “{arguments.query}”.")
        return ToolResult(text, data=_keys(notes))

    async def _list(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        notes = self._notes.keys(self._scope(context))
        text = self._report(notes, context, empty="There are no notes yet. Keep one with store.")
        return ToolResult(text, data=_keys(notes))

    async def _delete(self, arguments: Keyed, context: ToolContext) -> ToolResult:
        scope = await scope_to_change(self._memories, context)
        if not self._notes.delete(scope, arguments.key):
            raise self._missing(scope, arguments.key)
        return ToolResult(f"Deleted the note {arguments.key}.", data={"key": arguments.key})

    def _report(self, notes: Sequence[tuple[str, str]], context: ToolContext, *, empty: str) -> str:
        scope = self._scope(context)
        return notes_report(
            notes,
            empty=empty,
            origins=self._notes.origins(scope),
            whose=lambda origin: told_origin(origin, context.conversation, scope),
        )

    def _scope(self, context: ToolContext) -> Scope:
        return self._memories.scope_of(context.conversation)

    def _missing(self, scope: Scope, key: str) -> ToolError:
        names = [name for name, _ in self._notes.keys(scope)]
        near = difflib.get_close_matches(key, names, n=3)
        hint = f"Did you mean {', '.join(near)}?" if near else "list_keys shows all notes."
        return ToolError(f"There is no note under {key!r}.", hint=hint)


def _keys(notes: Sequence[tuple[str, str]]) -> dict[str, object]:
    return {"keys": [key for key, _ in notes]}
