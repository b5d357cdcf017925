"""The queries, and rows as dataclasses: the columns of a table are the fields of its row, in any order.

A query reads committed rows, and those of the present transaction of this connection.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from sam_tui.core.ports.workflows import (
    ArtifactRow,
    AttemptRow,
    EventQuery,
    EventRow,
    EvidenceRow,
    ExecutionRow,
    FindingQuery,
    FindingRow,
    KnownFile,
    StepRow,
    TaskRow,
    TokenRow,
)

R = TypeVar("R")


@cache
def columns(kind: type[Any]) -> tuple[str, ...]:
    """The names of a row's fields."""
    return tuple(field.name for field in fields(kind))


@cache
def select(kind: type[object], table: str) -> str:
    """``SELECT`` of every column."""
    return f"SELECT {', '.join(columns(kind))} FROM {table}"


@cache
def upsert(kind: type[object], table: str, key: tuple[str, ...]) -> str:
    """Insert a row, or replace the columns that are not its key."""
    names = columns(kind)
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    marks = ", ".join("?" for _ in names)
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"
    )


def values(row: Any) -> list[Any]:
    """A row's values in the order of its columns; text that is no Unicode is made so."""
    kind: type[Any] = row.__class__
    return [_storable(getattr(row, name)) for name in columns(kind)]


def load(kind: type[R], row: Sequence[Any]) -> R:
    """A row from its columns; flags come back as such."""
    flags = _flags(kind)
    if not flags:
        return kind(*row)
    values = list(row)
    for position in flags:
        values[position] = bool(values[position])
    return kind(*values)


def load_all(kind: type[R], cursor: sqlite3.Cursor) -> list[R]:
    """Every row of a query."""
    return [load(kind, row) for row in cursor.fetchall()]


@cache
def _flags(kind: type[Any]) -> frozenset[int]:
    kinds = [field.type for field in fields(kind)]
    return frozenset(i for i, type_ in enumerate(kinds) if type_ is bool or type_ == "bool")


def _storable(value: object) -> object:
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode()
    return value


_RANK = (
    "CASE findings.severity WHEN 'critical' THEN 4 WHEN 'high' THEN 3 WHEN 'medium' THEN 2"
    " WHEN 'low' THEN 1 ELSE 0 END"
)


class SqliteReader:
    """The ``WorkflowReader`` over one connection."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        explained: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext(),
    ) -> None:
        self._connect = connect
        self._explained = explained

    def execution(self, execution: str) -> ExecutionRow | None:
        """The execution of an id, None if there is none."""
        return self._one(ExecutionRow, "executions", "id = ?", execution)

    def executions(self, *, state: str = "", limit: int = 50) -> Sequence[ExecutionRow]:
        """Newest first."""
        where, values = ("WHERE state = ?", [state]) if state else ("", [])
        sql = f"{select(ExecutionRow, 'executions')} {where} ORDER BY created_at DESC, rowid DESC LIMIT ?"
        return load_all(ExecutionRow, self._run(sql, *values, limit))

    def driven_by(self, conversation: str) -> ExecutionRow | None:
        """The newest execution that a conversation drives."""
        if not conversation:
            return None
        where = (
            "conversation = ? AND conversation <> '' AND state IN ('running', 'paused')"
            " ORDER BY created_at DESC, rowid DESC LIMIT 1"
        )
        return self._one(ExecutionRow, "executions", where, conversation)

    def steps(self, execution: str) -> Sequence[StepRow]:
        """All steps by position."""
        return self._of(execution, StepRow, "steps", "position, id")

    def step(self, execution: str, step: str) -> StepRow | None:
        """The step of an id, None if there is none."""
        return self._one(StepRow, "steps", "execution = ? AND id = ?", execution, step)

    def attempts(self, execution: str, *, step: str = "", status: str = "") -> Sequence[AttemptRow]:
        """Attempts in the order they began."""
        return self._of(execution, AttemptRow, "attempts", "rowid", step=step, status=status)

    def attempt_of(self, conversation: str) -> AttemptRow | None:
        """The open attempt that a conversation works on."""
        if not conversation:
            return None
        where = "conversation = ? AND conversation <> '' AND status = 'open' ORDER BY rowid DESC LIMIT 1"
        return self._one(AttemptRow, "attempts", where, conversation)

    def tasks(self, execution: str, step: str, revision: int) -> Sequence[TaskRow]:
        """The items of one list."""
        where = "execution = ? AND step = ? AND revision = ? ORDER BY position"
        return self._all(TaskRow, "tasks", where, execution, step, revision)

    def token(self, hash_: str) -> TokenRow | None:
        """A token by its hash."""
        return self._one(TokenRow, "tokens", "hash = ?", hash_)

    def evidence(self, execution: str, *, attempt: str = "") -> Sequence[EvidenceRow]:
        """The evidence that the host recorded, in order."""
        return self._of(execution, EvidenceRow, "evidence", "rowid", attempt=attempt)

    def artifacts(self, execution: str, *, step: str = "") -> Sequence[ArtifactRow]:
        """Artifacts without their text."""
        return self._of(execution, ArtifactRow, "artifacts", "rowid", step=step)

    def artifact(self, artifact: str) -> ArtifactRow | None:
        """The artifact of an id, None if there is none."""
        return self._one(ArtifactRow, "artifacts", "id = ?", artifact)

    def artifact_text(self, artifact: str, start: int, length: int) -> tuple[str, int]:
        """A range of the text and its whole length."""
        row = self._run("SELECT content FROM artifact_texts WHERE id = ?", artifact).fetchone()
        text = bytes(row[0]).decode("utf-8", "replace") if row else ""
        return text[start : start + length], len(text)

    def findings(self, query: FindingQuery) -> Sequence[FindingRow]:
        """The gravest first, then the newest."""
        names = ", ".join(f"findings.{c.strip()}" for c in _finding_columns().split(","))
        sql, where, values = f"SELECT {names} FROM findings", list[str](), list[Any]()
        words = _words(query.text)
        if query.text:
            sql += " JOIN findings_words ON findings_words.rowid = findings.number"
            where.append("findings_words MATCH ?")
            values.append(words)
        if query.text and not words:
            return []
        for name in ("execution", "scope", "project", "status", "review"):
            value = getattr(query, name)
            if value:
                where.append(f"findings.{name} = ?")
                values.append(value)
        if where:
            sql += f" WHERE {' AND '.join(where)}"
        sql += f" ORDER BY {_RANK} DESC, findings.number DESC LIMIT ?"
        return load_all(FindingRow, self._run(sql, *values, query.limit))

    def finding(self, finding: str) -> FindingRow | None:
        """The finding of an id, None if there is none."""
        return self._one(FindingRow, "findings", "id = ?", finding)

    def finding_marks(self) -> Mapping[tuple[str, str], tuple[int, float]]:
        """The number of findings, and when one was changed last, by scope and project."""
        sql = "SELECT scope, project, count(*), max(updated_at) FROM findings GROUP BY 1, 2"
        return {(row[0], row[1]): (row[2], row[3]) for row in self._run(sql)}

    def revision(self) -> tuple[int, int]:
        """The number of changes by this connection, and the version that others made."""
        return self._connect().total_changes, self._run("PRAGMA data_version").fetchone()[0]

    def events(self, query: EventQuery) -> Sequence[EventRow]:
        """Events by their sequence."""
        where, values = ["seq > ?"], list[Any]([query.after])
        for name in ("execution", "type", "step"):
            value = getattr(query, name)
            if value:
                where.append(f"{name} = ?")
                values.append(value)
        order = "DESC" if query.newest else "ASC"
        condition = f"{' AND '.join(where)} ORDER BY seq {order} LIMIT ?"
        return self._all(EventRow, "events", condition, *values, query.limit)

    def pinned(self, sha256: str) -> str | None:
        """A pinned text."""
        row = self._run("SELECT text FROM texts WHERE sha256 = ?", sha256).fetchone()
        return row[0] if row else None

    def known_files(self) -> Sequence[KnownFile]:
        """Every definition file that was ever stored."""
        return self._all(KnownFile, "files", "1 ORDER BY path")

    def _run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        with self._explained("read"):
            return self._connect().execute(sql, [_storable(value) for value in values])

    def _one(self, kind: type[Any], table: str, where: str, *values: Any) -> Any:
        row = self._run(f"{select(kind, table)} WHERE {where}", *values).fetchone()
        return load(kind, row) if row else None

    def _of(
        self, execution: str, kind: type[Any], table: str, order: str, **filters: str
    ) -> list[Any]:
        """The rows of an execution whose columns have these values; an empty one does not restrict."""
        named = {"execution": execution, **{k: v for k, v in filters.items() if v}}
        where = " AND ".join(f"{name} = ?" for name in named)
        return self._all(kind, table, f"{where} ORDER BY {order}", *named.values())

    def _all(self, kind: type[Any], table: str, where: str, *values: Any) -> list[Any]:
        return load_all(kind, self._run(f"{select(kind, table)} WHERE {where}", *values))


def _finding_columns() -> str:
    return select(FindingRow, "findings").removeprefix("SELECT ").removesuffix(" FROM findings")


def _words(text: str) -> str:
    """A full-text query in which every word must begin one of the finding's; no operator is one."""
    plain = "".join(c if c.isalnum() else " " for c in text)
    return " ".join(f'"{word}"*' for word in plain.split()[:20])
