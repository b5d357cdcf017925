"""Small named notes by scope."""

from collections.abc import Callable, Mapping, Sequence

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ports.memory import UNKNOWN, Origin, Scope


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
        """Who wrote each note."""
        rows = self._database.query(
            "SELECT key, conversation, folder FROM notes WHERE scope = ?", storable(scope)
        )
        return {key: Origin(conversation, folder) for key, conversation, folder in rows}

    def get(self, scope: Scope, key: str) -> str | None:
        """The note, or None."""
        rows = self._database.query(
            "SELECT content FROM notes WHERE scope = ? AND key = ?", storable(scope), storable(key)
        )
        return str(rows[0][0]) if rows else None

    def search(self, scope: Scope, query: str) -> Sequence[tuple[str, str]]:
        """Notes whose key or content holds the text, whatever its case, newest first."""
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
        """Delete a note; False when there was none."""
        with self._database.transaction() as connection:
            deleted = connection.execute(
                "DELETE FROM notes WHERE scope = ? AND key = ?", (storable(scope), storable(key))
            )
            return deleted.rowcount == 1
