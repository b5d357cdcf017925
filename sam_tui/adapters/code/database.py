"""A SQLite file of this adapter: made at the first use, private, safe with several processes."""

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sam_tui import sqlite
from sam_tui.core.errors import StorageError

_BUSY_SECONDS = 10.0

Row = tuple[Any, ...]


class SqliteFile:
    """A database with one schema. Any thread may use it, one at a time.

    A ``disposable`` one holds only data that can be made again: if unusable, it is replaced by a new one.
    """

    def __init__(self, path: Path, schema: str, *, version: int, disposable: bool = False) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._disposable = disposable
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def query(self, sql: str, *values: Any) -> list[Row]:
        """The rows of a SELECT. Raises ``StorageError``."""
        with self._explained(), self._lock:
            return self._live().execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """A write transaction: committed when the block ends, undone when it raises."""
        with self._explained(), self._lock, sqlite.transaction(self._live()) as connection:
            yield connection

    def forget(self) -> None:
        """Replace the file by an empty one; another process keeps the old one until it ends."""
        with self._explained(), self._lock:
            self.close()
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(f"{self.path}{ending}")

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = self._opened()
            except sqlite3.DatabaseError as error:
                if not self._disposable or isinstance(error, sqlite3.OperationalError):
                    raise
                self.forget()
                self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with sqlite.alone(Path(f"{self.path}.lock")):
            sqlite.make_private(self.path)
            return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version == 0:
                connection.executescript(
                    f"BEGIN IMMEDIATE; {self._schema}; PRAGMA user_version = {self._version}; COMMIT"
                )
            elif version != self._version:
                raise sqlite3.DatabaseError(f"it has version {version}, not {self._version}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _explained(self) -> Generator[None, None, None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._disposable and not isinstance(error, sqlite3.OperationalError):
                self.forget()
                raise StorageError(
                    f"{self.path} was damaged ({error}) and is built again.", hint="Try again."
                ) from error
            raise StorageError(
                f"{self.path} cannot be used: {error}.",
                hint=sqlite.way_out(error, self.path),
            ) from error
        except OSError as error:
            raise StorageError(
                f"{error.filename or self.path} cannot be used: {error.strerror}.",
                hint="Choose a folder that you can write to with --data-dir.",
            ) from error


def is_damaged(path: Path) -> bool:
    """Whether a file is not a whole database. A locked one may be whole."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            return connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        return True
