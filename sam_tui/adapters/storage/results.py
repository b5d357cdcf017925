"""Large tool results, whole, in the database: an id from the model is a key and never a path."""

import time
from collections.abc import Sequence

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ids import CallId, ConversationId


class SqliteResults:
    """The ``ResultStore``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, conversation: ConversationId, call: CallId, text: str) -> None:
        """Keep the whole text of a result; a second one of the same call replaces it."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO results VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " text = excluded.text, created_at = excluded.created_at",
                (storable(conversation), storable(call), storable(text), time.time()),
            )

    def load(self, conversation: ConversationId, call: CallId) -> str | None:
        """The text, or None when this conversation has no such result."""
        rows = self._database.query(
            "SELECT text FROM results WHERE conversation = ? AND call = ?",
            storable(conversation),
            storable(call),
        )
        return str(rows[0][0]) if rows else None

    def calls(self, conversation: ConversationId) -> Sequence[CallId]:
        """The calls that have a stored result, in the order they were first kept."""
        rows = self._database.query(
            "SELECT call FROM results WHERE conversation = ? ORDER BY rowid",
            storable(conversation),
        )
        return [CallId(row[0]) for row in rows]
