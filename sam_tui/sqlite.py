"""Common parts of all our SQLite files: one connection, transactions, migrations, and errors in words."""

import fcntl
import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sam_tui.core.errors import StorageError
from sam_tui.core.text.plain import printable

_WRITE_LOCK = "120"
"""The offset of the lock of a database's writer in the shared-memory file (SQLite's WAL-index format)."""
_OF_LOG = slice(18, 20)
"""Two bytes of a file's header, which are 2 if it has a write-ahead log (SQLite's file format)."""


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """One change of a schema: the name that is recorded, and the statements."""

    name: str
    statements: tuple[str, ...]


class NewerDatabase(Exception):
    """The file has a step that this program does not know; ``str`` is its name."""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[sqlite3.Connection, None, None]:
    """A write transaction: committed when the block ends, undone when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # A full disk or a corrupt page has already undone the transaction.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def alone(lock: Path) -> Generator[None, None, None]:
    """Prepare a file in one process at a time; ``lock`` is a file next to it.

    SQLite's own waiting does not cover the change to a write-ahead log.
    """
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def holder(path: Path) -> str:
    """The process that writes to a file, as Linux lists it: ``python (process 12)``; empty if unknown."""
    with suppress(OSError, ValueError, IndexError):
        log = os.stat(f"{path}-shm")
        file = f"{os.major(log.st_dev):02x}:{os.minor(log.st_dev):02x}:{log.st_ino}"
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            # 1: POSIX ADVISORY WRITE <process> <file> <first byte> <last byte>
            words = line.split()
            if words[5:7] == [file, _WRITE_LOCK] and words[3:4] == ["WRITE"]:
                name = Path(f"/proc/{int(words[4])}/comm").read_text("utf-8", "replace").strip()
                return f"{printable(name)} (process {words[4]})"
    return ""


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another program writes to a file for longer than one waits."""
    text = str(error).lower()
    return "locked" in text or "busy" in text


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether SQLite reports the file as damaged."""
    text = str(error).lower()
    return "malformed" in text or "not a database" in text or "no such table" in text


def way_out(error: sqlite3.Error, path: Path) -> str:
    """Advice for the person about an unusable file."""
    text = str(error).lower()
    if is_locked(error):
        writer = holder(path) or "Another program"
        return f"{writer} has been writing to it for long. End that one, then try again."
    if "readonly" in text or "unable to open" in text:
        return f"Make {path.parent} writable for you, or choose another folder with --data-dir."
    if "full" in text or "disk i/o" in text:
        return f"Free some space on the disk that holds {path.parent}, then try again."
    return (
        f"The file is damaged. Move it away (mv '{path}' '{path}.damaged') and a new one is made; "
        f"“sqlite3 '{path}.damaged' .recover” may bring back what it held."
    )


def make_private(path: Path) -> None:
    """Make the file for its owner alone, before SQLite does; its log and index take its mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077 and path.stat().st_uid == os.geteuid():
            path.chmod(0o600)


def _make_folder(path: Path) -> None:
    """Make the folder of a file for its owner alone; restrict one that is empty or has the file."""
    folder = path.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    ours = path.exists() or not any(folder.iterdir())
    status = folder.stat()
    if status.st_uid not in (0, os.geteuid()) and status.st_mode & stat.S_IWOTH:
        raise StorageError(
            f"{folder} belongs to another user, and anybody can write to it.",
            hint="Choose a folder of your own with --data-dir or SAM_TUI_DATA_DIR.",
        )
    if ours and stat.S_IMODE(status.st_mode) != 0o700 and status.st_uid == os.geteuid():
        folder.chmod(0o700)


class SqliteDatabase:
    """One file over one connection, which ``connect`` opens. Not for use from several threads.

    ``repair`` is advice for a damaged file.
    """

    def __init__(
        self, path: Path, connect: Callable[[], sqlite3.Connection], *, repair: str = ""
    ) -> None:
        self.path = path
        self._repair = repair
        self._connection: sqlite3.Connection | None = None
        with self.explained("opened"):
            self._connection = connect()

    @property
    def live(self) -> sqlite3.Connection:
        """The open connection. Raises ``StorageError`` once it is closed."""
        if self._connection is None:
            raise StorageError(f"{self.path} was already closed.")
        return self._connection

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """A write transaction: committed when the block ends, undone when it raises.

        Raises ``StorageError`` for what SQLite refuses, a lock held too long among it.
        """
        with self.explained("written"), transaction(self.live) as connection:
            yield connection

    @contextmanager
    def explained(self, verb: str) -> Generator[None, None, None]:
        """Turn errors of SQLite and the system into a ``StorageError`` that says what to do."""
        try:
            yield
        except NewerDatabase as newer:
            raise StorageError(
                f"{self.path} was written by a newer sam-tui (it has the step “{newer}”).",
                hint="Update sam-tui, or choose another folder with --data-dir.",
            ) from newer
        except sqlite3.IntegrityError as error:
            raise StorageError(f"{self.path} refused the entry: {error}.") from error
        except sqlite3.Error as error:
            hint = (is_damaged(error) and self._repair) or way_out(error, self.path)
            raise StorageError(f"{self.path} could not be {verb}: {error}.", hint=hint) from error
        except OSError as error:
            if (
                error.filename is None and error.errno is None
            ):  # a timeout, which the caller handles
                raise
            raise StorageError(
                f"{error.filename or self.path} could not be {verb}: {error.strerror}.",
                hint="Choose a folder that you can write to with --data-dir.",
            ) from error

    def close(self) -> None:
        """Close the connection; closing again does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def opened(
    path: Path,
    steps: Sequence[MigrationStep],
    seconds: float,
    *,
    flushed: bool = False,
    decode: Callable[[bytes], str] = str,
) -> sqlite3.Connection:
    """A connection to a private file with all its steps; waits ``seconds`` for other writers.

    ``flushed``: a commit that returned has reached the disk. Raises ``NewerDatabase``, ``OSError`` and
    ``sqlite3.Error``.
    """
    _make_folder(path)
    _place(path, tuple(steps))
    make_private(path)
    connection = sqlite3.connect(
        path, timeout=seconds, isolation_level=None, check_same_thread=False
    )
    try:
        connection.text_factory = decode
        connection.execute(f"PRAGMA synchronous = {'FULL' if flushed else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
        prepare(connection, steps, path.with_suffix(".lock"))
    except BaseException:
        connection.close()
        raise
    return connection


def copied(
    path: Path, steps: Sequence[MigrationStep], decode: Callable[[bytes], str]
) -> sqlite3.Connection:
    """Copy a file into memory with all its steps, if nothing can be written next to it.

    SQLite needs files beside a write-ahead log even to read it: a log with content is read from a
    temporary folder. Raises ``sqlite3.Error``, ``OSError`` and ``NewerDatabase``.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with _source(path) as uri, closing(sqlite3.connect(uri, uri=True)) as source:
            source.backup(connection)
        connection.text_factory = decode
        with transaction(connection):
            _migrate(connection, steps)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _source(path: Path) -> Generator[str, None, None]:
    """Return the address of a file to copy, with the content of its log."""
    log = Path(f"{path}-wal")
    if not log.exists() or not log.stat().st_size:
        yield f"{path.as_uri()}?immutable=1"
        return
    with tempfile.TemporaryDirectory(prefix="sam-tui-") as folder:
        for file in (path, log):
            shutil.copyfile(file, os.path.join(folder, file.name))
        yield Path(folder, path.name).as_uri()


def _place(path: Path, steps: tuple[MigrationStep, ...]) -> None:
    """Make a file that does not exist with all its steps at once, where the system can do that.

    Making its tables one by one takes longer. If there is a log of another file, SQLite has to drop it.
    """
    if path.exists() or os.path.lexists(f"{path}-wal"):
        return
    with suppress(AttributeError, OSError):  # no such call here, or another process was first
        unnamed = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with open(unnamed, "wb") as file:
            file.write(_image(steps))
            file.flush()
            os.fsync(unnamed)
            os.link(f"/proc/self/fd/{unnamed}", path, src_dir_fd=unnamed)  # which follows


@lru_cache(maxsize=4)
def _image(steps: tuple[MigrationStep, ...]) -> bytes:
    """The bytes of a file with a write-ahead log that has these steps and nothing else."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _migrate(connection, steps)
        image = bytearray(connection.serialize())
    image[_OF_LOG] = b"\2\2"
    return bytes(image)


def prepare(connection: sqlite3.Connection, steps: Sequence[MigrationStep], lock: Path) -> None:
    """Apply all missing steps to the file, in one transaction of one process.

    Steps are only ever appended to: a reader of an older program sees a name it does not know, and
    stops. Raises ``NewerDatabase``.
    """
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode == "wal" and not _pending(connection, steps):
        return
    with alone(lock):
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection):
            _migrate(connection, steps)


def _migrate(connection: sqlite3.Connection, steps: Sequence[MigrationStep]) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, made_at REAL NOT NULL)"
    )
    for step in _pending(connection, steps):
        for statement in step.statements:
            connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?)", (step.name, time.time()))


def _pending(connection: sqlite3.Connection, steps: Sequence[MigrationStep]) -> list[MigrationStep]:
    names = {step.name for step in steps}
    applied = _applied(connection)
    for name in applied:
        if name not in names:
            raise NewerDatabase(name)
    return [step for step in steps if step.name not in applied]


def _applied(connection: sqlite3.Connection) -> list[str]:
    """The names of the steps that were made; none in an empty file."""
    table = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'"
    ).fetchone()
    if table is None:
        return []
    return [str(row[0]) for row in connection.execute("SELECT name FROM migrations ORDER BY name")]
