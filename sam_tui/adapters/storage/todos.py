"""The todo list of each conversation and what a person changed about it, as JSON arrays."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import json_text, json_value, storable
from sam_tui.adapters.storage.writers import Writers
from sam_tui.core.ids import ConversationId
from sam_tui.core.todos.edits import EditSpan
from sam_tui.core.todos.item import Todo

if TYPE_CHECKING:
    from pydantic import TypeAdapter


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
        """Keep this list."""
        with self._writers.writing(conversation) as connection:
            connection.execute(
                "INSERT INTO todos (conversation, items, updated_at) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET"
                " items = excluded.items, updated_at = excluded.updated_at",
                (storable(conversation), _json(items), time.time()),
            )

    def load_edits(self, conversation: ConversationId) -> tuple[EditSpan, ...]:
        """The edits that wait to be told, oldest first; none where they cannot be read."""
        rows = self._database.query(
            "SELECT edits FROM todos WHERE conversation = ?", storable(conversation)
        )
        try:
            return _spans().validate_json(rows[0][0]) if rows else ()
        except ValueError:
            return ()

    def save_edits(self, conversation: ConversationId, spans: Sequence[EditSpan]) -> None:
        """Keep these in place of those that waited, beside a list that was saved."""
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
