"""Conversations, todos, large results and decisions in one SQLite file.

``open_storage(data_dir)`` gives all four stores over one connection. Use it from one thread.
"""

from dataclasses import dataclass
from pathlib import Path

from sam_tui.adapters.storage.conversations import SqliteConversations
from sam_tui.adapters.storage.database import BUSY_SECONDS, Database
from sam_tui.adapters.storage.decisions import SqliteDecisions
from sam_tui.adapters.storage.results import SqliteResults
from sam_tui.adapters.storage.todos import SqliteTodos

__all__ = ["Storage", "open_storage"]


@dataclass(frozen=True, slots=True)
class Storage:
    """Every store of one process, over one connection."""

    database: Database
    conversations: SqliteConversations
    todos: SqliteTodos
    results: SqliteResults
    decisions: SqliteDecisions

    def close(self) -> None:
        """Close the connection; the stores cannot be used after that."""
        self.database.close()


def open_storage(data_dir: str | Path, *, busy_seconds: float = BUSY_SECONDS) -> Storage:
    """Open ``sam.db`` in ``data_dir``, making both where they are missing.

    ``busy_seconds`` is how long a write waits for another process. Raises ``StorageError``.
    """
    database = Database(Path(data_dir), busy_seconds=busy_seconds)
    return Storage(
        database,
        SqliteConversations(database),
        SqliteTodos(database),
        SqliteResults(database),
        SqliteDecisions(database),
    )
