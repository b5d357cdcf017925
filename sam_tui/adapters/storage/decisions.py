"""The log of the guard's decisions: append-only, each entry chained to the one before."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from sam_tui.adapters.storage.database import Database
from sam_tui.adapters.storage.plain_text import storable
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.policy import DecisionEntry, DecisionFilter
from sam_tui.core.verdict import Decision

_FIRST = "0" * 64
_COLUMNS = "SELECT number, made_at, conversation, call, decision, chain FROM decisions"
_OF_WORKSPACE = (
    "(json_extract(decision, '$.workspace') = ?"
    " OR conversation IN (SELECT id FROM conversations WHERE workspace = ?))"
)
"""Selects decisions of a workspace: by the entry itself, or, for older entries, by the conversation."""
_REACH = 50_000
"""How many of the newest entries are searched for past decisions of an operation."""
_MOST_SEARCHED = 2000
"""The most decisions of the workspace among them that are searched."""
_CHUNK = 500
_LATEST = 2**63 - 1


class SqliteDecisions:
    """The ``DecisionLog`` and the ``DecisionHistory``.

    The database itself refuses to change or delete an entry. Reading has a connection of its own, so that
    a long read delays nobody and may be on any thread.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, conversation: ConversationId, call: CallId, decision: Decision) -> None:
        """Append a decision to the audit log and commit."""
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
            _COLUMNS + " WHERE conversation = ? ORDER BY number", storable(conversation)
        )
        return [_entry(row) for row in rows]

    def past(self, workspace: str, operation: str, *, limit: int) -> list[DecisionEntry]:
        """The last decisions on one operation in a folder's conversations, newest first."""
        rows = self._database.query(
            f"{_COLUMNS} WHERE {_OF_WORKSPACE} AND number > (SELECT max(number) FROM decisions) - ?"
            " ORDER BY number DESC LIMIT ?",
            *(storable(workspace),) * 2,
            _REACH,
            _MOST_SEARCHED,
        )
        entries: list[DecisionEntry] = []
        for row in rows:
            if len(entries) == limit:
                break
            entry = _entry(row)
            if entry.decision.operation == operation:
                entries.append(entry)
        return entries

    def page(
        self, decision_filter: DecisionFilter, *, limit: int, before: int | None = None
    ) -> list[DecisionEntry]:
        """The newest entries that fit, below the number ``before``; newest first."""
        entries: list[DecisionEntry] = []
        where, values = _conditions(decision_filter)
        below = before if before is not None else _LATEST
        with self._database.reading() as query:
            while len(entries) < limit:
                rows = query(
                    f"{_COLUMNS} WHERE {where}number < ? ORDER BY number DESC LIMIT ?",
                    *values,
                    below,
                    max(limit, _CHUNK if decision_filter.text else 0),
                )
                if not rows:
                    break
                below = rows[-1][0]
                entries.extend(
                    entry for entry in map(_entry, rows) if _holds(entry, decision_filter.text)
                )
        return entries[:limit]

    def all(self, conversation: str = "") -> Iterator[DecisionEntry]:
        """Every decision, or those of one conversation, oldest first, read in pieces."""
        where, values = _conditions(DecisionFilter(conversation=conversation))
        yield from map(_entry, self._rows(where, values))

    def first_broken(self, *, last: int | None = None) -> int | None:
        """Return the number of the first altered entry, or of one whose predecessor is missing.

        With ``last`` only that many at the end are checked; the seal before them is taken as true.
        """
        before, expected, after = _FIRST, 1, 0
        if last is not None:
            with self._database.reading() as query:
                start = query(_COLUMNS + " ORDER BY number DESC LIMIT 1 OFFSET ?", last)
            if start:
                before, after = start[0][-1], start[0][0]
                expected = after + 1
        for *entry, chain in self._rows("", (), after):
            if entry[0] != expected or chain != _seal(before, *entry):
                return expected
            before, expected = chain, expected + 1
        return None

    def _rows(
        self, where: str, values: tuple[str, ...], after: int = 0
    ) -> Iterator[tuple[Any, ...]]:
        with self._database.reading() as query:
            while rows := query(
                f"{_COLUMNS} WHERE {where}number > ? ORDER BY number LIMIT ?",
                *values,
                after,
                _CHUNK,
            ):
                yield from rows
                after = rows[-1][0]


def _conditions(filter_: DecisionFilter) -> tuple[str, tuple[str, ...]]:
    """A WHERE clause, ending in AND, that selects at least the matching entries, and its values."""
    parts: list[str] = []
    values: list[str] = []
    if filter_.workspace:
        parts.append(_OF_WORKSPACE)
        values.extend((storable(filter_.workspace),) * 2)
    if filter_.conversation:
        parts.append("conversation = ?")
        values.append(storable(filter_.conversation))
    if filter_.refused:
        parts.append("json_extract(decision, '$.outcome') <> 'allow'")
    for word in filter_.text.split():
        if word.isascii():  # other letters stand escaped in the stored text, and in one case
            parts.append("decision LIKE ? ESCAPE '!'")
            quoted = json.dumps(word)[1:-1]
            for sign in "!%_":
                quoted = quoted.replace(sign, f"!{sign}")
            values.append(f"%{quoted}%")
    return "".join(f"{part} AND " for part in parts), tuple(values)


def _holds(entry: DecisionEntry, text: str) -> bool:
    """Whether every word occurs in the text of the decision."""
    words = text.casefold().split()
    if not words:
        return True
    decision = entry.decision
    parts = (
        decision.operation,
        decision.outcome,
        decision.by,
        decision.rule,
        decision.reason,
        decision.scope,
    )
    whole = "\n".join((*parts, decision.comment, decision.asker, *decision.targets)).casefold()
    return all(word in whole for word in words)


def _entry(row: Sequence[Any]) -> DecisionEntry:
    number, made_at, conversation, call, body, chain = row
    names = Decision.__dataclass_fields__
    fields = {key: value for key, value in json.loads(body).items() if key in names}
    return DecisionEntry(number, made_at, conversation, call, Decision(**fields), chain)


def _seal(before: str, *entry: Any) -> str:
    """SHA-256 over the seal before and the entry as canonical JSON."""
    text = json.dumps([before, *entry], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
