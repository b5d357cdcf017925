"""One SQLite file for conversations, todos, results, decisions, memories and documents.

``open_storage(data_dir)`` gives every store over one connection. Use it from one thread.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sam_tui.adapters.storage.archive import SqliteArchive
from sam_tui.adapters.storage.calls.log import SqliteCalls
from sam_tui.adapters.storage.conversation_catalog import SqliteConversationCatalog
from sam_tui.adapters.storage.conversation_folders import ConversationFolders
from sam_tui.adapters.storage.conversation_state import (
    SqliteDocuments,
    SqliteNotices,
    SqlitePromptChoices,
    SqliteReminderChoices,
    SqliteResults,
    SqliteTodos,
)
from sam_tui.adapters.storage.conversations import SqliteConversations
from sam_tui.adapters.storage.database import BUSY_SECONDS, Database
from sam_tui.adapters.storage.decisions import SqliteDecisions
from sam_tui.adapters.storage.knowledge import SqliteKnowledge, SqliteMemoryEntries
from sam_tui.adapters.storage.memories import SqliteMemories, SqliteNotes
from sam_tui.adapters.storage.writers import Writers
from sam_tui.core.ports.model import Embedder

FOLDERS = "conversations"
"""The folder of the conversations' own folders, beside the database."""

__all__ = ["Storage", "open_storage"]


@dataclass(frozen=True, slots=True)
class Storage:
    """The stores of one process, over one database connection."""

    database: Database
    writers: Writers
    folders: ConversationFolders
    conversations: SqliteConversations
    catalog: SqliteConversationCatalog
    todos: SqliteTodos
    results: SqliteResults
    decisions: SqliteDecisions
    memories: SqliteMemories
    notes: SqliteNotes
    knowledge: SqliteKnowledge
    memory_entries: SqliteMemoryEntries
    documents: SqliteDocuments
    archive: SqliteArchive
    choices: SqlitePromptChoices
    reminders: SqliteReminderChoices
    calls: SqliteCalls
    notices: SqliteNotices

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the stores cannot be used after that."""
        self.writers.close()
        self.database.close()


def open_storage(
    data_dir: str | Path,
    *,
    busy_seconds: float = BUSY_SECONDS,
    now: Callable[[], float] = time.time,
    embedder: Embedder | None = None,
    program: str = "sam-tui",
    reads: bool = False,
) -> Storage:
    """Open ``sam.db`` in ``data_dir``, making both where they are missing.

    ``busy_seconds`` is how long a write waits for another process; ``now`` returns the time for
    stored rows, in seconds since the epoch. ``program`` is this program's name for others that find
    it writing to a conversation. With ``reads`` an existing file opens on a full or read-only disk
    too. Raises ``StorageError``.
    """
    database = Database(Path(data_dir), busy_seconds=busy_seconds, reads=reads)
    folders = ConversationFolders(database.path.parent / FOLDERS)
    writers = Writers(database, program)
    conversations = SqliteConversations(database, folders, writers)
    return Storage(
        database,
        writers,
        folders,
        conversations,
        SqliteConversationCatalog(database, folders, writers),
        SqliteTodos(database, writers),
        SqliteResults(database, folders, writers),
        SqliteDecisions(database),
        SqliteMemories(database, now, embedder),
        SqliteNotes(database, now),
        SqliteKnowledge(database, now),
        SqliteMemoryEntries(database),
        SqliteDocuments(database),
        SqliteArchive(database),
        SqlitePromptChoices(database),
        SqliteReminderChoices(database),
        SqliteCalls(database, conversations),
        SqliteNotices(database, writers, conversations.positions),
    )
