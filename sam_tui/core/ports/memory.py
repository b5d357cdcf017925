"""Memory: what is remembered, imported and archived. Whatever returned is committed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.ids import ConversationId
from sam_tui.core.memories import (
    ArchivedChunk,
    ImportedDocument,
    Learnt,
    LearntKind,
    Memory,
    MemoryDraft,
    MemoryHit,
    Scope,
)


@dataclass(frozen=True, slots=True)
class PruneRule:
    """What long-term knowledge to keep: newer than, at least as sure as, and how many of a kind."""

    max_age_days: float = 90.0
    min_confidence: float = 0.3
    most: Mapping[LearntKind, int] | None = None


class MemoryStore(Protocol):
    """Memories of each scope, found by BM25 over words and parts of identifiers."""

    def scope_of(self, conversation: ConversationId) -> Scope:
        """The shared topic's scope where the conversation has one, else its own."""
        ...

    def store(self, scope: Scope, draft: MemoryDraft) -> tuple[Memory, bool]:
        """The stored memory, and whether it is new: equal content in one scope is stored once."""
        ...

    def search(
        self, scope: Scope, query: str, *, limit: int, threshold: float
    ) -> Sequence[MemoryHit]:
        """The best hits whose relevance (0 to 1) is at least ``threshold``, best first."""
        ...

    def recent(self, scope: Scope, since: float) -> Sequence[Memory]:
        """What was stored since then (seconds since the epoch), oldest first."""
        ...

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """How many memories there are of each type."""
        ...


class KeyValueStore(Protocol):
    """Small named notes of a scope."""

    def put(self, scope: Scope, key: str, content: str) -> None: ...
    def get(self, scope: Scope, key: str) -> str | None: ...
    def search(self, scope: Scope, query: str) -> Sequence[tuple[str, str]]: ...
    def keys(self, scope: Scope) -> Sequence[tuple[str, str]]: ...
    def delete(self, scope: Scope, key: str) -> bool: ...


class KnowledgeStore(Protocol):
    """Long-term knowledge with confidence."""

    def add(
        self,
        scope: Scope,
        kind: LearntKind,
        subject: str,
        *,
        detail: str = "",
        examples: Sequence[str] = (),
        confidence: float,
    ) -> Learnt: ...
    def list(self, scope: Scope, kind: LearntKind | None = None) -> Sequence[Learnt]: ...
    def prune(self, scope: Scope, rule: PruneRule) -> int:
        """Forget what the rule does not keep; returns how many."""
        ...


class DocumentStore(Protocol):
    """Which documents a conversation imported."""

    def record(self, conversation: ConversationId, document: ImportedDocument) -> None: ...
    def imported(self, conversation: ConversationId) -> Sequence[ImportedDocument]: ...


class Archive(Protocol):
    """What left a conversation's context, searchable."""

    def add(self, chunk: ArchivedChunk) -> None: ...
    def last_number(self, conversation: ConversationId) -> int: ...
    def search(
        self,
        conversations: Sequence[ConversationId],
        query: str,
        *,
        hint: Literal["recent", "early", ""],
        limit: int,
    ) -> Sequence[ArchivedChunk]: ...
    def topics(self, conversations: Sequence[ConversationId], limit: int) -> Sequence[str]: ...
