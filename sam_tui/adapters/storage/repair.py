"""Moves the undamaged part of a damaged database to a new one."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sam_tui.adapters.storage.database import FILE_NAME, Database, decode
from sam_tui.adapters.storage.writers import FOLDER
from sam_tui.core.errors import StorageError
from sam_tui.core.messages import load_message

_REBUILT = ("message_words", "indexed_messages", "writers")
"""Tables that are not rescued, because the program builds them again."""
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
_SIDE_FILES = ("-wal", "-shm")
_MAGIC, _HEADER, _SIZE = b"SQLite format 3\0", 100, slice(28, 40)
"""The SQLite file format: its first bytes, the length of its header, the header's fields for its size."""
_INTERIOR, _LEAF = 5, 13
"""The types of the b-tree pages of a table: one that refers to other pages, one with rows."""
_LARGEST = 2**63 - 1
_SINGLE_STEPS = 256
"""After so many row ids in a row that cannot be read, more than a page has, the steps grow."""
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """The outcome of a repair. ``backup`` is the damaged file, empty if nothing had to be moved.

    ``rows`` counts moved rows, ``lost`` names tables with unreadable pages. ``unreadable`` counts
    messages, by conversation, that are replaced by markers in their history.
    """

    backup: str
    rows: int
    lost: tuple[str, ...]
    unreadable: dict[str, int]


def repair(data_dir: Path) -> Repair:
    """Check every page and message; a damaged file is replaced by its undamaged part.

    Raises ``StorageError`` while another program has it open, and for a file that is no database.
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
    """The file, or a copy with the beginning and the list of tables of a ``new`` one, if the file's own are
    damaged.

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
    """Return the pages of a whole database's list of tables, without the header in front of it."""
    size = int.from_bytes(data[16:18])
    pages = [slice(_HEADER, size)]
    if data[_HEADER] == _INTERIOR:
        offsets = [*_cells(data[:size], _HEADER), _HEADER + 8]
        numbers = [int.from_bytes(data[offset : offset + 4]) for offset in offsets]
        pages += [slice((number - 1) * size, number * size) for number in numbers]
    return pages


def _cells(page: bytes, start: int = 0) -> list[int]:
    """Return the offsets of a page's cells; the header of the page begins at ``start``."""
    count, first = int.from_bytes(page[start + 3 : start + 5]), start + 8
    first += 4 if page[start] == _INTERIOR else 0
    return [int.from_bytes(page[at : at + 2]) for at in range(first, first + 2 * count, 2)]


def _has_root(old: sqlite3.Connection, table: str) -> bool:
    """Whether the page by which a table's rows are reached is one, and not overwritten."""
    with contextlib.suppress(sqlite3.DatabaseError):
        return bool(old.execute(f"SELECT max(rowid) FROM {table}").fetchall())
    root = old.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    size = old.execute("PRAGMA page_size").fetchone()[0]
    with open(old.execute("PRAGMA database_list").fetchone()[2], "rb") as file:
        last = os.fstat(file.fileno()).st_size // size
        file.seek((root - 1) * size)
        page = file.read(size)
    if len(page) < size or page[0] not in (_INTERIOR, _LEAF):
        return False
    cells = _cells(page)
    if not all(8 <= cell < size for cell in cells):
        return False
    below = [page[at : at + 4] for at in (*cells, 8)] if page[0] == _INTERIOR else []
    return all(0 < int.from_bytes(number) <= last for number in below)


def _move(path: Path, folder: Path) -> tuple[int, tuple[str, ...]]:
    """Fill a new database; returns how many rows came, and the tables that had unreadable ones."""
    database = Database(folder)
    rows, lost = 0, list[str]()
    with (
        contextlib.closing(database),
        contextlib.closing(_reader(_readable(path, folder))) as old,
    ):
        for table in _tables(database):
            with database.transaction() as connection:
                connection.execute("PRAGMA defer_foreign_keys = ON")
                whole = True
                for names, row in _rows(old, connection, table):
                    if not row or not _inserted(connection, table, names, row):
                        whole = False
                        continue
                    rows += 1
                if table == "messages":
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
    """Return the tables with content of their own, conversations before the tables that refer to them."""
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


def _rows(
    old: sqlite3.Connection, new: sqlite3.Connection, table: str
) -> Iterator[tuple[list[str], Values]]:
    """Every row that can be read, with the names of its columns; an empty one for each unreadable stretch.

    Columns that only the new table has get their defaults. Numbers of rows stay, because the tables of
    words name the rows of others by them.
    """
    try:
        has = _columns(old, table)
    except sqlite3.DatabaseError:
        has = []
    names = [name for name in _columns(new, table) if name in has]
    if not names:
        yield [], ()
    elif table == "conversations":
        yield from ((names, row) for row in _from_both_ends(old, names))
    else:
        names.insert(0, "rowid")
        yield from ((names, row) for row in _around_damage(old, table, names))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


def _around_damage(old: sqlite3.Connection, table: str, names: list[str]) -> Iterator[Values]:
    """The rows of a table in the order of their numbers, without unreadable ones."""
    selection = f"SELECT {', '.join(names)} FROM {table} WHERE rowid > ? ORDER BY rowid"
    last = after = 0
    while after < _LARGEST:
        try:
            for row in old.execute(selection, (after,)):
                last = after = row[0]
                yield row
            return
        except sqlite3.DatabaseError:
            if after == last:
                yield ()
            if not last and not after and not _has_root(old, table):
                return
        # The next number; after many unreadable ones in longer steps, because the last one is unknown.
        after += 1 + (after - last) // _SINGLE_STEPS


def _from_both_ends(old: sqlite3.Connection, names: list[str]) -> Iterator[Values]:
    """The conversations up to the first unreadable one, then from the last one downwards."""
    selection = f"SELECT {', '.join(names)} FROM conversations WHERE id > ? ORDER BY id"
    last = ""
    try:
        for row in old.execute(selection, (last,)):
            last = row[names.index("id")]
            yield row
        return
    except sqlite3.DatabaseError:
        yield ()
    with contextlib.suppress(sqlite3.DatabaseError):
        yield from old.execute(f"{selection} DESC", (last,))


def _inserted(
    connection: sqlite3.Connection, table: str, names: Sequence[str], row: Values
) -> bool:
    marks = ", ".join("?" * len(names))
    try:
        connection.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", row)
    except sqlite3.IntegrityError:
        return False
    return True


def _name_the_lost(old: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    """Add a conversation for messages whose conversation is lost."""
    names = [
        name
        for name in _columns(connection, "conversations")
        if name in _columns(old, "conversations")
    ]
    missing = connection.execute(
        "SELECT DISTINCT conversation FROM messages"
        " WHERE conversation NOT IN (SELECT id FROM conversations)"
    )
    for (key,) in missing.fetchall():
        with contextlib.suppress(sqlite3.DatabaseError):
            selection = f"SELECT {', '.join(names)} FROM conversations WHERE id = ?"
            for row in old.execute(selection, (key,)):
                _inserted(connection, "conversations", names, row)
        connection.execute(
            "INSERT INTO conversations (id, workspace, title, created_at, updated_at, messages)"
            " SELECT conversation, '', 'Restored', min(created_at), max(created_at), count(*)"
            " FROM messages WHERE conversation = ? GROUP BY conversation ON CONFLICT DO NOTHING",
            (key,),
        )


def _unreadable(data_dir: Path) -> dict[str, int]:
    """The number of messages with an empty or unreadable row, by conversation."""
    counts: dict[str, int] = {}
    with contextlib.closing(Database(data_dir)) as database:
        for key, body in database.query("SELECT conversation, body FROM messages"):
            try:
                load_message(body)
            except ValueError:
                counts[key] = counts.get(key, 0) + 1
    return counts
