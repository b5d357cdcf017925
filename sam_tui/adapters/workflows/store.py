"""``workflows.db``: one connection, write transactions, and locks for the drivers of executions.

Write-ahead log with ``synchronous=FULL``: a commit that returned has reached the disk, so that a power
cut brings back no token that was spent. Where only the death of the process matters it may be off.
"""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from sam_tui.adapters.workflows.migrations import STEPS
from sam_tui.adapters.workflows.reader import SqliteReader, columns, upsert, values
from sam_tui.core.local_files.private_files import replace_file
from sam_tui.core.ports import workflows
from sam_tui.core.workflow.lazy import DATABASE
from sam_tui.sqlite import SqliteDatabase, opened

_BUSY_SECONDS = 5.0
"""Seconds that a write waits for other processes."""
_LOCK_DIGITS = 16
"""How many hexadecimal digits of an execution's hash name its lock file."""
_INEXACT = 2.0
"""A smaller difference of the system clock, in seconds, is not treated as a change by somebody."""
_PUT = (
    "UPDATE attempts SET started_at = started_at + :ahead, deadline = deadline + :ahead"
    " WHERE status = 'open'",
    "UPDATE tokens SET issued_at = issued_at + :ahead, expires_at = expires_at + :ahead"
    " WHERE used_at IS NULL AND revoked = ''",
    "UPDATE executions SET started_at = started_at + :ahead, updated_at = updated_at + :ahead"
    " WHERE state IN ('running', 'paused')",
)
_TABLES: Mapping[type, tuple[str, tuple[str, ...]]] = {
    workflows.ExecutionRow: ("executions", ("id",)),
    workflows.StepRow: ("steps", ("execution", "id")),
    workflows.AttemptRow: ("attempts", ("id",)),
    workflows.TaskRow: ("tasks", ("execution", "step", "revision", "position")),
    workflows.TokenRow: ("tokens", ("hash",)),
    workflows.EvidenceRow: ("evidence", ("id",)),
    workflows.ArtifactRow: ("artifacts", ("id",)),
    workflows.FindingRow: ("findings", ("id",)),
    workflows.KnownFile: ("files", ("path",)),
}
"""The table of each kind of row, and its key."""
_EVENT = tuple(name for name in columns(workflows.EventRow) if name != "seq")
_APPEND = f"INSERT INTO events ({', '.join(_EVENT)}) VALUES ({', '.join('?' for _ in _EVENT)})"


class SqliteUnit(SqliteReader):
    """The ``WorkflowUnit``: every change of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(lambda: connection)
        self._connection = connection

    def follow_clock(self, now: float, running: float, boot: str) -> None:
        """Compare the time with the last noted one of this start of the machine, and note it."""
        run = self._connection.execute
        noted = run("SELECT boot, now - running FROM clock").fetchone()
        start = now - running
        if noted is not None and boot in ("", noted[0]):
            ahead = start - noted[1]
            if not boot or abs(ahead) <= _INEXACT:
                return  # small steps add up until they count
            for sql in _PUT:
                run(sql, {"ahead": ahead})
        run("INSERT OR REPLACE INTO clock VALUES (1, ?, ?, ?)", (boot, now, running))

    def save(self, row: workflows.StoredRow | workflows.ArtifactRow) -> None:
        """Insert or replace; the words of a finding follow by trigger."""
        self._connection.execute(upsert(type(row), *_TABLES[type(row)]), values(row))

    def spend_token(self, hash_: str, at: float) -> bool:
        """Mark a token as used, if it is neither used nor revoked; whether that worked."""
        sql = "UPDATE tokens SET used_at = ? WHERE hash = ? AND used_at IS NULL AND revoked = ''"
        return self._connection.execute(sql, (at, hash_)).rowcount == 1

    def revoke_tokens(self, attempt: str, why: str, *, keep: int = 0) -> None:
        """Revoke all unused tokens of an attempt but the newest ``keep``."""
        self._connection.execute(
            "UPDATE tokens SET revoked = ? WHERE rowid IN (SELECT rowid FROM tokens WHERE attempt = ?"
            " AND used_at IS NULL AND revoked = '' ORDER BY rowid DESC LIMIT -1 OFFSET ?)",
            (why, attempt, keep),
        )

    def save_artifact(self, row: workflows.ArtifactRow, text: str) -> None:
        """Insert or replace, with the text."""
        self.save(row)
        self._connection.execute(
            "INSERT OR REPLACE INTO artifact_texts VALUES (?, ?)",
            (row.id, text.encode("utf-8", "replace")),
        )

    def pin(self, sha256: str, text: str) -> None:
        """Store a text under its hash."""
        self._connection.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (sha256, text))

    def delete_execution(self, execution: str) -> None:
        """Remove an execution with all that is its own; accepted findings stay."""
        run = self._connection.execute
        run("DELETE FROM findings WHERE execution = ? AND review <> 'accepted'", (execution,))
        run("UPDATE findings SET execution = '' WHERE execution = ?", (execution,))
        run("DELETE FROM events WHERE execution = ?", (execution,))
        run("DELETE FROM executions WHERE id = ?", (execution,))

    def append(self, row: workflows.EventRow) -> int:
        """Add an event."""
        fields = values(replace(row, seq=0))
        position = columns(workflows.EventRow).index("seq")
        cursor = self._connection.execute(_APPEND, fields[:position] + fields[position + 1 :])
        return int(cursor.lastrowid or 0)


class SqliteWorkflows(SqliteDatabase):
    """The ``WorkflowStore`` of one data folder. For one thread; other processes may have it too."""

    def __init__(self, folder: Path, *, flushed: bool = True) -> None:
        path = folder.expanduser().absolute() / DATABASE
        super().__init__(path, partial(opened, path, STEPS, _BUSY_SECONDS, flushed=flushed))
        self.reader = SqliteReader(lambda: self.live, self.explained)

    @contextmanager
    def unit(self) -> Generator[SqliteUnit, None, None]:
        """Open a write transaction. Raises ``StorageError`` if SQLite refuses."""
        with self.transaction() as connection:
            yield SqliteUnit(connection)

    @contextmanager
    def hold(self, execution: str) -> Generator[bool, None, None]:
        """Lock an execution by a file; the kernel releases the lock when the process ends."""
        name = hashlib.sha256(execution.encode("utf-8", "replace")).hexdigest()[:_LOCK_DIGITS]
        folder = self.path.with_suffix(".locks")
        with self.explained("locked"):
            folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(folder / name, flags, 0o600)
        mine = False
        try:
            mine = _lock(descriptor)
            yield mine
        finally:
            if mine:  # closing alone waits for each child that was just forked to close it, too
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_workflows(data_dir: str | Path, *, flushed: bool = True) -> SqliteWorkflows:
    """The store in a data folder, making both where they are missing. Raises ``StorageError``.

    ``flushed`` makes every commit reach the disk before it returns.
    """
    return SqliteWorkflows(Path(data_dir), flushed=flushed)


def save_file(path: str | Path, text: str) -> None:
    """Write a file of a task whole, mode 0600. Raises ``OSError``.

    It is a copy of data in the store, so it is not flushed.
    """
    target = Path(path)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(str(target), text, errors="surrogatepass", flushed=False)
