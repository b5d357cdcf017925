"""Memories by scope, stored once, found by words and by meaning, shared within a topic; notes by key."""

import hashlib
import logging
import math
import secrets
import sqlite3
import unicodedata
from array import array
from collections.abc import Callable, Mapping, Sequence

from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable
from sam_tui.adapters.storage.word_index import WordIndex
from sam_tui.core.errors import ModelError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import (
    MEMORY_TYPES,
    UNKNOWN,
    Memory,
    MemoryDraft,
    MemoryHit,
    Origin,
    Scope,
)
from sam_tui.core.ports.model import Embedder


class SqliteNotes:
    """The ``KeyValueStore``."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    def put(self, scope: Scope, key: str, content: str, *, origin: Origin = UNKNOWN) -> None:
        """Keep a note; one of the same key is replaced."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO notes (scope, key, content, updated_at, conversation, folder)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " content = excluded.content, updated_at = excluded.updated_at,"
                " conversation = excluded.conversation, folder = excluded.folder",
                (
                    storable(scope),
                    storable(key),
                    storable(content),
                    self._now(),
                    storable(origin.conversation),
                    storable(origin.folder),
                ),
            )

    def origins(self, scope: Scope) -> Mapping[str, Origin]:
        """The origin of each note, by its key."""
        rows = self._database.query(
            "SELECT key, conversation, folder FROM notes WHERE scope = ?", storable(scope)
        )
        return {key: Origin(conversation, folder) for key, conversation, folder in rows}

    def get(self, scope: Scope, key: str) -> str | None:
        """The note of this key, or None."""
        rows = self._database.query(
            "SELECT content FROM notes WHERE scope = ? AND key = ?", storable(scope), storable(key)
        )
        return str(rows[0][0]) if rows else None

    def search(self, scope: Scope, query: str) -> Sequence[tuple[str, str]]:
        """Notes whose key or content contains the query, ignoring case, newest first."""
        needle = query.casefold()
        rows = self._database.query(
            "SELECT key, content FROM notes WHERE scope = ? ORDER BY updated_at DESC, key",
            storable(scope),
        )
        return [
            (key, content)
            for key, content in rows
            if needle in key.casefold() or needle in content.casefold()
        ]

    def keys(self, scope: Scope) -> Sequence[tuple[str, str]]:
        """Every note, by key."""
        rows = self._database.query(
            "SELECT key, content FROM notes WHERE scope = ? ORDER BY key", storable(scope)
        )
        return [(key, content) for key, content in rows]

    def delete(self, scope: Scope, key: str) -> bool:
        """Delete a note. False if there was none."""
        with self._database.transaction() as connection:
            deleted = connection.execute(
                "DELETE FROM notes WHERE scope = ? AND key = ?", (storable(scope), storable(key))
            )
            return deleted.rowcount == 1


_BATCH, _KEPT = 64, 2048
logger = logging.getLogger(__name__)

MOST = 2000
"""The most memories of a scope that are compared: the newest. Plain Python takes about 10 ms for them."""


class MemoryVectors:
    """One unit vector per memory and embedding model."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self.prepared: dict[str, bytes] = {}
        """Unit vectors, as they are stored, of texts that may be stored or searched next."""

    async def prepare(self, texts: Sequence[str]) -> None:
        """Compute vectors ahead, a batch at a time; a refusal leaves it to the words."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.prepared]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            try:
                vectors = await self._embedder.embed(batch)
            except ModelError as refusal:
                logger.warning("no embeddings: %s", refusal)
                return
            for text, vector in zip(batch, vectors, strict=True):
                self.prepared[text] = array("f", _unit(vector)).tobytes()
        while len(self.prepared) > _KEPT:
            del self.prepared[next(iter(self.prepared))]

    def add(self, connection: sqlite3.Connection, memory: int, vector: bytes) -> None:
        """Store a memory's vector, inside the caller's transaction."""
        connection.execute(
            "INSERT OR REPLACE INTO memory_vectors VALUES (?, ?, ?)",
            (memory, self._embedder.name, vector),
        )

    def similar(self, scope: str, query: str) -> Mapping[int, float]:
        """The similarity of a scope's memories: cosine by row, only where it is positive."""
        prepared = self.prepared.get(query)
        if prepared is None:
            return {}
        query_vector = _floats(prepared)
        rows = self._database.query(
            "SELECT v.memory, v.vector FROM memory_vectors v JOIN memories m ON m.number = v.memory"
            " WHERE m.scope = ? AND v.model = ? ORDER BY v.memory DESC LIMIT ?",
            scope,
            self._embedder.name,
            MOST,
        )
        near = {row: _dot(query_vector, _floats(vector)) for row, vector in rows}
        return {row: min(1.0, cosine) for row, cosine in near.items() if cosine > 0}


def fused(words: float, meaning: float) -> float:
    """The larger of the relevance by words and the mean of the relevances by words and by meaning."""
    return max(words, (words + meaning) / 2)


def _unit(vector: Sequence[float]) -> list[float]:
    norm = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / norm for x in vector]


def _floats(data: bytes) -> Sequence[float]:
    return array("f", data)


def _dot(left: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, other, strict=False))


_COLUMNS = (
    "number, id, scope, type, content, tags, context, source, created_at, conversation, folder"
)


class SqliteMemories:
    """The ``MemoryStore``. ``embedder`` is optional; without one, words alone decide."""

    def __init__(
        self, database: Database, now: Callable[[], float], embedder: Embedder | None = None
    ) -> None:
        self._database = database
        self._now = now
        self._index = WordIndex(database, "memory_words")
        self._vectors = MemoryVectors(database, embedder) if embedder else None

    async def prepare(self, texts: Sequence[str]) -> None:
        """Compute the vectors of texts that come next; without an embedder nothing."""
        if self._vectors:
            await self._vectors.prepare(texts)

    def scope_of(self, conversation: ConversationId) -> Scope:
        """``topic:`` and the topic's name, or the conversation's own id, which has no colon."""
        rows = self._database.query(
            "SELECT topic FROM topics WHERE conversation = ?", storable(conversation)
        )
        return Scope(f"topic:{rows[0][0]}" if rows else storable(conversation))

    def set_topic(self, conversation: ConversationId, topic: str) -> None:
        """Join a topic, or leave it with the empty text."""
        key, name = storable(conversation), storable(topic.strip())
        with self._database.transaction() as connection:
            if not name:
                connection.execute("DELETE FROM topics WHERE conversation = ?", (key,))
                return
            connection.execute(
                "INSERT INTO topics VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
                " topic = excluded.topic, updated_at = excluded.updated_at",
                (key, name, self._now()),
            )

    def conversations(self, topic: str) -> Sequence[ConversationId]:
        """Return the conversations that share the topic, by id."""
        rows = self._database.query(
            "SELECT conversation FROM topics WHERE topic = ? ORDER BY conversation",
            storable(topic.strip()),
        )
        return [ConversationId(row[0]) for row in rows]

    def store(self, scope: Scope, draft: MemoryDraft) -> tuple[Memory, bool]:
        """Store a memory, unless the scope has one of the same content; also whether it was stored."""
        key, digest = storable(scope), content_digest(draft.content)
        existing = self._known(key, digest)
        if existing is not None:
            return existing, False
        vector = self._vectors.prepared.get(draft.content) if self._vectors else None
        with self._database.transaction() as connection:
            written = connection.execute(
                "INSERT INTO memories (id, scope, digest, type, content, tags, context, source,"
                " created_at, conversation, folder) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (
                    secrets.token_hex(12),
                    key,
                    digest,
                    draft.type,
                    storable(draft.content),
                    json_text(draft.tags),
                    storable(draft.context),
                    storable(draft.source),
                    self._now(),
                    storable(draft.origin.conversation),
                    storable(draft.origin.folder),
                ),
            )
            # Another process may have stored the same since we looked.
            new = written.rowcount == 1
            if new and written.lastrowid is not None:
                self._index.add(connection, written.lastrowid, key, _searched(draft))
                if self._vectors and vector is not None:
                    self._vectors.add(connection, written.lastrowid, vector)
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM memories WHERE scope = ? AND digest = ?", (key, digest)
            ).fetchone()
        return _memory(row), new

    def search(
        self, scope: Scope, query: str, *, limit: int, threshold: float
    ) -> Sequence[MemoryHit]:
        """Best first; the newer of two that are equally relevant."""
        key = storable(scope)
        relevance = {hit.row: hit.relevance for hit in self._index.search(key, query)}
        if self._vectors:
            for row, meaning in self._vectors.similar(key, query).items():
                relevance[row] = fused(relevance.get(row, 0.0), meaning)
        ranked = sorted(relevance.items(), key=lambda item: (-item[1], -item[0]))
        best = [(row, score) for row, score in ranked if score >= threshold][:limit]
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM memories WHERE number IN ({', '.join('?' * len(best))})",
            *(row for row, _ in best),
        )
        memories = {row[0]: _memory(row) for row in rows}
        return [MemoryHit(memories[row], score) for row, score in best if row in memories]

    def recent(self, scope: Scope, since: float) -> Sequence[Memory]:
        """Return the memories stored at or after that time, oldest first."""
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM memories WHERE scope = ? AND created_at >= ?"
            " ORDER BY created_at, number",
            storable(scope),
            since,
        )
        return [_memory(row) for row in rows]

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """By type, in the order of ``MEMORY_TYPES``; a type without memories is left out."""
        rows = self._database.query(
            "SELECT type, count(*) FROM memories WHERE scope = ? GROUP BY type", storable(scope)
        )
        counted = {str(kind): int(number) for kind, number in rows}
        ordered = [kind for kind in MEMORY_TYPES if kind in counted]
        return {kind: counted[kind] for kind in ordered}

    def forget(self, scope: Scope, *, source: str) -> int:
        """Delete the memories of a source, index and vectors with them."""
        key = storable(scope)
        with self._database.transaction() as connection:
            rows = [
                row[0]
                for row in connection.execute(
                    "SELECT number FROM memories WHERE scope = ? AND source = ?",
                    (key, storable(source)),
                )
            ]
            self._index.remove(connection, rows, key)
            for row in rows:
                connection.execute("DELETE FROM memory_vectors WHERE memory = ?", (row,))
                connection.execute("DELETE FROM memories WHERE number = ?", (row,))
        return len(rows)

    def _known(self, scope: str, digest: str) -> Memory | None:
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM memories WHERE scope = ? AND digest = ?", scope, digest
        )
        return _memory(rows[0]) if rows else None


def content_digest(text: str) -> str:
    """SHA-256 of a text in compatibility form, without regard to white space."""
    plain = " ".join(unicodedata.normalize("NFKC", storable(text)).split())
    return hashlib.sha256(plain.encode()).hexdigest()


def _searched(draft: MemoryDraft) -> str:
    """The text that searches look into: content, tags and context of a memory."""
    return "\n".join([draft.content, " ".join(draft.tags), draft.context])


def _memory(row: Row) -> Memory:
    _, id_, scope, type_, content, tags, context, source, created_at, *origin = row
    draft = MemoryDraft(content, type_, tuple(json_value(tags)), context, source, Origin(*origin))
    return Memory(id_, Scope(scope), draft, created_at)
