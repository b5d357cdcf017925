"""The audit log: every decision of the guard, append-only, each entry sealed over the one before."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from typing import Any

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.verdict import Decision

_FIRST = "0" * 64


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """One line of the log. ``made_at`` in seconds since the epoch."""

    number: int
    made_at: float
    conversation: ConversationId
    call: CallId
    decision: Decision


class SqliteDecisions:
    """The ``DecisionLog``. The database itself refuses to change or delete an entry."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, conversation: ConversationId, call: CallId, decision: Decision) -> None:
        """Add one decision, committed before this returns."""
        body = json.dumps(asdict(decision), sort_keys=True, separators=(",", ":"))
        with self._database.transaction() as connection:
            last = connection.execute(
                "SELECT number, chain FROM decisions ORDER BY number DESC LIMIT 1"
            ).fetchone()
            number, before = (last[0] + 1, last[1]) if last else (1, _FIRST)
            entry = (number, time.time(), storable(conversation), storable(call), body)
            connection.execute(
                "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?)", (*entry, _seal(before, *entry))
            )

    def entries(self, conversation: ConversationId) -> list[DecisionEntry]:
        """The decisions of one conversation, oldest first."""
        rows = self._database.query(
            "SELECT number, made_at, conversation, call, decision FROM decisions"
            " WHERE conversation = ? ORDER BY number",
            storable(conversation),
        )
        return [
            DecisionEntry(row[0], row[1], row[2], row[3], Decision(**json.loads(row[4])))
            for row in rows
        ]

    def first_broken(self) -> int | None:
        """The number of the first entry that was altered, or whose predecessor is missing."""
        before, expected = _FIRST, 1
        for *entry, chain in self._database.query("SELECT * FROM decisions ORDER BY number"):
            if entry[0] != expected or chain != _seal(before, *entry):
                return expected
            before, expected = chain, expected + 1
        return None


def _seal(before: str, *entry: Any) -> str:
    """SHA-256 over the seal before and the entry as canonical JSON."""
    text = json.dumps([before, *entry], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
