"""What is whole in a damaged database, moved to a new one."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sam_tui.adapters.storage.database import FILE_NAME, Database, decode
from sam_tui.adapters.storage.writers import FOLDER
from sam_tui.core.errors import StorageError
from sam_tui.core.messages import load_message

_REBUILT = ("message_words", "indexed_messages", "writers")
"""What is made anew by itself."""
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
_SIDE_FILES = ("-wal", "-shm")
_MAGIC, _HEADER, _SIZE = b"SQLite format 3\0", 100, slice(28, 40)
"""Of the database file format: its first bytes, their length in all, the fields for its size."""
_INTERIOR = 5
"""The kind of a page that names others below it."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done. ``backup`` is the damaged file, empty where nothing had to be moved.

    ``rows`` counts what was moved, ``lost`` names tables that had unreadable pages. ``unreadable``
    counts messages, by conversation, that are markers in their history.
    """

    backup: str
    rows: int
    lost: tuple[str, ...]
    unreadable: dict[str, int]


def repair(data_dir: Path) -> Repair:
    """Look at every page and message; a damaged file is replaced by what is whole in it.

    Raises ``StorageError`` while another program has it open, and for what is no database at all.
    """
    path = data_dir / FILE_NAME
    if not path.is_file():
        raise StorageError(f"There is no database {path}.")
    _refuse_in_use(path)
    if _is_whole(path):
        return Repair("", 0, (), _unreadable(data_dir))
    new = data_dir / f"repair-{os.getpid()}"
    try:
        rows, lost = _move(path, new)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    backup = path.with_name(f"{FILE_NAME}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for ending in ("", *_SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(backup.with_name(backup.name + ending))
    (new / FILE_NAME).rename(path)
    shutil.rmtree(new, ignore_errors=True)
    return Repair(str(backup), rows, lost, _unreadable(data_dir))


def _refuse_in_use(path: Path) -> None:
    folder = path.with_suffix(FOLDER)
    for lock in folder.iterdir() if folder.is_dir() else ():
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(
                f"Another sam-tui writes to {path}.", hint="End it, then try again."
            ) from None
        finally:
            os.close(descriptor)


def _is_whole(path: Path) -> bool:
    try:
        with contextlib.closing(_reader(path)) as connection:
            for table in ("conversations", "messages"):
                connection.execute(f"SELECT 1 FROM {table} LIMIT 1")
            return connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
    except sqlite3.DatabaseError:
        return False


def _reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.text_factory = decode
    try:
        # Tables that are named ahead of a damaged page of the schema can be read all the same.
        connection.execute("PRAGMA writable_schema = ON")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _readable(path: Path, new: Path) -> Path:
    """The file, or a copy that begins as ``new`` does, and names the tables as it does, where it says so
    no more.

    A new database of this program has its tables at the same pages as any that it made.
    """
    with contextlib.closing(sqlite3.connect(new / FILE_NAME)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    fresh, damaged = (new / FILE_NAME).read_bytes(), path.read_bytes()
    header = damaged[:_HEADER]
    if not header.startswith(_MAGIC):
        # No pages counted, none free: the file's own size counts.
        header = fresh[: _SIZE.start] + bytes(12) + fresh[_SIZE.stop : _HEADER]
    mended = bytearray(header + damaged[_HEADER:])
    schema = _schema_pages(fresh)
    other = [page for page in schema if bytes(mended[page]) != fresh[page]]
    if len(other) < len(schema):
        for page in other:
            mended += bytes(max(0, page.stop - len(mended)))  # where the end is gone
            mended[page] = fresh[page]
    if bytes(mended) == damaged:
        return path
    copy = new / "copy.db"
    copy.write_bytes(mended)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(path.with_name(f"{path.name}-wal"), copy.with_name(f"{copy.name}-wal"))
    return copy


def _schema_pages(data: bytes) -> list[slice]:
    """Where a whole database has its list of tables, without the header in front of it."""
    size = int.from_bytes(data[16:18])
    pages = [slice(_HEADER, size)]
    if data[_HEADER] == _INTERIOR:
        cells = int.from_bytes(data[_HEADER + 3 : _HEADER + 5])
        starts = range(_HEADER + 12, _HEADER + 12 + 2 * cells, 2)
        offsets = [int.from_bytes(data[start : start + 2]) for start in starts]
        numbers = [int.from_bytes(data[offset : offset + 4]) for offset in offsets]
        numbers.append(int.from_bytes(data[_HEADER + 8 : _HEADER + 12]))
        pages += [slice((number - 1) * size, number * size) for number in numbers]
    return pages


def _move(path: Path, folder: Path) -> tuple[int, tuple[str, ...]]:
    """Fill a new database; returns how many rows came, and the tables that had unreadable ones."""
    database = Database(folder)
    rows, lost = 0, list[str]()
    with (
        contextlib.closing(database),
        contextlib.closing(_reader(_readable(path, folder))) as old,
    ):
        for table in _tables(database):
            columns = [str(row[1]) for row in database.query(f"PRAGMA table_info({table})")]
            marks = ", ".join("?" * len(columns))
            with database.transaction() as connection:
                connection.execute("PRAGMA defer_foreign_keys = ON")
                whole = True
                for row in _rows(old, table, columns):
                    if row is None:
                        whole = False
                        continue
                    with contextlib.suppress(sqlite3.IntegrityError):
                        connection.execute(
                            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", row
                        )
                        rows += 1
                if table == "conversations":
                    _name_the_lost(old, connection)
            if not whole:
                lost.append(table)
    if not rows:
        raise StorageError(
            f"Nothing in {path} can be read.",
            hint=f"Restore it from a backup, or move it away (mv '{path}' '{path}.damaged').",
        )
    return rows, tuple(lost)


def _tables(database: Database) -> list[str]:
    """The tables with content of their own, conversations before what names them."""
    names = [
        str(row[0])
        for row in database.query(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
    ]
    return sorted(
        (
            name
            for name in names
            if name not in _REBUILT
            and not name.startswith(("sqlite_", *(f"{table}_" for table in _REBUILT)))
            and not name.endswith(_SHADOWS)
            and name not in ("steps", "migrations")
        ),
        key=lambda name: name != "conversations",
    )


Values = tuple[str | int | float | bytes | None, ...]


def _rows(old: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[Values | None]:
    """Every row that can be read, from both ends where the middle cannot; None where some are lost."""
    selection = ", ".join(columns)
    try:
        has = {str(row[1]) for row in old.execute(f"PRAGMA table_info({table})")}
        selection = ", ".join(name if name in has else f"'' AS {name}" for name in columns)
        yield from old.execute(f"SELECT {selection} FROM {table} ORDER BY {_key(table)}")
        return
    except sqlite3.DatabaseError:
        yield None
    with contextlib.suppress(sqlite3.DatabaseError):
        # The other end: up to the page that cannot be read. What came twice is refused by its key.
        yield from old.execute(f"SELECT {selection} FROM {table} ORDER BY {_key(table)} DESC")


def _key(table: str) -> str:
    return "id" if table == "conversations" else "rowid"


def _name_the_lost(old: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Make a conversation for messages that lost theirs, so that they can be found."""
    try:
        named = old.execute("SELECT DISTINCT conversation FROM messages").fetchall()
    except sqlite3.DatabaseError:
        return
    connection.executemany(
        "INSERT INTO conversations (id, workspace, title, created_at, updated_at, messages)"
        " VALUES (?, '', 'Restored', ?, ?, 1) ON CONFLICT DO NOTHING",
        [(name, time.time(), time.time()) for (name,) in named],
    )


def _unreadable(data_dir: Path) -> dict[str, int]:
    """Messages whose row is there and says nothing, by conversation."""
    counts: dict[str, int] = {}
    with contextlib.closing(Database(data_dir)) as database:
        for key, body in database.query("SELECT conversation, body FROM messages"):
            try:
                load_message(body)
            except ValueError:
                counts[key] = counts.get(key, 0) + 1
    return counts
