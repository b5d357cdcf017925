"""Memory: memories, imported documents, the archive. Each change is committed on return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NewType, Protocol, get_args

from sam_tui.core.ids import ConversationId

Scope = NewType("Scope", str)
"""Whose memory: ``topic:`` with the name of a shared topic, or the id of a conversation without one."""

MemoryType = Literal["interaction", "fact", "preference", "task", "document"]
LearntKind = Literal["discovery", "solution", "pattern"]

MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
LEARNT_KINDS: tuple[LearntKind, ...] = get_args(LearntKind)


@dataclass(frozen=True, slots=True)
class Origin:
    """The conversation that remembered something, and its workspace; empty where that is not known."""

    conversation: str = ""
    folder: str = ""


UNKNOWN = Origin()


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to store. ``source`` names where it came from, such as a document's id."""

    content: str
    type: MemoryType = "interaction"
    tags: tuple[str, ...] = ()
    context: str = ""
    source: str = ""
    origin: Origin = UNKNOWN


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory. ``created_at`` in seconds since the epoch."""

    id: str
    scope: Scope
    draft: MemoryDraft
    created_at: float


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that matched. ``relevance`` is 0 to 1."""

    memory: Memory
    relevance: float


@dataclass(frozen=True, slots=True)
class LearntDraft:
    """Long-term knowledge to keep. ``confidence`` is 0 to 1; ``detail`` is a solution's text, or empty."""

    kind: LearntKind
    subject: str
    detail: str = ""
    examples: tuple[str, ...] = ()
    confidence: float = 0.8
    origin: Origin = UNKNOWN


@dataclass(frozen=True, slots=True)
class Learnt:
    """Long-term knowledge. ``confidence`` is 0 to 1; ``detail`` is a solution's text, or empty."""

    id: str
    scope: Scope
    kind: LearntKind
    subject: str
    detail: str
    examples: tuple[str, ...]
    confidence: float
    created_at: float
    origin: Origin = UNKNOWN


@dataclass(frozen=True, slots=True)
class LearntHit:
    """Knowledge that matched. ``relevance`` is 0 to 1."""

    learnt: Learnt
    relevance: float


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory, a note or a piece of knowledge, for a person's list.

    ``kind`` is a ``MemoryType``, a ``LearntKind`` or ``note``; ``key`` is a note's, else empty;
    ``stored_at`` in seconds since the epoch.
    """

    id: str
    kind: str
    scope: Scope
    key: str
    text: str
    stored_at: float
    origin: Origin


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """A document whose text was put into memory, in pieces."""

    id: str
    name: str
    source: str
    digest: str
    characters: int
    imported_at: float


@dataclass(frozen=True, slots=True)
class ArchivedChunk:
    """A stretch of a conversation that left the model's context.

    ``messages`` are (role, text) pairs in order; ``number`` counts a conversation's chunks from 1;
    ``first_at`` and ``last_at`` are seconds since the epoch.
    """

    conversation: str
    number: int
    first_at: float
    last_at: float
    summary: str
    topics: tuple[str, ...]
    messages: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PruneRule:
    """The long-term knowledge to keep: its age, its confidence, and how many of a kind."""

    max_age_days: float = 90.0
    min_confidence: float = 0.3
    most: Mapping[LearntKind, int] | None = None


class MemoryStore(Protocol):
    """Memories of each scope, found by words and parts of identifiers."""

    def scope_of(self, conversation: ConversationId) -> Scope:
        """The shared topic's scope where the conversation has one, else its own."""
        ...

    async def prepare(self, texts: Sequence[str]) -> None:
        """Have the meaning of texts at hand that are about to be stored or looked for.

        Does nothing where words alone decide; when it fails, words alone decide for these.
        """
        ...

    def set_topic(self, conversation: ConversationId, topic: str) -> None:
        """Share memory with all conversations of a topic; empty for its own again."""
        ...

    def conversations(self, topic: str) -> Sequence[ConversationId]:
        """The conversations that share a topic."""
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
        """Return the memories stored since then (seconds since the epoch), oldest first."""
        ...

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """Return how many memories there are of each type."""
        ...

    def forget(self, scope: Scope, *, source: str) -> int:
        """Delete the memories of a source, such as a document's old version; return how many."""
        ...


class KeyValueStore(Protocol):
    """Small named notes of a scope."""

    def put(self, scope: Scope, key: str, content: str, *, origin: Origin = UNKNOWN) -> None:
        """Keep a note; one of the same key is replaced."""
        ...

    def origins(self, scope: Scope) -> Mapping[str, Origin]:
        """The origin of each note, by its key."""
        ...

    def get(self, scope: Scope, key: str) -> str | None:
        """The note of this key, or None."""
        ...

    def search(self, scope: Scope, query: str) -> Sequence[tuple[str, str]]:
        """Return key and content of the notes that contain the text, in any case, newest first."""
        ...

    def keys(self, scope: Scope) -> Sequence[tuple[str, str]]:
        """Key and content of every note, by key."""
        ...

    def delete(self, scope: Scope, key: str) -> bool:
        """Delete a note. False if there was none."""
        ...


class KnowledgeStore(Protocol):
    """Long-term knowledge with confidence."""

    def add(self, scope: Scope, draft: LearntDraft) -> Learnt:
        """Learn it; the same subject of the same kind is learnt anew in its place."""
        ...

    def list(self, scope: Scope, kind: LearntKind | None = None) -> Sequence[Learnt]:
        """Return the learnt knowledge, surest first, then newest."""
        ...

    def search(
        self, scope: Scope, query: str, *, limit: int, threshold: float
    ) -> Sequence[LearntHit]:
        """The best hits whose relevance (0 to 1) is at least ``threshold``, best first."""
        ...

    def prune(self, scope: Scope, rule: PruneRule) -> int:
        """Forget the entries that the rule excludes; return how many."""
        ...


class MemoryEntries(Protocol):
    """Memories, notes and knowledge of all scopes together."""

    def entries(self) -> Sequence[MemoryEntry]:
        """Return all entries, newest first."""
        ...

    def delete(self, entry: MemoryEntry) -> bool:
        """Delete an entry; False if it was no longer there."""
        ...


class DocumentStore(Protocol):
    """The documents that a conversation imported."""

    def record(self, conversation: ConversationId, document: ImportedDocument) -> None:
        """Keep it; an earlier import from the same source is replaced."""
        ...

    def imported(self, conversation: ConversationId) -> Sequence[ImportedDocument]:
        """The documents, in the order of their last import."""
        ...


class Archive(Protocol):
    """Searches messages that left the context of a conversation."""

    def add(self, chunk: ArchivedChunk) -> None:
        """Keep a chunk; one of the same number is replaced."""
        ...

    def last_number(self, conversation: ConversationId) -> int:
        """The number of the newest chunk; 0 when there is none."""
        ...

    def search(
        self,
        conversations: Sequence[ConversationId],
        query: str,
        *,
        hint: Literal["recent", "early", ""],
        limit: int,
    ) -> Sequence[ArchivedChunk]:
        """Chunks that hold a word of the query: newest, earliest or (no hint) best first."""
        ...

    def topics(self, conversations: Sequence[ConversationId], limit: int) -> Sequence[str]:
        """Return the topics of the chunks, the most frequent first."""
        ...
