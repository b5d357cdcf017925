"""The archive: parts of conversations that left the model's context, searched by their words."""

from collections import Counter
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Literal

from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable
from sam_tui.adapters.storage.word_index import MOST_TERMS, any_of, scope_term, telling, terms
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import ArchivedChunk

_COLUMNS = "a.conversation, a.number, a.first_at, a.last_at, a.summary, a.topics, a.messages"
_BEST = "bm25(archive_words, 0.0, 3.0, 2.0, 1.0), a.row DESC"
"""Weights for bm25: a term counts three times in the summary, twice in the topics (spec/sam.md 1.10)."""
_ORDER = {"recent": "a.last_at DESC, a.row DESC", "early": "a.first_at, a.row", "": _BEST}


def insert_chunk(connection: Connection, chunk: ArchivedChunk) -> None:
    """Index a chunk in a transaction that is open."""
    key = storable(chunk.conversation)
    _delete(connection, key, "number = ?", chunk.number)
    written = connection.execute(
        "INSERT INTO archive (conversation, number, first_at, last_at, summary, topics,"
        " messages) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            key,
            chunk.number,
            chunk.first_at,
            chunk.last_at,
            storable(chunk.summary),
            json_text(chunk.topics),
            json_text([list(pair) for pair in chunk.messages]),
        ),
    )
    content = "\n".join(text for _, text in chunk.messages)
    connection.execute(
        "INSERT INTO archive_words (rowid, scope, summary, topics, content) VALUES (?, ?, ?, ?, ?)",
        (
            written.lastrowid,
            scope_term(key),
            " ".join(terms(chunk.summary)),
            " ".join(terms(" ".join(chunk.topics))),
            " ".join(terms(content)),
        ),
    )


def drop_last_compaction(connection: Connection, key: str) -> bool:
    """Undo the last compaction of a conversation: the messages that it dropped are in the context again.

    Its archived chunks are removed, because they would be found twice. False if there is none.
    """
    last = connection.execute(
        "SELECT number, archived FROM compactions WHERE conversation = ? AND undone = 0"
        " ORDER BY number DESC LIMIT 1",
        (key,),
    ).fetchone()
    if last is None:
        return False
    number, archived = last
    connection.execute(
        "UPDATE compactions SET undone = 1 WHERE conversation = ? AND number = ?", (key, number)
    )
    _delete(connection, key, "number > ?", archived)
    return True


def copy_chunks(connection: Connection, key: str, copy: str) -> None:
    """Copy a conversation's archived chunks to its copy."""
    query = f"SELECT {_COLUMNS} FROM archive a WHERE conversation = ? ORDER BY number"
    for row in connection.execute(query, (key,)).fetchall():
        insert_chunk(connection, _chunk((copy, *row[1:])))


def drop_compactions_after(connection: Connection, key: str, position: int) -> None:
    """Remove compactions that include messages behind a position, with their chunks."""
    later = "conversation = ? AND through > ?"
    (archived,) = connection.execute(
        f"SELECT min(archived) FROM compactions WHERE {later} AND undone = 0", (key, position)
    ).fetchone()
    if archived is not None:
        _delete(connection, key, "number > ?", archived)
    connection.execute(f"DELETE FROM compactions WHERE {later}", (key, position))


def _delete(connection: Connection, key: str, condition: str, number: int) -> None:
    rows = f"SELECT row FROM archive WHERE conversation = ? AND {condition}"
    connection.execute(f"DELETE FROM archive_words WHERE rowid IN ({rows})", (key, number))
    connection.execute(f"DELETE FROM archive WHERE conversation = ? AND {condition}", (key, number))


class SqliteArchive:
    """The ``Archive``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, chunk: ArchivedChunk) -> None:
        """Keep and index a chunk, committed before this returns."""
        with self._database.transaction() as connection:
            insert_chunk(connection, chunk)

    def last_number(self, conversation: ConversationId) -> int:
        """The number of the newest chunk; 0 when there is none."""
        rows = self._database.query(
            "SELECT max(number) FROM archive WHERE conversation = ?", storable(conversation)
        )
        return int(rows[0][0] or 0)

    def search(
        self,
        conversations: Sequence[ConversationId],
        query: str,
        *,
        hint: Literal["recent", "early", ""],
        limit: int,
    ) -> Sequence[ArchivedChunk]:
        """Chunks with any telling word of the query, in the order that the hint asks for."""
        sought = telling(terms(query))[:MOST_TERMS]
        if not sought or not conversations:
            return []
        where = any_of([scope_term(storable(key)) for key in conversations])
        rows = self._database.query(
            f"SELECT {_COLUMNS} FROM archive_words JOIN archive a ON a.row = archive_words.rowid"
            f" WHERE archive_words MATCH ? ORDER BY {_ORDER[hint]} LIMIT ?",
            f"scope : ({where}) AND {{summary topics content}} : ({any_of(sought)})",
            limit,
        )
        return [_chunk(row) for row in rows]

    def topics(self, conversations: Sequence[ConversationId], limit: int) -> Sequence[str]:
        """The topics of all chunks, the most frequent first, then by name."""
        counted: Counter[str] = Counter()
        for key in conversations:
            for (topics,) in self._database.query(
                "SELECT topics FROM archive WHERE conversation = ?", storable(key)
            ):
                counted.update(json_value(topics))
        ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return [topic for topic, _ in ranked[:limit]]


def _chunk(row: Row) -> ArchivedChunk:
    conversation, number, first_at, last_at, summary, topics, messages = row
    return ArchivedChunk(
        conversation,
        number,
        first_at,
        last_at,
        summary,
        tuple(json_value(topics)),
        tuple((role, text) for role, text in json_value(messages)),
    )
