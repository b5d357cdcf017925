"""The connection: opened for the owner only, migrated, with errors that say what to do.

Write-ahead log with ``synchronous=NORMAL``: a commit that returned survives the death of the
process, at any moment; only a power cut may take the last ones back, never leaving a broken file.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sam_tui.adapters.storage.migrations import STEPS
from sam_tui.sqlite import SqliteDatabase, copied, is_locked, opened

FILE_NAME = "sam.db"
BUSY_SECONDS = 3.0
"""Seconds that a write waits for other processes before it fails because the database is locked."""

_ROOM = 1024 * 1024
"""The free bytes that a disk needs for the files that SQLite creates beside a database."""
_REPAIR = (
    "The file is damaged. “sam-tui sessions repair” writes a new one with everything that can "
    "still be read, and keeps this one beside it."
)
SqlValue = str | int | float | bytes | None
Row = tuple[Any, ...]


class Database(SqliteDatabase):
    """The database of conversations. After a writer waited in vain, others do not wait until one succeeds.

    With ``reads`` a file that cannot be written to is opened as well, as a copy in memory.
    """

    def __init__(
        self, folder: Path, *, busy_seconds: float = BUSY_SECONDS, reads: bool = False
    ) -> None:
        self._busy_seconds = busy_seconds
        self._locked = False
        path = folder.expanduser().absolute() / FILE_NAME
        connect = self._connected_to_read if reads and path.exists() else self._connected
        super().__init__(path, connect, repair=_REPAIR)

    def query(self, sql: str, *values: SqlValue) -> list[Row]:
        """The rows of a SELECT. Raises ``StorageError``."""
        with self.explained("read"):
            return self.live.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Generator[Callable[..., list[Row]], None, None]:
        """Yield a ``query`` function over a read-only connection of its own, for any thread inside the
        block.

        Raises ``StorageError``.
        """
        with self.explained("read"):
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro", timeout=self._busy_seconds, uri=True
            )
            connection.text_factory = decode

            def query(sql: str, *values: SqlValue) -> list[Row]:
                return connection.execute(sql, values).fetchall()

            try:
                yield query
            finally:
                connection.close()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """A write transaction: committed when the block ends, undone when it raises."""
        with super().transaction() as connection:
            yield connection
        self._wait_again()

    @property
    def state(self) -> tuple[int, int]:
        """A value that differs after any write, by this or another connection."""
        return self.live.total_changes, self.query("PRAGMA data_version")[0][0]

    @contextmanager
    def explained(self, verb: str) -> Generator[None, None, None]:
        """Turn errors of SQLite and the system into a ``StorageError`` that says what to do."""
        with super().explained(verb):
            try:
                yield
            except sqlite3.Error as error:
                self._wait_no_more(error)
                raise

    def _connected(self) -> sqlite3.Connection:
        return opened(self.path, STEPS, self._busy_seconds, decode=decode)

    def _connected_to_read(self) -> sqlite3.Connection:
        """The file, or a copy of it where nothing can be written."""
        connection: sqlite3.Connection | None = None
        try:
            if _has_room(self.path):
                connection = self._connected()
                self._require_writable(connection)
                return connection
        except (OSError, sqlite3.Error) as error:
            if connection is not None:
                connection.close()
            if not _cannot_write(error):
                raise
        return copied(self.path, STEPS, decode)

    def _require_writable(self, connection: sqlite3.Connection) -> None:
        """Raises ``OperationalError`` where the file cannot be written; another writer is no reason."""
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
        connection.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1000)}")

    def _wait_no_more(self, error: sqlite3.Error) -> None:
        """Stop waiting for locks after one wait in vain, so that the program's end is not delayed again."""
        if is_locked(error) and self._connection is not None and not self._locked:
            self._locked = True
            self._connection.execute("PRAGMA busy_timeout = 0")

    def _wait_again(self) -> None:
        if self._locked:
            self._locked = False
            self.live.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1000)}")


def _has_room(path: Path) -> bool:
    """Whether a file and its folder can be written to, with some space left."""
    disk = os.statvfs(path.parent)
    room = disk.f_bavail * disk.f_frsize >= _ROOM
    return room and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _cannot_write(error: OSError | sqlite3.Error) -> bool:
    """Whether a disk that is full or read-only, or rights that are missing, may be the reason."""
    if isinstance(error, OSError):
        return error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT)
    text = str(error).lower()
    return any(words in text for words in ("readonly", "unable to open", "full", "disk i/o"))


def decode(raw: bytes) -> str:
    """Text as stored; a damaged byte costs a character, not the row."""
    return raw.decode("utf-8", "replace")
