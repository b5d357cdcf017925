"""Conversations: one row each, one row per message, totals kept beside them."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import storable, storable_json, title_of
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
    dump_message,
    load_message,
)
from sam_tui.core.ports import ConversationRecord
from sam_tui.core.usage import Usage

UNREADABLE = "This part of the stored conversation could not be read and was left out."

_RECORD = """SELECT id, workspace, title, created_at, updated_at, messages, input_tokens,
    cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost FROM conversations"""
_ORDER = "ORDER BY updated_at DESC, id DESC LIMIT ?"


class SqliteConversations:
    """The ``ConversationStore``. Every write is one committed transaction before it returns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        conversation: ConversationId,
        workspace: str,
        *,
        parent: ConversationId | None = None,
    ) -> None:
        """Begin a conversation; one that is there already stays as it is.

        One with a ``parent`` is a subagent's: it is found by its id but not listed.
        """
        now = time.time()
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO conversations (id, workspace, created_at, updated_at, parent)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (storable(conversation), storable(workspace), now, now, parent),
            )

    def find(self, conversation: ConversationId) -> ConversationRecord | None:
        """The record of that id, or None."""
        rows = self._database.query(f"{_RECORD} WHERE id = ?", storable(conversation))
        return _record(rows[0]) if rows else None

    def latest(self, workspace: str) -> ConversationRecord | None:
        """The last used conversation of that workspace that has a message, or None."""
        found = self.recent(workspace, 1)
        return found[0] if found else None

    def recent(self, workspace: str | None, limit: int) -> Sequence[ConversationRecord]:
        """Conversations that have a message, last used first; of every workspace for None."""
        if workspace is None:
            rows = self._database.query(
                f"{_RECORD} WHERE messages > 0 AND parent IS NULL {_ORDER}", limit
            )
        else:
            rows = self._database.query(
                f"{_RECORD} WHERE messages > 0 AND parent IS NULL AND workspace = ? {_ORDER}",
                storable(workspace),
                limit,
            )
        return [_record(row) for row in rows]

    def append(self, conversation: ConversationId, messages: Sequence[Message]) -> None:
        """Add messages at the end, all or none. The first from the person names the conversation."""
        if not messages:
            return
        now, key = time.time(), storable(conversation)
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT (SELECT max(position) FROM messages WHERE conversation = id), title"
                " FROM conversations WHERE id = ?",
                (key,),
            ).fetchone()
            if found is None:
                raise StorageError(f"There is no conversation {key} to add to.")
            first = (found[0] or 0) + 1
            connection.executemany(
                "INSERT INTO messages (conversation, position, kind, call, name, body, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(key, first + i, *_columns(m), now) for i, m in enumerate(messages)],
            )
            connection.execute(
                "UPDATE conversations SET messages = messages + ?, updated_at = ?, title = ?"
                " WHERE id = ?",
                (len(messages), now, found[1] or _title(messages), key),
            )

    def messages(self, conversation: ConversationId) -> list[Message]:
        """The history, in order.

        A row that cannot be read becomes a marker in its place, such that every call keeps exactly
        one result and every result its call.
        """
        rows = self._database.query(
            "SELECT kind, call, name, body FROM messages WHERE conversation = ? ORDER BY position",
            storable(conversation),
        )
        return _coherent(_message(row) for row in rows)

    def add_usage(self, conversation: ConversationId, usage: Usage) -> None:
        """Add to the totals; an unknown cost leaves the cost as it is."""
        with self._database.transaction() as connection:
            connection.execute(
                """UPDATE conversations SET
                    input_tokens = input_tokens + ?, cached_tokens = cached_tokens + ?,
                    cache_write_tokens = cache_write_tokens + ?, output_tokens = output_tokens + ?,
                    reasoning_tokens = reasoning_tokens + ?,
                    cost = CASE WHEN ?6 IS NULL THEN cost ELSE coalesce(cost, 0) + ?6 END
                WHERE id = ?7""",
                (
                    usage.input_tokens,
                    usage.cached_tokens,
                    usage.cache_write_tokens,
                    usage.output_tokens,
                    usage.reasoning_tokens,
                    usage.cost,
                    storable(conversation),
                ),
            )


def _record(row: Row) -> ConversationRecord:
    key, workspace, title, created_at, updated_at, messages, *usage = row
    return ConversationRecord(
        ConversationId(key), workspace, title, created_at, updated_at, messages, Usage(*usage)
    )


def _columns(message: Message) -> tuple[str, str, str, str]:
    """Kind, call and name stand beside the body so that a damaged body can still be placed."""
    call, name = (message.call_id, message.name) if isinstance(message, ToolMessage) else ("", "")
    try:
        body = dump_message(message)
    except PydanticSerializationError:
        # A lone surrogate somewhere: the model wrote half of an emoji, say.
        body = to_json(storable_json(asdict(message))).decode()
    return message.kind, storable(call), storable(name), body


def _message(row: Row) -> Message:
    """The stored message, or a marker where it was."""
    kind, call, name, body = row
    try:
        return load_message(body)
    except ValidationError:
        if kind == "tool" and call:
            return ToolMessage(CallId(call), name, UNREADABLE, ok=False)
        return ReminderMessage("storage", UNREADABLE)


def _coherent(messages: Iterable[Message]) -> list[Message]:
    """The same history with one result for every call and one call for every result.

    Calls at the very end may still wait for theirs: the program ended before it had them.
    """
    waiting: dict[CallId, str] = {}
    kept: list[Message] = []
    for message in messages:
        match message:
            case ToolMessage(call_id=call):
                if waiting.pop(call, None) is None:
                    continue
            case AssistantMessage() | UserMessage():
                kept.extend(ToolMessage(c, n, UNREADABLE, ok=False) for c, n in waiting.items())
                calls = message.calls if isinstance(message, AssistantMessage) else ()
                waiting = {call.id: call.name for call in calls}
            case ReminderMessage():
                pass
        kept.append(message)
    return kept


def _title(messages: Sequence[Message]) -> str:
    typed = (title_of(m.text) for m in messages if isinstance(m, UserMessage))
    return next((title for title in typed if title), "")
