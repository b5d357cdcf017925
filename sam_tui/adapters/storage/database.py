"""The connection: opened privately, migrated, and every failure told in words with a way out.

Write-ahead log with ``synchronous=NORMAL``: a commit that returned survives the death of the
process, at any moment; only a power cut may take the last ones back, never leaving a broken file.
"""

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sam_tui import sqlite
from sam_tui.adapters.storage.migrations import STEPS
from sam_tui.core.errors import StorageError

FILE_NAME = "sam.db"
BUSY_SECONDS = 3.0
"""How long a write waits for another process before it says that the database is locked."""

_ROOM = 1024 * 1024
"""Bytes that a disk has to have for the files that SQLite makes beside a file."""
_REPAIR = (
    "The file is damaged. “sam-tui sessions repair” makes a new one of all that can still be read, and"
    " keeps this one beside it."
)
SqlValue = str | int | float | bytes | None
Row = tuple[Any, ...]


class Database:
    """One SQLite file, one connection. Not for use from several threads.

    With ``reads`` a file that is there is also opened where nothing can be written: as a copy in memory.
    """

    def __init__(
        self, folder: Path, *, busy_seconds: float = BUSY_SECONDS, reads: bool = False
    ) -> None:
        self.path = folder.expanduser().absolute() / FILE_NAME
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._locked = False
        self._copied = False
        with self._explained("opened"):
            try:
                if reads and self.path.exists() and not _has_room(self.path):
                    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self.path))
                _prepare_folder(self.path.parent)
                _prepare_file(self.path)
                self._connection = self._open()
                if reads:
                    self._require_writable(self._connection)
            except (OSError, sqlite3.OperationalError) as error:
                if not (reads and self.path.exists() and _cannot_write(error)):
                    raise
                self.close()
                self._connection = sqlite.copied(self.path, STEPS, _decode)
                self._copied = True

    def query(self, sql: str, *values: SqlValue) -> list[Row]:
        """The rows of a SELECT. Raises ``StorageError``."""
        with self._explained("read"):
            return self._live().execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Generator[Callable[..., list[Row]], None, None]:
        """A ``query`` function over a read-only connection of its own, usable in any thread inside the
        block.

        Raises ``StorageError``.
        """
        if self._copied:
            yield self.query
            return
        with self._explained("read"):
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
        """A write transaction: committed when the block ends, undone when it raises.

        Raises ``StorageError`` for what SQLite refuses, a lock held too long among it.
        """
        with self._explained("written"), sqlite.transaction(self._live()) as connection:
            yield connection
        self._wait_again()

    @property
    def state(self) -> tuple[int, int]:
        """What differs once anything was written, here or by another connection."""
        return self._live().total_changes, self.query("PRAGMA data_version")[0][0]

    def close(self) -> None:
        """Close the connection; closing again does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageError("The conversation database was already closed.")
        return self._connection

    def _open(self) -> sqlite3.Connection:
        return sqlite.opened(self.path, STEPS, self._busy_seconds, decode=_decode)

    @contextmanager
    def _explained(self, verb: str) -> Generator[None, None, None]:
        """Turn errors of SQLite and the system into a ``StorageError`` that says what to do."""
        try:
            yield
        except sqlite.NewerDatabase as newer:
            raise StorageError(
                f"{self.path} was written by a newer sam-tui (it has the step “{newer}”).",
                hint="Update sam-tui, or choose another folder with --data-dir.",
            ) from newer
        except sqlite3.IntegrityError as error:
            raise StorageError(f"{self.path} refused the entry: {error}.") from error
        except sqlite3.Error as error:
            self._wait_no_more(error)
            hint = _REPAIR if sqlite.is_damaged(error) else sqlite.way_out(error, self.path)
            raise StorageError(f"{self.path} could not be {verb}: {error}.", hint=hint) from error
        except OSError as error:
            raise StorageError(
                f"{error.filename or self.path} could not be {verb}: {error.strerror}.",
                hint="Choose a folder that you can write to with --data-dir.",
            ) from error

    def _require_writable(self, connection: sqlite3.Connection) -> None:
        """Raises ``OperationalError`` where the file cannot be written; another writer is no reason."""
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if not sqlite.is_locked(error):
                raise
        connection.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1000)}")

    def _wait_no_more(self, error: sqlite3.Error) -> None:
        """What waited once in vain does not wait again, at the end of a program say, till it is free."""
        if sqlite.is_locked(error) and self._connection is not None and not self._locked:
            self._locked = True
            self._connection.execute("PRAGMA busy_timeout = 0")

    def _wait_again(self) -> None:
        if self._locked and self._connection is not None:
            self._locked = False
            self._connection.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1000)}")


def _has_room(path: Path) -> bool:
    """Whether a file and its folder can be written to, with some space left."""
    disk = os.statvfs(path.parent)
    room = disk.f_bavail * disk.f_frsize >= _ROOM
    return room and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _cannot_write(error: OSError | sqlite3.OperationalError) -> bool:
    """Whether a disk that is full or read-only, or rights that are missing, may be the reason."""
    if isinstance(error, OSError):
        return error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT)
    text = str(error).lower()
    return any(words in text for words in ("readonly", "unable to open", "full", "disk i/o"))


def _decode(raw: bytes) -> str:
    """Text as stored; a damaged byte costs a character, not the row."""
    return raw.decode("utf-8", "replace")


def _prepare_folder(folder: Path) -> None:
    """Make the folder for the owner alone; tighten one that is plainly ours, leave any other."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            if not folder.is_dir():
                raise
    ours = (folder / FILE_NAME).exists() or not any(folder.iterdir())
    if (
        ours
        and stat.S_IMODE(folder.stat().st_mode) != 0o700
        and folder.stat().st_uid == os.geteuid()
    ):
        folder.chmod(0o700)


def _prepare_file(path: Path) -> None:
    """Make the file with its mode before SQLite does; its log and index take the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077 and path.stat().st_uid == os.geteuid():
            path.chmod(0o600)
