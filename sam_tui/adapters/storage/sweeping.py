"""Conversations in which nothing was ever said or kept are removed, with their empty folders."""

from collections.abc import Collection

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.folders import ConversationFolders
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ids import ConversationId

_BY_CONVERSATION = ("topics", "results", "documents", "archive", "prompt_choices", "decisions")
_BY_SCOPE = ("memories", "notes", "knowledge")
_UNUSED = " AND ".join([
    "c.messages = 0 AND c.queued = '[]'",
    "NOT EXISTS (SELECT 1 FROM conversations WHERE parent = c.id)",
    "NOT EXISTS (SELECT 1 FROM todos WHERE conversation = c.id AND items <> '[]')",
    *(f"NOT EXISTS (SELECT 1 FROM {t} WHERE conversation = c.id)" for t in _BY_CONVERSATION),
    *(f"NOT EXISTS (SELECT 1 FROM {t} WHERE scope = c.id)" for t in _BY_SCOPE),
])


def remove_unused(
    database: Database,
    folders: ConversationFolders,
    *,
    before: float,
    also: Collection[ConversationId] = (),
) -> list[ConversationId]:
    """Remove the unused conversations made ``before`` a time, and of ``also`` those that are unused.

    Kept is what has a message, a prompt that waits, a subagent, a shared topic, todos, results,
    memories, documents, choices or decisions, or a file in its folder. Returns the ids that went. A
    younger one may be another process's that has only just begun.
    """
    rows = database.query(f"SELECT id, created_at FROM conversations c WHERE {_UNUSED}")
    chosen = [ConversationId(key) for key, made_at in rows if made_at < before or key in also]
    removed = [key for key in chosen if folders.remove_empty(key)]
    with database.transaction() as connection:
        for key in removed:
            connection.execute(
                f"DELETE FROM conversations AS c WHERE id = ? AND {_UNUSED}", (storable(key),)
            )
    return removed
