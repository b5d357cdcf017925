"""The person's list of stored conversations: naming, pinning, archiving, searching, copying, deleting."""

import sys
import time
from collections.abc import Sequence
from sqlite3 import Connection

from sam_tui.adapters.storage.archive import copy_chunks, drop_compactions_after
from sam_tui.adapters.storage.conversation_folders import ConversationFolders
from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import storable, title_of
from sam_tui.adapters.storage.writers import Writers
from sam_tui.core.errors import StorageError, UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message, load_message
from sam_tui.core.ports.storage import ConversationRecord, SearchMatch
from sam_tui.core.usage import Usage

RECORD = """SELECT id, workspace, title, created_at, updated_at, messages, input_tokens,
    cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost, pinned, archived
    FROM conversations"""
SPOKEN = "(messages > 0 OR queued <> '[]') AND parent IS NULL AND archived = 0"
"""The conversations that are listed: those with a message or a waiting prompt."""
MARK = ("\x02", "\x03")
"""The characters before and after a matching word in an excerpt."""
_MATCHES = 500
"""The most messages that a search finds, the best ones, before they are grouped by conversation."""
_INDEXED_AT_ONCE = 50
"""Conversations indexed in one transaction, so that other programs can write in between."""


def record_of(row: Row) -> ConversationRecord:
    """The record of a row of ``RECORD``."""
    key, workspace, title, created_at, updated_at, messages, *usage, pinned, archived = row
    return ConversationRecord(
        ConversationId(key),
        workspace,
        title,
        created_at,
        updated_at,
        messages,
        Usage(*usage),
        pinned=bool(pinned),
        archived=bool(archived),
    )


def newest(database: Database, workspace: str) -> ConversationRecord | None:
    """The conversation of a workspace with the newest message, or None.

    The message's row number decides and not its time: a clock that was set back makes that older.
    """
    rows = database.query(
        f"{RECORD} WHERE {SPOKEN} AND workspace = ? ORDER BY (SELECT rowid FROM messages"
        " WHERE conversation = id ORDER BY position DESC LIMIT 1) DESC, updated_at DESC LIMIT 1",
        storable(workspace),
    )
    return record_of(rows[0]) if rows else None


class SqliteConversationCatalog:
    """The ``ConversationCatalog``."""

    def __init__(self, database: Database, folders: ConversationFolders, writers: Writers) -> None:
        self._database = database
        self._folders = folders
        self._writers = writers

    def listed(
        self, workspace: str | None, limit: int, *, archived: bool = False
    ) -> Sequence[ConversationRecord]:
        """Conversations with a message or a waiting prompt: pinned ones first, then by last use."""
        where = "(messages > 0 OR queued <> '[]') AND parent IS NULL AND archived = ?"
        values: list[str | int] = [int(archived)]
        if workspace is not None:
            where += " AND workspace = ?"
            values.append(storable(workspace))
        rows = self._database.query(
            f"{RECORD} WHERE {where} ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT ?",
            *values,
            limit,
        )
        return [record_of(row) for row in rows]

    def rename(self, conversation: ConversationId, title: str) -> str:
        """Give a conversation a title; returns the title as stored. Raises ``UsageError`` if it has no
        words."""
        words = title_of(title)
        if not words:
            raise UsageError("A title cannot be empty.")
        self._set(conversation, "title", words)
        return words

    def pin(self, conversation: ConversationId, pinned: bool) -> None:
        """List it before the others, or no longer."""
        self._set(conversation, "pinned", int(pinned))

    def archive(self, conversation: ConversationId, archived: bool) -> None:
        """Leave it out of lists, or no longer; a new message brings it back."""
        self._set(conversation, "archived", int(archived))

    def _set(self, conversation: ConversationId, column: str, value: str | int) -> None:
        with self._database.transaction() as connection:
            done = connection.execute(
                f"UPDATE conversations SET {column} = ? WHERE id = ?",
                (value, storable(conversation)),
            )
            if done.rowcount != 1:
                raise StorageError(f"There is no conversation {conversation}.")

    def delete(self, conversation: ConversationId) -> None:
        """Remove it with its subagents' conversations, results, memories and folder.

        The audit log keeps its entries. Raises ``ConversationInUse`` while another program has it.
        """
        rows = self._database.query(
            "WITH RECURSIVE tree(id) AS (SELECT id FROM conversations WHERE id = ?"
            " UNION SELECT c.id FROM conversations c JOIN tree ON c.parent = tree.id)"
            " SELECT id FROM tree",
            storable(conversation),
        )
        if not rows:
            raise StorageError(f"There is no conversation {conversation}.")
        for (key,) in reversed(rows):
            with self._writers.writing(ConversationId(key)) as connection:
                _delete_rows(connection, key)
            self._folders.remove(ConversationId(key))

    def search(self, words: str, limit: int) -> Sequence[SearchMatch]:
        """The conversations in which a message has all the words, the best first."""
        query = " ".join(f'"{word}"*' for word in words.replace('"', " ").split())
        if not query:
            raise UsageError("Enter words to search for.")
        self._index()
        rows = self._database.query(
            "SELECT conversation, position, kind, snippet(message_words, 3, ?, ?, '…', 16)"
            " FROM message_words WHERE message_words MATCH ? ORDER BY rank LIMIT ?",
            *MARK,
            f"text : ({query})",
            _MATCHES,
        )
        best: dict[str, tuple[int, str, str]] = {}
        counts: dict[str, int] = {}
        for key, position, kind, excerpt in rows:
            counts[key] = counts.get(key, 0) + 1
            best.setdefault(key, (position, kind, excerpt))
        matches: list[SearchMatch] = []
        for key, (position, kind, excerpt) in best.items():
            record = self._database.query(f"{RECORD} WHERE id = ? AND parent IS NULL", key)
            if record and len(matches) < limit:
                matches.append(
                    SearchMatch(record_of(record[0]), position, kind, excerpt, counts[key])
                )
        return matches

    def last_words(self, conversation: ConversationId, count: int) -> Sequence[Message]:
        """The newest messages with words of the person or the model, oldest first."""
        rows = self._database.query(
            "SELECT body FROM messages WHERE conversation = ? AND kind IN ('user', 'assistant')"
            " AND json_valid(body) AND trim(json_extract(body, '$.text')) <> ''"
            " ORDER BY position DESC LIMIT ?",
            storable(conversation),
            count,
        )
        return [load_message(body) for (body,) in reversed(rows)]

    def _index(self) -> None:
        """Add the messages of since the last call to the index."""
        behind = self._database.query(
            "SELECT id, through, last FROM (SELECT c.id, coalesce(w.through, 0) AS through,"
            " (SELECT max(position) FROM messages WHERE conversation = c.id) AS last"
            " FROM conversations c LEFT JOIN indexed_messages w ON w.conversation = c.id)"
            " WHERE last > through"
        )
        for first in range(0, len(behind), _INDEXED_AT_ONCE):
            with self._database.transaction() as connection:
                for key, through, last in behind[first : first + _INDEXED_AT_ONCE]:
                    connection.execute(
                        "INSERT INTO message_words SELECT conversation, position, kind,"
                        " coalesce(json_extract(body, '$.text'), '') || ' ' ||"
                        " coalesce(json_extract(body, '$.calls'), '') FROM messages"
                        " WHERE conversation = ? AND position > ? AND position <= ?"
                        " AND kind <> 'reminder' AND json_valid(body)",
                        (key, through, last),
                    )
                    connection.execute(
                        "INSERT OR REPLACE INTO indexed_messages VALUES (?, ?)", (key, last)
                    )


_CONVERSATION_TABLES = (
    "messages", "compactions", "model_calls", "todos", "results", "call_displays", "prompt_choices",
    "reminder_choices", "topics", "documents", "writers", "message_words", "indexed_messages", "notices",
)  # fmt: skip
"""Tables whose rows belong to one conversation and are deleted with it."""


def _delete_rows(connection: Connection, key: str) -> None:
    connection.execute(
        "DELETE FROM archive_words WHERE rowid IN (SELECT row FROM archive WHERE conversation = ?)",
        (key,),
    )
    connection.execute(
        "DELETE FROM memory_words WHERE rowid IN (SELECT number FROM memories WHERE scope = ?)",
        (key,),
    )
    connection.execute(
        "DELETE FROM memory_vectors WHERE memory IN (SELECT number FROM memories WHERE scope = ?)",
        (key,),
    )
    for table in ("memories", "notes", "word_totals"):
        connection.execute(f"DELETE FROM {table} WHERE scope = ?", (key,))
    for table in (*_CONVERSATION_TABLES, "archive"):
        connection.execute(f"DELETE FROM {table} WHERE conversation = ?", (key,))
    connection.execute("DELETE FROM conversations WHERE id = ?", (key,))


_COPIED = {
    "messages": "position, kind, call, name, body, created_at",
    "compactions": "number, made_at, through, opening, archived, undone",
    "todos": "items, updated_at, edits",
    "results": "call, text, created_at, file",
    "call_displays": "call, seconds, displays, decision",
    "prompt_choices": "prompt, enabled",
    "reminder_choices": "name, choice",
    "topics": "topic, updated_at",
    "notices": "position, at, level, text",
}
"""The columns of each table that a copy of a conversation gets; totals start again at 0."""


def fork(
    database: Database,
    folders: ConversationFolders,
    conversation: ConversationId,
    copy: ConversationId,
    at: int | None,
) -> None:
    """Make ``copy`` in one transaction. Raises ``StorageError`` where there is nothing to copy."""
    key, new = storable(conversation), storable(copy)
    with database.transaction() as connection:
        inserted = connection.execute(
            "INSERT INTO conversations (id, workspace, title, created_at, updated_at, messages, pins)"
            " SELECT ?, workspace, title, ?, ?, messages, pins FROM conversations WHERE id = ?",
            (new, time.time(), time.time(), key),
        )
        if inserted.rowcount != 1:
            raise StorageError(f"There is no conversation {key} to copy.")
        for table, columns in _COPIED.items():
            connection.execute(
                f"INSERT INTO {table} (conversation, {columns}) SELECT ?, {columns} FROM {table}"
                " WHERE conversation = ? ORDER BY rowid",
                (new, key),
            )
        copy_chunks(connection, key, new)
        if at is not None:
            _cut(connection, new, at)
        _copy_files(connection, folders, conversation, copy)


def _end_of_step(connection: Connection, key: str, position: int) -> int:
    """The first position that a copy ending at a message leaves out: the prompt itself, else the position
    behind the results of its step. Raises ``UsageError`` if there is no such message."""
    row = connection.execute(
        "SELECT kind FROM messages WHERE conversation = ? AND position = ?", (key, position)
    ).fetchone()
    if row is None:
        raise UsageError(
            f"There is no message {position}.",
            hint="“sam-tui sessions show ID --numbers” shows them.",
        )
    if row[0] == "user":
        return position
    return connection.execute(
        "SELECT coalesce(min(position), ?) FROM messages WHERE conversation = ? AND position > ?"
        " AND kind IN ('user', 'assistant')",
        (sys.maxsize, key, position),
    ).fetchone()[0]


def _cut(connection: Connection, key: str, at: int) -> None:
    """Let a copy end at a message: later ones go, with the reminders right before them and their part
    of the archive."""
    before = _end_of_step(connection, key, at)
    last = connection.execute(
        "SELECT coalesce(max(position), 0) FROM messages"
        " WHERE conversation = ? AND position < ? AND kind <> 'reminder'",
        (key, before),
    ).fetchone()[0]
    for table in ("messages", "notices"):
        connection.execute(
            f"DELETE FROM {table} WHERE conversation = ? AND position > ?", (key, last)
        )
    drop_compactions_after(connection, key, last)
    connection.execute(
        "UPDATE conversations SET messages ="
        " (SELECT count(*) FROM messages WHERE conversation = id) WHERE id = ?",
        (key,),
    )


def _copy_files(
    connection: Connection,
    folders: ConversationFolders,
    conversation: ConversationId,
    copy: ConversationId,
) -> None:
    """Copy the results that are files; a missing file is missing in the copy too."""
    rows = connection.execute(
        "SELECT call, file FROM results WHERE conversation = ? AND file <> ''", (storable(copy),)
    ).fetchall()
    for call, file in rows:
        text = folders.load(conversation, file)
        if text is not None:
            folders.save(copy, file.partition("/")[0], call, text)
