"""Conversations in SQLite: a row for each conversation with its totals, a row for each message."""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sam_tui.adapters.storage.archive import drop_last_compaction, insert_chunk
from sam_tui.adapters.storage.conversation_catalog import RECORD, SPOKEN, fork, newest, record_of
from sam_tui.adapters.storage.conversation_folders import ConversationFolders, remove_unused
from sam_tui.adapters.storage.conversation_state import call_displays, store_display
from sam_tui.adapters.storage.database import Database, Row
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable, title_of
from sam_tui.adapters.storage.writers import Writers
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
from sam_tui.core.ports.memory import ArchivedChunk
from sam_tui.core.ports.storage import CallDisplay, ConversationRecord, UserPrompt
from sam_tui.core.usage import Usage

UNREADABLE = "This part of the stored conversation could not be read and was left out."

_ORDER = "ORDER BY updated_at DESC, id DESC LIMIT ?"
_MOST_SEARCHED = 20
"""The most conversations whose prompts are searched: those that were used last."""


class SqliteConversations:
    """The ``ConversationStore``. Every write is one committed transaction before it returns."""

    def __init__(self, database: Database, folders: ConversationFolders, writers: Writers) -> None:
        self._database = database
        self._folders = folders
        self._writers = writers
        self._read: tuple[object, list[_Entry]] = (None, [])
        """The history that was read last, because opening a conversation needs it three times."""
        self.claim = writers.claim
        self.release = writers.release
        self.writer = writers.writer
        self.lost = writers.lost

    def create(
        self,
        conversation: ConversationId,
        workspace: str,
        *,
        parent: ConversationId | None = None,
    ) -> None:
        """Begin a conversation; an existing one stays unchanged.

        One with a ``parent`` is a subagent's: it is found by its id but not listed.
        """
        now = time.time()
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO conversations (id, workspace, created_at, updated_at, parent)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (storable(conversation), storable(workspace), now, now, parent),
            )

    def remove_unused(
        self, *, before: float, also: Collection[ConversationId] = ()
    ) -> Sequence[ConversationId]:
        """Remove conversations in which nothing was ever said or kept; see ``sweeping``."""
        return remove_unused(self._database, self._folders, before=before, also=also)

    def find(self, conversation: ConversationId) -> ConversationRecord | None:
        """The record of the conversation with this id, or None."""
        rows = self._database.query(f"{RECORD} WHERE id = ?", storable(conversation))
        return record_of(rows[0]) if rows else None

    def latest(self, workspace: str) -> ConversationRecord | None:
        """The most recently used conversation of this workspace, or None."""
        return newest(self._database, workspace)

    def recent(self, workspace: str | None, limit: int) -> Sequence[ConversationRecord]:
        """Conversations with a message or a prompt that waits, last used first; of every workspace
        for None. Those that were put away are left out."""
        where = SPOKEN if workspace is None else f"{SPOKEN} AND workspace = ?"
        values = () if workspace is None else (storable(workspace),)
        rows = self._database.query(f"{RECORD} WHERE {where} {_ORDER}", *values, limit)
        return [record_of(row) for row in rows]

    def prompts(self, workspace: str | None, limit: int) -> Sequence[UserPrompt]:
        """Return the last prompts in this workspace (None: anywhere), oldest first; none of subagents."""
        rows = self._database.query(
            "SELECT kind, call, name, body, position, m.created_at, workspace FROM messages AS m"
            f" JOIN (SELECT id, workspace FROM conversations WHERE {SPOKEN}"
            f" AND workspace = ifnull(?, workspace) {_ORDER}) ON conversation = id"
            " WHERE kind = 'user' ORDER BY m.created_at DESC, position DESC LIMIT ?",
            None if workspace is None else storable(workspace),
            _MOST_SEARCHED,
            limit,
        )
        pairs = [(_message(tuple(row[:4])), row[4:]) for row in reversed(rows)]
        return [UserPrompt(at[0], at[1], m.text, at[2]) for m, at in pairs if m.kind == "user"]

    def children(self, conversation: ConversationId) -> Sequence[ConversationRecord]:
        """The conversations of its subagents, oldest first."""
        rows = self._database.query(
            f"{RECORD} WHERE parent = ? ORDER BY created_at, id", storable(conversation)
        )
        return [record_of(row) for row in rows]

    def append(
        self,
        conversation: ConversationId,
        messages: Sequence[Message],
        display: CallDisplay | None = None,
    ) -> None:
        """Add messages at the end, and a call's displays, all or none.

        The first message from the person names the conversation.
        """
        if not messages:
            return
        now, key = time.time(), storable(conversation)
        with self._writers.writing(conversation) as connection:
            row = connection.execute(
                "SELECT (SELECT max(position) FROM messages WHERE conversation = id), title"
                " FROM conversations WHERE id = ?",
                (key,),
            ).fetchone()
            if row is None:
                raise StorageError(f"There is no conversation {key} to add to.")
            first = (row[0] or 0) + 1
            connection.executemany(
                "INSERT INTO messages (conversation, position, kind, call, name, body, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(key, first + i, *_columns(m), now) for i, m in enumerate(messages)],
            )
            connection.execute(
                "UPDATE conversations SET messages = messages + ?, updated_at = ?, title = ?,"
                " archived = 0 WHERE id = ?",
                (len(messages), now, row[1] or _title(messages), key),
            )
            if display is not None:
                store_display(connection, key, display)

    def call_displays(self, conversation: ConversationId) -> dict[CallId, CallDisplay]:
        """Return the displays of the conversation's calls, by call id."""
        return call_displays(self._database, conversation)

    def messages(self, conversation: ConversationId) -> list[Message]:
        """Return the model's view of the history, in order: compacted messages are replaced.

        A row that cannot be read becomes a marker in its place, such that every call keeps exactly
        one result and every result its call.
        """
        return [entry.message for entry in self._view(conversation)]

    def moments(self, conversation: ConversationId) -> list[float]:
        """Return when each of ``messages`` was stored, in seconds since the epoch."""
        return [entry.at for entry in self._view(conversation)]

    def everything(self, conversation: ConversationId) -> list[Message]:
        """The whole history, as if nothing had ever been compacted."""
        return [entry.message for entry in self._entries(conversation, 0)]

    def positions(self, conversation: ConversationId) -> list[int]:
        """The position of each of ``everything``."""
        return [entry.position for entry in self._entries(conversation, 0)]

    def timeline(self, conversation: ConversationId) -> list[tuple[float, Message]]:
        """The whole history, each message with the seconds since the epoch when it was stored."""
        return [(entry.at, entry.message) for entry in self._entries(conversation, 0)]

    def add_whole(
        self,
        conversation: ConversationId,
        timeline: Sequence[tuple[float, Message]],
        displays: Collection[CallDisplay],
    ) -> None:
        """Put a history into an empty conversation, all or none."""
        key = storable(conversation)
        with self._writers.writing(conversation) as connection:
            connection.executemany(
                "INSERT INTO messages (conversation, position, kind, call, name, body, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(key, i, *_columns(message), at) for i, (at, message) in enumerate(timeline, 1)],
            )
            for display in displays:
                store_display(connection, key, display)
            connection.execute(
                "UPDATE conversations SET messages = ?, title = ? WHERE id = ?",
                (len(timeline), _title([message for _, message in timeline]), key),
            )

    def shorten(
        self,
        conversation: ConversationId,
        *,
        dropped: int,
        opening: Sequence[Message],
        archived: Sequence[ArchivedChunk] = (),
    ) -> None:
        """Put ``opening`` in place of the first ``dropped`` of ``messages``; nothing is deleted."""
        key, view = storable(conversation), self._view(conversation)
        # An opening that an earlier compaction made has no row of its own; what that took out stays out.
        carried = [entry for entry in view[dropped:] if not entry.has_row]
        through = max((entry.position for entry in (*view[:dropped], *carried)), default=0)
        messages = (*opening, *(entry.message for entry in carried))
        body = f"[{','.join(storable(dump_message(message)) for message in messages)}]"
        with self._writers.writing(conversation) as connection:
            connection.execute(
                "INSERT INTO compactions SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?,"
                " (SELECT coalesce(max(number), 0) FROM archive WHERE conversation = ?), 0"
                " FROM compactions WHERE conversation = ?",
                (key, time.time(), through, body, key, key),
            )
            for chunk in archived:
                insert_chunk(connection, chunk)

    def restore_dropped(self, conversation: ConversationId) -> bool:
        """Undo the last ``shorten``, and remove its chunks from the archive. False if there is none."""
        with self._writers.writing(conversation) as connection:
            return drop_last_compaction(connection, storable(conversation))

    def messages_at(
        self, conversation: ConversationId, compaction: int, position: int
    ) -> list[Message]:
        """The history as the model saw it after a compaction (0: none), up to a position."""
        rows = self._database.query(
            "SELECT made_at, through, opening FROM compactions WHERE conversation = ? AND number = ?",
            storable(conversation),
            compaction,
        )
        entries = self._view_of(conversation, rows)
        return [entry.message for entry in entries if entry.position <= position]

    def _view(self, conversation: ConversationId) -> list["_Entry"]:
        rows = self._database.query(
            "SELECT made_at, through, opening FROM compactions"
            " WHERE conversation = ? AND undone = 0 ORDER BY number DESC LIMIT 1",
            storable(conversation),
        )
        return self._view_of(conversation, rows)

    def _view_of(self, conversation: ConversationId, rows: Sequence[Row]) -> list["_Entry"]:
        if not rows:
            return self._entries(conversation, 0)
        made_at, through, body = rows[0]
        opening = [_Entry(through, made_at, message, has_row=False) for message in _opening(body)]
        return opening + self._entries(conversation, through)

    def _entries(self, conversation: ConversationId, after: int) -> list["_Entry"]:
        state = (conversation, self._database.state)
        if state != self._read[0]:
            rows = self._database.query(
                "SELECT position, created_at, kind, call, name, body FROM messages"
                " WHERE conversation = ? AND position > ? ORDER BY position",
                storable(conversation),
                after,
            )
            entries = [_Entry(row[0], row[1], _message(row[2:]), has_row=True) for row in rows]
            if after:
                return _coherent(entries)
            self._read = (state, _coherent(entries))
        if not after:
            return self._read[1]
        return _coherent(entry for entry in self._read[1] if entry.position > after)

    def queued(self, conversation: ConversationId) -> list[str]:
        """The prompts that were typed and not sent, in order."""
        return self._texts(conversation, "queued")

    def keep_queued(self, conversation: ConversationId, prompts: Sequence[str]) -> None:
        """Keep these, and no others, as the prompts that wait."""
        self._keep_texts(conversation, "queued", prompts)

    def pins(self, conversation: ConversationId) -> list[str]:
        """The texts that the person pinned, in order."""
        return self._texts(conversation, "pins")

    def keep_pins(self, conversation: ConversationId, texts: Sequence[str]) -> None:
        """Replace the pinned texts of a conversation."""
        self._keep_texts(conversation, "pins", texts)

    def _texts(self, conversation: ConversationId, column: str) -> list[str]:
        query = f"SELECT {column} FROM conversations WHERE id = ?"
        rows = self._database.query(query, storable(conversation))
        return [str(text) for text in json_value(rows[0][0])] if rows else []

    def _keep_texts(self, conversation: ConversationId, column: str, texts: Sequence[str]) -> None:
        with self._writers.writing(conversation) as connection:
            values = (json_text(list(texts)), storable(conversation))
            connection.execute(f"UPDATE conversations SET {column} = ? WHERE id = ?", values)

    def add_usage(self, conversation: ConversationId, usage: Usage) -> None:
        """Add to the totals; an unknown cost leaves the cost unchanged."""
        with self._writers.writing(conversation) as connection:
            connection.execute(
                """UPDATE conversations SET
                    input_tokens = input_tokens + ?, cached_tokens = cached_tokens + ?,
                    cache_write_tokens = cache_write_tokens + ?, output_tokens = output_tokens + ?,
                    reasoning_tokens = reasoning_tokens + ?,
                    cost = coalesce(coalesce(cost, 0) + ?, cost)
                WHERE id = ?""",
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

    def user_prompts(self, conversation: ConversationId) -> list[UserPrompt]:
        """Return the person's prompts in a conversation, oldest first, compacted or not."""
        return [
            UserPrompt(entry.position, entry.at, entry.message.text)
            for entry in self._entries(conversation, 0)
            if isinstance(entry.message, UserMessage)
        ]

    def fork(
        self, conversation: ConversationId, copy: ConversationId, *, at: int | None = None
    ) -> None:
        """Make ``copy`` a new conversation with the same history, up to a message where one is named."""
        fork(self._database, self._folders, conversation, copy, at)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message of a history; ``has_row`` is false for messages that a compaction inserted."""

    position: int
    at: float
    message: Message
    has_row: bool


def _opening(body: str) -> list[Message]:
    """The messages that a compaction inserted in place of the dropped ones; a note if they are
    unreadable."""
    try:
        return [load_message(json_text(item)) for item in json_value(body)]
    except ValueError:
        return [ReminderMessage("storage", UNREADABLE)]


def _columns(message: Message) -> tuple[str, str, str, str]:
    """The columns of a message; kind, call and name place it even if its body is damaged."""
    call, name = (message.call_id, message.name) if isinstance(message, ToolMessage) else ("", "")
    return message.kind, storable(call), storable(name), storable(dump_message(message))


def _message(row: Row) -> Message:
    """The stored message, or a marker if its body is unreadable."""
    _, call, name, body = row
    try:
        return load_message(body)
    except ValueError:
        if call:  # only results have one
            return ToolMessage(CallId(call), name, UNREADABLE, ok=False)
        return ReminderMessage("storage", UNREADABLE)


def _coherent(entries: Iterable[_Entry]) -> list[_Entry]:
    """The same history with one result for every call and one call for every result.

    Calls at the very end may still wait for theirs: the program ended before it had them.
    """
    waiting: dict[CallId, str] = {}
    coherent: list[_Entry] = []
    for entry in entries:
        match entry.message:
            case ToolMessage(call_id=call):
                if waiting.pop(call, None) is None:
                    continue
            case AssistantMessage() | UserMessage() as message:
                coherent.extend(
                    replace(coherent[-1], message=ToolMessage(c, n, UNREADABLE, ok=False))
                    for c, n in waiting.items()
                )
                calls = message.calls if isinstance(message, AssistantMessage) else ()
                waiting = {call.id: call.name for call in calls}
            case ReminderMessage():
                pass
        coherent.append(entry)
    return coherent


def _title(messages: Sequence[Message]) -> str:
    typed = (title_of(m.text) for m in messages if isinstance(m, UserMessage))
    return next((title for title in typed if title), "")
