"""Large tool results, whole: an id from the model is a key and never a path."""

import time
from collections.abc import Sequence

from sam_tui.adapters.storage.conversation_folders import ConversationFolders
from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.adapters.storage.writers import Writers
from sam_tui.core.ids import CallId, ConversationId

IN_A_FILE_FROM = 65_536
"""Characters from which a result is a file of its conversation's folder instead of a row."""


class SqliteResults:
    """The ``ResultStore``."""

    def __init__(self, database: Database, folders: ConversationFolders, writers: Writers) -> None:
        self._database = database
        self._writers = writers
        self._folders = folders

    def save(self, conversation: ConversationId, call: CallId, text: str) -> None:
        """Keep the whole text of a result; a second one of the same call replaces it."""
        whole, file = storable(text), ""
        if len(whole) >= IN_A_FILE_FROM:
            file, whole = self._folders.save(conversation, "results", call, whole), ""
        with self._writers.writing(conversation) as connection:
            connection.execute(
                "INSERT INTO results (conversation, call, text, created_at, file)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " text = excluded.text, created_at = excluded.created_at, file = excluded.file",
                (storable(conversation), storable(call), whole, time.time(), file),
            )

    def load(self, conversation: ConversationId, call: CallId) -> str | None:
        """The text, or None when this conversation has no such result."""
        rows = self._database.query(
            "SELECT text, file FROM results WHERE conversation = ? AND call = ?",
            storable(conversation),
            storable(call),
        )
        if not rows:
            return None
        text, file = rows[0]
        return self._folders.load(conversation, file) if file else str(text)

    def calls(self, conversation: ConversationId) -> Sequence[CallId]:
        """The calls that have a stored result, in the order they were first kept."""
        rows = self._database.query(
            "SELECT call FROM results WHERE conversation = ? ORDER BY rowid",
            storable(conversation),
        )
        return [CallId(row[0]) for row in rows]
