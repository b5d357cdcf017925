"""What is remembered beyond a conversation's window: seed 004, Memory Operations."""

from dataclasses import dataclass
from typing import Literal, NewType, get_args

Scope = NewType("Scope", str)
"""Whose memory: ``topic:`` and a shared topic's name, or a conversation's id where none is shared."""

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
