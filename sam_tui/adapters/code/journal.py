"""The ``EditJournal`` port: the content before each edit, in one SQLite file of bounded size."""

import hashlib
import sqlite3
import stat
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sam_tui.adapters.code.database import SqliteFile
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.code import Drop, EditableFiles, EditStep, JournalEntry, Move, Put, Snapshot

FILE_NAME = "edits.db"
MOST_BYTES = 50_000_000
"""Bytes of replaced content, compressed, that the journal stores for all conversations together."""

_MOST_READ = 100_000_000
_SCHEMA = """
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT NOT NULL, call TEXT NOT NULL,
    operation TEXT NOT NULL, at REAL NOT NULL, size INTEGER NOT NULL
);
CREATE INDEX entries_of ON entries (conversation);
CREATE TABLE steps (
    entry INTEGER NOT NULL REFERENCES entries (id), position INTEGER NOT NULL,
    kind TEXT NOT NULL, real BLOB NOT NULL, root BLOB, target BLOB, target_root BLOB,
    before BLOB, mode INTEGER, after TEXT, PRIMARY KEY (entry, position)
) WITHOUT ROWID
"""


class SqliteJournal:
    """Keeps edits of all conversations; the oldest go when ``most_bytes`` are reached."""

    def __init__(
        self, data_dir: str | Path, files: EditableFiles, *, most_bytes: int = MOST_BYTES
    ) -> None:
        path = Path(data_dir).expanduser().absolute() / FILE_NAME
        self._database = SqliteFile(path, _SCHEMA, version=1)
        self._files = files
        self._most_bytes = most_bytes

    def record(
        self,
        conversation: ConversationId,
        call: CallId,
        operation: str,
        steps: Sequence[EditStep],
    ) -> int | None:
        """Store the content that an edit is about to replace; None if the edit could not be undone."""
        if not all(_undoable(step) for step in steps):
            return None
        rows = [_row(step) for step in steps]
        size = sum(len(row[5] or b"") for row in rows)
        if size > self._most_bytes:
            return None
        with self._database.transaction() as connection:
            inserted = connection.execute(
                "INSERT INTO entries (conversation, call, operation, at, size) VALUES (?,?,?,?,?)",
                (conversation, call, operation, time.time(), size),
            )
            entry = inserted.lastrowid
            connection.executemany(
                "INSERT INTO steps VALUES (?,?,?,?,?,?,?,?,?,?)",
                [(entry, position, *row) for position, row in enumerate(rows)],
            )
            self._prune(connection)
        return entry

    def discard(self, entry: int) -> None:
        """Delete an entry, because its edit was not made."""
        with self._database.transaction() as connection:
            _forget(connection, entry)

    def entries(self, conversation: ConversationId) -> Sequence[JournalEntry]:
        """The edits that can be undone, newest first."""
        rows = self._database.query(
            "SELECT id, call, operation, at FROM entries WHERE conversation = ? ORDER BY id DESC",
            conversation,
        )
        return [
            JournalEntry(id_, CallId(call), operation, at, self._paths(id_))
            for id_, call, operation, at in rows
        ]

    def undo(self, conversation: ConversationId, entry: int) -> JournalEntry:
        """Restore the content that an edit replaced, all or none, and delete the entry."""
        entry_found = next((e for e in self.entries(conversation) if e.id == entry), None)
        if entry_found is None:
            raise ToolError(
                f"There is no edit {entry} to undo in this conversation.",
                hint="It was undone already, or newer ones replaced it.",
            )
        rows = self._database.query(
            "SELECT kind, real, root, target, target_root, before, mode, after FROM steps"
            " WHERE entry = ? ORDER BY position DESC",
            entry,
        )
        self._files.apply([self._inverse(row) for row in rows])
        self.discard(entry)
        return entry_found

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _inverse(self, row: Sequence[Any]) -> EditStep:
        """The step that undoes a stored one. Raises ``ToolError`` if its file has changed since."""
        kind, real, root, target, target_root, before, mode, after = row
        where = _location(real, root)
        content = zlib.decompress(before) if before is not None else b""
        if kind == "move":
            return Move(_location(target, target_root), where)
        if kind == "drop":
            return Put(where, content, None, mode=mode)
        current = self._as_left(where, after)
        if before is None:
            return Drop(where, current)
        return Put(where, content, current, mode=mode)

    def _as_left(self, where: Location, after: str) -> Snapshot:
        conflict = ToolError(
            f"{where.display_path} changed after the edit; undoing it would lose the later change.",
            hint="Undo later edits of it first, or change it by hand.",
        )
        if self._files.stat(where) is None:
            raise conflict
        current = self._files.snapshot(where, limit=_MOST_READ)
        if not current.whole or _digest(current.data) != after:
            raise conflict
        return current

    def _paths(self, entry: int) -> tuple[str, ...]:
        rows = self._database.query(
            "SELECT real, root, target, target_root FROM steps WHERE entry = ? ORDER BY position",
            entry,
        )
        paths: dict[str, None] = {}
        for real, root, target, target_root in rows:
            paths[_location(real, root).display_path] = None
            if target is not None:
                paths[_location(target, target_root).display_path] = None
        return tuple(paths)

    def _prune(self, connection: sqlite3.Connection) -> None:
        sizes = connection.execute("SELECT id, size FROM entries ORDER BY id DESC").fetchall()
        total = 0
        for entry, size in sizes:
            total += size
            if total > self._most_bytes:
                _forget(connection, entry)


def _forget(connection: sqlite3.Connection, entry: int) -> None:
    connection.execute("DELETE FROM steps WHERE entry = ?", (entry,))
    connection.execute("DELETE FROM entries WHERE id = ?", (entry,))


def _undoable(step: EditStep) -> bool:
    match step:
        case Put(before=before, link=link):
            return not link and (before is None or before.whole)
        case Drop(before=before):
            return before is not None and before.whole and not stat.S_ISLNK(before.mode)
        case Move():
            return True


def _row(step: EditStep) -> tuple[Any, ...]:
    match step:
        case Move(source=source, target=target):
            return ("move", *_stored(source), *_stored(target), None, None, None)
        case Put(where=where, data=data, before=before):
            return ("put", *_stored(where), None, None, *_kept(before), _digest(data))
        case Drop(where=where, before=before):
            return ("drop", *_stored(where), None, None, *_kept(before), None)


def _kept(before: Snapshot | None) -> tuple[bytes | None, int | None]:
    if before is None:
        return None, None
    return zlib.compress(before.data, 1), stat.S_IMODE(before.mode)


def _stored(where: Location) -> tuple[bytes, bytes | None]:
    """A location as bytes, because names need not be UTF-8."""
    root = where.root.encode("utf-8", "surrogateescape") if where.root is not None else None
    return where.real.encode("utf-8", "surrogateescape"), root


def _location(real: bytes, root: bytes | None) -> Location:
    path = real.decode("utf-8", "surrogateescape")
    return Location(path, path, root.decode("utf-8", "surrogateescape") if root else None)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
