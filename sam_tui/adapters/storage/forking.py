"""A copy of a conversation as it stands, to go on in while another program goes on in the original."""

import sqlite3
import time

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.folders import ConversationFolders
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import ConversationId

_COPIED = {
    "messages": "position, kind, call, name, body, created_at",
    "compactions": "number, made_at, through, opening",
    "todos": "items, updated_at, edits",
    "results": "call, text, created_at, file",
    "prompt_choices": "prompt, enabled",
    "topics": "topic, updated_at",
}
"""What a copy takes along, by table: the columns beside the conversation's. Totals begin anew."""


def fork(
    database: Database,
    folders: ConversationFolders,
    conversation: ConversationId,
    copy: ConversationId,
) -> None:
    """Make ``copy`` in one transaction. Raises ``StorageError`` where there is nothing to copy."""
    key, new = storable(conversation), storable(copy)
    with database.transaction() as connection:
        inserted = connection.execute(
            "INSERT INTO conversations (id, workspace, title, created_at, updated_at, messages)"
            " SELECT ?, workspace, title, ?, ?, messages FROM conversations WHERE id = ?",
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
        _copy_files(connection, folders, conversation, copy)


def _copy_files(
    connection: sqlite3.Connection,
    folders: ConversationFolders,
    conversation: ConversationId,
    copy: ConversationId,
) -> None:
    """The results that are files; one that is gone is gone in the copy too."""
    rows = connection.execute(
        "SELECT call, file FROM results WHERE conversation = ? AND file <> ''", (storable(copy),)
    ).fetchall()
    for call, file in rows:
        text = folders.load(conversation, file)
        if text is not None:
            folders.save(copy, file.partition("/")[0], call, text)
