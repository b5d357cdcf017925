"""The connection: opened privately, migrated, and every failure told in words with a way out.

Write-ahead log with ``synchronous=NORMAL``: a commit that returned survives the death of the
process, at any moment; only a power cut may take the last ones back, never leaving a broken file.
"""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sam_tui.adapters.storage.migrations import STEPS
from sam_tui.sqlite import SqliteDatabase, is_locked

FILE_NAME = "sam.db"
BUSY_SECONDS = 3.0
"""How long a write waits for another process before it says that the database is locked."""

_REPAIR = (
    "The file is damaged. “sam-tui sessions repair” makes a new one of all that can still be read, and"
    " keeps this one beside it."
)
SqlValue = str | int | float | bytes | None
Row = tuple[Any, ...]


class Database(SqliteDatabase):
    """The database of conversations. A writer that waited in vain waits no more until a write succeeds."""

    def __init__(self, folder: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._busy_seconds = busy_seconds
        self._locked = False
        path = folder.expanduser().absolute() / FILE_NAME
        super().__init__(path, STEPS, busy_seconds, decode=_decode, repair=_REPAIR)

    def query(self, sql: str, *values: SqlValue) -> list[Row]:
        """The rows of a SELECT. Raises ``StorageError``."""
        with self.explained("read"):
            return self.live.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Generator[Callable[..., list[Row]], None, None]:
        """A ``query`` function over a read-only connection of its own, usable in any thread inside the
        block.

        Raises ``StorageError``.
        """
        with self.explained("read"):
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro", timeout=self._busy_seconds, uri=True
            )
            connection.text_factory = _decode

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
        """What differs once anything was written, here or by another connection."""
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

    def _wait_no_more(self, error: sqlite3.Error) -> None:
        """What waited once in vain does not wait again, at the end of a program say, till it is free."""
        if is_locked(error) and self._connection is not None and not self._locked:
            self._locked = True
            self._connection.execute("PRAGMA busy_timeout = 0")

    def _wait_again(self) -> None:
        if self._locked and self._connection is not None:
            self._locked = False
            self._connection.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1000)}")


def _decode(raw: bytes) -> str:
    """Text as stored; a damaged byte costs a character, not the row."""
    return raw.decode("utf-8", "replace")
