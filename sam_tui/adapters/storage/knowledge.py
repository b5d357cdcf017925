"""Long-term knowledge, each entry with how sure it is; and all that is remembered, as people list it."""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.memories import content_digest
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable
from sam_tui.adapters.storage.word_index import WordIndex
from sam_tui.core.ports.memory import (
    LEARNT_KINDS,
    Learnt,
    LearntDraft,
    LearntHit,
    LearntKind,
    MemoryEntry,
    Origin,
    PruneRule,
    Scope,
)

MOST: Mapping[LearntKind, int] = {"discovery": 50, "solution": 50, "pattern": 30}
"""How many entries of a kind are kept when a prune's rule does not say (spec/sam.md 1.8)."""

_DAY = 86_400.0
_FIELDS = "subject, detail, examples, confidence, created_at, conversation, folder"
_COLUMNS = f"number, id, scope, kind, {_FIELDS}"
_ORDER = "ORDER BY confidence DESC, created_at DESC, number DESC"


class SqliteKnowledge:
    """The ``KnowledgeStore``."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now
        self._index = WordIndex(database, "knowledge_words")

    def add(self, scope: Scope, draft: LearntDraft) -> Learnt:
        """Store knowledge; an equal subject of the same kind keeps its id and gets the new values."""
        key, digest = storable(scope), content_digest(draft.subject)
        values = (
            storable(draft.subject),
            storable(draft.detail),
            json_text(draft.examples),
            draft.confidence,
            self._now(),
            storable(draft.origin.conversation),
            storable(draft.origin.folder),
        )
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO knowledge (id, scope, kind, digest, subject, detail, examples,"
                " confidence, created_at, conversation, folder)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (scope, kind, digest) DO UPDATE SET subject = excluded.subject,"
                " detail = excluded.detail, examples = excluded.examples,"
                " confidence = excluded.confidence, created_at = excluded.created_at,"
                " conversation = excluded.conversation, folder = excluded.folder",
                (secrets.token_hex(12), key, draft.kind, digest, *values),
            )
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM knowledge WHERE scope = ? AND kind = ? AND digest = ?",
                (key, draft.kind, digest),
            ).fetchone()
            self._index.remove(connection, [row[0]], key)
            text = "\n".join([draft.subject, draft.detail, *draft.examples])
            self._index.add(connection, row[0], key, text)
        return _learnt(row)

    def list(self, scope: Scope, kind: LearntKind | None = None) -> Sequence[Learnt]:
        """Return the learnt knowledge, surest first, then newest."""
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM knowledge WHERE scope = ? AND kind = coalesce(?, kind)"
            f" {_ORDER}",
            storable(scope),
            kind,
        )
        return [_learnt(row) for row in rows]

    def search(
        self, scope: Scope, query: str, *, limit: int, threshold: float
    ) -> Sequence[LearntHit]:
        """Best first."""
        key = storable(scope)
        hits = [hit for hit in self._index.search(key, query) if hit.relevance >= threshold]
        hits = hits[:limit]
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM knowledge WHERE number IN ({', '.join('?' * len(hits))})",
            *(hit.row for hit in hits),
        )
        learnt = {row[0]: _learnt(row) for row in rows}
        return [LearntHit(learnt[hit.row], hit.relevance) for hit in hits if hit.row in learnt]

    def prune(self, scope: Scope, rule: PruneRule) -> int:
        """Forget old and unsure entries, then the least sure of a kind that has too many."""
        key, oldest = storable(scope), self._now() - rule.max_age_days * _DAY
        most = {**MOST, **(rule.most or {})}
        with self._database.transaction() as connection:
            rows = connection.execute(
                f"SELECT number, kind, confidence, created_at FROM knowledge WHERE scope = ? {_ORDER}",
                (key,),
            ).fetchall()
            good = [row for row in rows if row[2] >= rule.min_confidence and row[3] >= oldest]
            retained = _first_of_each_kind(good, most)
            removed = [row[0] for row in rows if row[0] not in retained]
            self._index.remove(connection, removed, key)
            connection.executemany(
                "DELETE FROM knowledge WHERE number = ?", [(n,) for n in removed]
            )
        return len(removed)


_ENTRIES = (
    "SELECT id, type, scope, '', content, '', '[]', created_at, conversation, folder FROM memories"
    " UNION ALL SELECT '', 'note', scope, key, content, '', '[]', updated_at, conversation, folder"
    " FROM notes UNION ALL SELECT id, kind, scope, '', subject, detail, examples, created_at,"
    " conversation, folder FROM knowledge ORDER BY 8 DESC, 1"
)


class SqliteMemoryEntries:
    """The ``MemoryEntries``. A note, which has no id of its own, gets one from its scope and key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self) -> Sequence[MemoryEntry]:
        """Return all entries, newest first."""
        return [
            MemoryEntry(
                id_ or hashlib.sha256(f"{scope}\0{key}".encode()).hexdigest()[:24],
                kind,
                Scope(scope),
                key,
                "\n".join(filter(None, (text, detail, *json_value(examples)))),
                at,
                Origin(*origin),
            )
            for id_, kind, scope, key, text, detail, examples, at, *origin in self._database.query(
                _ENTRIES
            )
        ]

    def delete(self, entry: MemoryEntry) -> bool:
        """Delete an entry, with its index and vectors; False if it was no longer there."""
        with self._database.transaction() as connection:
            if entry.kind == "note":
                sql = "DELETE FROM notes WHERE scope = ? AND key = ?"
                return connection.execute(sql, (entry.scope, entry.key)).rowcount == 1
            learnt = entry.kind in LEARNT_KINDS
            table, words = (
                ("knowledge", "knowledge_words") if learnt else ("memories", "memory_words")
            )
            row = connection.execute(
                f"SELECT number FROM {table} WHERE id = ?", (entry.id,)
            ).fetchone()
            if row is not None:
                WordIndex(self._database, words).remove(connection, row, entry.scope)
                connection.execute(f"DELETE FROM {table} WHERE number = ?", row)
                if not learnt:
                    connection.execute("DELETE FROM memory_vectors WHERE memory = ?", row)
        return row is not None


def _first_of_each_kind(rows: Sequence[Row], most: Mapping[str, int]) -> set[int]:
    """The numbers of as many rows of a kind as it may have."""
    by_kind = ([row[0] for row in rows if row[1] == kind][: most[kind]] for kind in LEARNT_KINDS)
    return set(chain.from_iterable(by_kind))


def _learnt(row: Row) -> Learnt:
    _, id_, scope, kind, subject, detail, examples, confidence, created_at, *origin = row
    return Learnt(
        id_,
        Scope(scope),
        kind,
        subject,
        detail,
        tuple(json_value(examples)),
        confidence,
        created_at,
        Origin(*origin),
    )
