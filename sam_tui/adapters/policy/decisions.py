"""The decision log as pages and as history, read through whoever owns the database."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.verdict import Decision

Query = Callable[..., Sequence[tuple[Any, ...]]]
"""Rows of a SELECT with its values: ``Database.query``."""

_COLUMNS = "SELECT number, made_at, conversation, call, decision, chain FROM decisions"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the log. ``made_at`` in seconds since the epoch; ``chain`` is its seal."""

    number: int
    made_at: float
    conversation: ConversationId
    call: CallId
    decision: Decision
    chain: str


@dataclass(frozen=True, slots=True)
class DecisionPages:
    """The ``DecisionHistory``, and the log in pages for an audit."""

    query: Query

    def entries(self, conversation: ConversationId) -> list[AuditEntry]:
        """The last decisions in a conversation, oldest first."""
        rows = self.query(
            _COLUMNS + " WHERE conversation = ? ORDER BY number DESC LIMIT 2000", conversation
        )
        return [_entry(row) for row in reversed(rows)]

    def of_workspace(self, workspace: str, limit: int = 2000) -> list[AuditEntry]:
        """The last decisions in all conversations of a folder, oldest first."""
        rows = self.query(
            _COLUMNS + " WHERE conversation IN (SELECT id FROM conversations WHERE workspace = ?)"
            " ORDER BY number DESC LIMIT ?",
            workspace,
            limit,
        )
        return [_entry(row) for row in reversed(rows)]

    def last(self, limit: int, conversation: str = "") -> list[AuditEntry]:
        """The last decisions of all, or of one conversation, oldest first."""
        where, values = (" WHERE conversation = ?", (conversation,)) if conversation else ("", ())
        rows = self.query(_COLUMNS + where + " ORDER BY number DESC LIMIT ?", *values, limit)
        return [_entry(row) for row in reversed(rows)]

    def all(self, conversation: str = "", *, page: int = 500) -> Iterator[AuditEntry]:
        """Every decision, oldest first, read page by page."""
        after = 0
        extra = " AND conversation = ?" if conversation else ""
        values = (conversation,) if conversation else ()
        while rows := self.query(
            _COLUMNS + " WHERE number > ?" + extra + " ORDER BY number LIMIT ?",
            after,
            *values,
            page,
        ):
            yield from map(_entry, rows)
            after = rows[-1][0]


def _entry(row: tuple[Any, ...]) -> AuditEntry:
    number, made_at, conversation, call, body, chain = row
    known = Decision.__dataclass_fields__
    fields = {key: value for key, value in json.loads(body).items() if key in known}
    return AuditEntry(number, made_at, conversation, call, Decision(**fields), chain)
