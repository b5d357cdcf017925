"""The facts of a conversation: the day and its facts, imported documents, memories just stored."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import DocumentStore, ImportedDocument, Memory, MemoryStore
from sam_tui.core.prompt.reminders import TurnView, quoted_line
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.shared_memory import told_origin

_LONGEST_FACT = 200

Facts = Callable[[ConversationId], Mapping[str, str]]
"""Further facts about a conversation, by name; empty values are left out."""


class UserContextReminder:
    """The date, and the facts of the conversation: sent at its beginning, then when they changed."""

    name = "user_context"
    trigger = "date, mode, model or topic change"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def content(self, view: TurnView) -> str | None:
        """One fact per line between ``<userContext>`` tags; None if the model has read the same before.

        The text stays in the history; after a compaction removed it, it is sent again."""
        lines = [f"Date: {datetime.fromtimestamp(view.now):%A %Y-%m-%d}"]
        lines += [
            f"{name}: {quoted_line(value, _LONGEST_FACT)}"
            for name, value in self._facts(view.conversation).items()
            if value
        ]
        text = "\n".join(["<userContext>", *lines, "</userContext>"])
        return None if view.tally.last(self.name) == text else text


_MOST_DOCUMENTS = 30


class DocumentsReminder:
    """The imported documents, so that none is imported twice."""

    name = "documents"
    trigger = "a document is imported"

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents

    def content(self, view: TurnView) -> str | None:
        """One line for each document, newest import of each source, or None without any."""
        documents = self._documents.imported(view.conversation)
        if not documents:
            return None
        newest = _newest(documents)
        names = [one_line(document.name) for document in newest]
        lines = [
            "These documents are in memory already. Do not import them again; search their content"
            " with memory_operations search_memory.",
        ]
        lines += [
            _document_line(document, twice=names.count(one_line(document.name)) > 1)
            for document in newest[-_MOST_DOCUMENTS:]
        ]
        if len(newest) > _MOST_DOCUMENTS:
            lines.append(f"• and {len(newest) - _MOST_DOCUMENTS} imported before these")
        lines.append(
            'For example: memory_operations {"operation": "search_memory", "query": "<what you look'
            ' for>", "similarity_threshold": "0.2"}'
        )
        return "\n".join(lines)


def _newest(documents: Sequence[ImportedDocument]) -> list[ImportedDocument]:
    """The last import of each source (of each name where none is known), oldest first."""
    last = {document.source or document.name: document for document in documents}
    return sorted(last.values(), key=lambda document: document.imported_at)


def _document_line(document: ImportedDocument, *, twice: bool) -> str:
    """Two files of one name are distinguished by their origin."""
    size = f" ({document.characters} chars)" if document.characters else ""
    origin = f" from {quoted_line(document.source)}" if twice and document.source else ""
    name = quoted_line(document.name)
    return f"• {name}{size} - ID: {quoted_line(document.id)[:8]}{origin}"


WINDOW = 300.0
"""Seconds after it was stored during which a memory is in the reminder."""

_MOST_MEMORIES, _PREVIEW = 20, 100


class MemoriesReminder:
    """Memories of the last five minutes, from the conversation or others of its topic."""

    name = "memories"
    trigger = "what is remembered changes"

    def __init__(self, memories: MemoryStore) -> None:
        self._memories = memories

    def content(self, view: TurnView) -> str | None:
        """Numbered previews between ``<recentlyStoredMemories>`` tags, or None without any."""
        scope = self._memories.scope_of(view.conversation)
        stored = self._memories.recent(scope, view.now - WINDOW)
        if not stored:
            return None
        first = max(0, len(stored) - _MOST_MEMORIES)
        lines = ["<recentlyStoredMemories>", "Stored already, in the last minutes:"]
        if first:
            lines.append(f"(and {first} before these)")
        for number, memory in enumerate(stored[first:], start=first + 1):
            preview = quoted_line(memory.draft.content, _PREVIEW)
            lines.append(f"{number}. [{memory.id[:8]}] {preview}{_origin(memory, view)}")
        lines += [
            "Were you about to store one of these? It is done: go on with the next step.",
            "</recentlyStoredMemories>",
        ]
        return "\n".join(lines)


def _origin(memory: Memory, view: TurnView) -> str:
    words = told_origin(memory.draft.origin, view.conversation, memory.scope)
    return f" ({quoted_line(words, _PREVIEW)})" if words else ""
