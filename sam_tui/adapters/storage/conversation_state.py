"""The state of a conversation beside its messages: todos, notices, mini prompts, results."""

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, get_args

from sam_tui.adapters.storage.conversation_folders import ConversationFolders
from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable
from sam_tui.adapters.storage.writers import Writers
from sam_tui.core.display import Display
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.memory import ImportedDocument
from sam_tui.core.ports.storage import CallDisplay, StoredNotice
from sam_tui.core.prompt.reminders import ReminderChoice
from sam_tui.core.todos.edits import EditSpan
from sam_tui.core.todos.item import Todo

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class SqlitePromptChoices:
    """The ``PromptChoices``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def chosen(self, conversation: ConversationId) -> Mapping[str, bool]:
        """Prompt id -> on or off, for those that were chosen."""
        rows = self._database.query(
            "SELECT prompt, enabled FROM prompt_choices WHERE conversation = ? ORDER BY prompt",
            storable(conversation),
        )
        return {prompt: bool(enabled) for prompt, enabled in rows}

    def choose(self, conversation: ConversationId, prompt_id: str, enabled: bool) -> None:
        """Remember a choice."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO prompt_choices VALUES (?, ?, ?)",
                (storable(conversation), storable(prompt_id), int(enabled)),
            )


class SqliteReminderChoices:
    """The person's choices for reminders, by conversation; stored at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def chosen(self, conversation: ConversationId) -> Mapping[str, ReminderChoice]:
        """The person's choices by name of the reminder."""
        rows = self._database.query(
            "SELECT name, choice FROM reminder_choices WHERE conversation = ? ORDER BY name",
            storable(conversation),
        )
        return {name: choice for name, choice in rows if choice in get_args(ReminderChoice)}

    def choose(
        self, conversation: ConversationId, name: str, choice: ReminderChoice | None
    ) -> None:
        """Store a choice; None removes it."""
        key = (storable(conversation), storable(name))
        with self._database.transaction() as connection:
            if choice is None:
                connection.execute(
                    "DELETE FROM reminder_choices WHERE conversation = ? AND name = ?", key
                )
            else:
                connection.execute(
                    "INSERT OR REPLACE INTO reminder_choices VALUES (?, ?, ?)", (*key, choice)
                )


class SqliteDocuments:
    """The ``DocumentStore``. One row per source: an import of a changed file replaces the old one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, conversation: ConversationId, document: ImportedDocument) -> None:
        """Keep it; an earlier import from the same source (of the same name, without one) goes."""
        source = storable(document.source) or f"name:{storable(document.name)}"
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    storable(conversation),
                    source,
                    storable(document.id),
                    storable(document.name),
                    storable(document.digest),
                    document.characters,
                    document.imported_at,
                ),
            )

    def imported(self, conversation: ConversationId) -> Sequence[ImportedDocument]:
        """The documents, in the order of their last import."""
        rows = self._database.query(
            "SELECT id, name, source, digest, characters, imported_at FROM documents"
            " WHERE conversation = ? ORDER BY imported_at, rowid",
            storable(conversation),
        )
        return [
            ImportedDocument(
                id_, name, "" if source == f"name:{name}" else source, digest, characters, at
            )
            for id_, name, source, digest, characters, at in rows
        ]


class SqliteTodos:
    """The ``BoardStore``. A saved list replaces the one before it, in one committed transaction."""

    def __init__(self, database: Database, writers: Writers) -> None:
        self._database = database
        self._writers = writers

    def load(self, conversation: ConversationId) -> tuple[Todo, ...]:
        """The list in its order; empty when there is none. An item that cannot be read is left out."""
        rows = self._database.query(
            "SELECT items FROM todos WHERE conversation = ?", storable(conversation)
        )
        return _items(rows[0][0]) if rows else ()

    def save(self, conversation: ConversationId, items: Sequence[Todo]) -> None:
        """Store the todo list of a conversation."""
        with self._writers.writing(conversation) as connection:
            connection.execute(
                "INSERT INTO todos (conversation, items, updated_at) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET"
                " items = excluded.items, updated_at = excluded.updated_at",
                (storable(conversation), _json(items), time.time()),
            )

    def load_edits(self, conversation: ConversationId) -> tuple[EditSpan, ...]:
        """Return the edits that are new to the model, oldest first; none if they cannot be read."""
        rows = self._database.query(
            "SELECT edits FROM todos WHERE conversation = ?", storable(conversation)
        )
        try:
            return _spans().validate_json(rows[0][0]) if rows else ()
        except ValueError:
            return ()

    def save_edits(self, conversation: ConversationId, spans: Sequence[EditSpan]) -> None:
        """Replace the edits of the todo list that are new to the model."""
        with self._writers.writing(conversation) as connection:
            connection.execute(
                "UPDATE todos SET edits = ? WHERE conversation = ?",
                (_json(spans), storable(conversation)),
            )


def _json(rows: Sequence[Todo] | Sequence[EditSpan]) -> str:
    return json_text([asdict(row) for row in rows])


def _items(body: str) -> tuple[Todo, ...]:
    try:
        raw: Any = json_value(body)
    except ValueError:
        return ()
    if not isinstance(raw, list):
        return ()
    return tuple(item for item in map(_item, raw) if item is not None)  # pyright: ignore


def _item(raw: object) -> Todo | None:
    try:
        return _adapter().validate_python(raw)
    except ValueError:
        return None


@cache
def _adapter() -> "TypeAdapter[Todo]":
    from pydantic import TypeAdapter  # an empty board needs none

    return TypeAdapter(Todo)


@cache
def _spans() -> "TypeAdapter[tuple[EditSpan, ...]]":
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[EditSpan, ...])


LARGEST_DISPLAY = 262_144
"""The most characters of a call's display that are stored, as JSON; a larger one is dropped."""


@cache
def _displays_adapter() -> "TypeAdapter[tuple[Display, ...]]":
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[Display, ...])


def store_display(connection: Connection, conversation: str, display: CallDisplay) -> None:
    """Store the displays of a call, inside the caller's transaction."""
    body = "[]"
    if display.displays:
        body = json_text([asdict(part) for part in display.displays])
    decision = json_text([display.decision, display.allowed]) if display.decision else ""
    connection.execute(
        "INSERT OR REPLACE INTO call_displays VALUES (?, ?, ?, ?, ?)",
        (
            conversation,
            storable(display.call),
            display.seconds,
            body if len(body) <= LARGEST_DISPLAY else "[]",
            decision,
        ),
    )


def call_displays(database: Database, conversation: ConversationId) -> dict[CallId, CallDisplay]:
    """Return the displays of a conversation's calls; unreadable ones are left out."""
    rows = database.query(
        "SELECT call, seconds, displays, decision FROM call_displays WHERE conversation = ?",
        storable(conversation),
    )
    by_call: dict[CallId, CallDisplay] = {}
    for call, seconds, body, decision in rows:
        try:
            displays = _displays_adapter().validate_json(body) if body != "[]" else ()
            words, allowed = json_value(decision) if decision else ("", True)
        except ValueError:
            continue
        by_call[CallId(call)] = CallDisplay(
            CallId(call), seconds, displays, str(words), bool(allowed)
        )
    return by_call


IN_A_FILE_FROM = 65_536
"""A result of so many characters or more is stored as a file in the conversation's folder."""


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


MOST_NOTICES = 1000
"""The most notices of one conversation that are stored: the newest."""
LONGEST_NOTICE = 4000
"""The most characters of a notice that are stored."""


class SqliteNotices:
    """The ``NoticeStore``. ``positions`` returns those of a conversation's messages, in order."""

    def __init__(
        self,
        database: Database,
        writers: Writers,
        positions: Callable[[ConversationId], Sequence[int]],
    ) -> None:
        self._database = database
        self._writers = writers
        self._positions = positions

    def add(self, conversation: ConversationId, level: str, text: str) -> None:
        """Store a notice behind the messages that are stored now."""
        key = storable(conversation)
        with self._writers.writing(conversation) as connection:
            connection.execute(
                "INSERT INTO notices (conversation, position, at, level, text)"
                " SELECT ?, coalesce(max(position), 0), ?, ?, ? FROM messages WHERE conversation = ?",
                (key, time.time(), level, storable(text[:LONGEST_NOTICE]), key),
            )
            connection.execute(
                "DELETE FROM notices WHERE conversation = ? AND number <= (SELECT number FROM notices"
                " WHERE conversation = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (key, key, MOST_NOTICES),
            )

    def load(self, conversation: ConversationId) -> Sequence[StoredNotice]:
        """The newest notices, oldest first."""
        rows = self._database.query(
            "SELECT position, at, level, text FROM notices WHERE conversation = ? ORDER BY number",
            storable(conversation),
        )
        positions = self._positions(conversation) if rows else ()
        return [StoredNotice(bisect_right(positions, row[0]), *row[1:]) for row in rows]
