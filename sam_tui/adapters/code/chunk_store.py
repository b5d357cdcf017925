"""The tables of one index: files, their passages, and vectors; a change of a file replaces all its rows."""

import os
import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from sam_tui.adapters.code.chunks import SourceChunk
from sam_tui.adapters.code.database import SqliteFile
from sam_tui.adapters.code.tokens import indexed, match_expression
from sam_tui.core.ports.code import FileFilter, IndexedFile

_VERSION = 1
# Contentless: the index holds the words only once. The passage's text is stored compressed, and
# tells FTS5 which words to remove again.
# tells FTS5 which words to take out again.
_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, name TEXT NOT NULL, extension TEXT NOT NULL,
    size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    read_size INTEGER NOT NULL DEFAULT -1, read_mtime INTEGER NOT NULL DEFAULT -1
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES files (id),
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    symbols TEXT NOT NULL, text BLOB NOT NULL, digest BLOB NOT NULL
);
CREATE INDEX chunks_of ON chunks (file);
CREATE VIRTUAL TABLE words USING fts5 (
    path, symbols, body, content='', tokenize="porter unicode61 remove_diacritics 2 tokenchars '_'"
);
CREATE TABLE vectors (
    model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, digest)
) WITHOUT ROWID
"""
_WEIGHTS = "2.0, 4.0, 1.0"


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as a scan found it: bytes, and nanoseconds since the epoch."""

    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A matching passage without its text. ``score``: the higher the better."""

    chunk: int
    path: str
    symbols: tuple[str, ...]
    digest: bytes
    score: float


class IndexFile:
    """One folder's index on disk."""

    def __init__(self, path: Path) -> None:
        self._database = SqliteFile(path, _SCHEMA, version=_VERSION, disposable=True)
        self._known: dict[str, tuple[int, int, int]] | None = None
        self._known_version = -1

    def forget(self) -> None:
        """Delete everything."""
        self._known = None
        self._database.forget()

    def close(self) -> None:
        """Close the file."""
        self._known = None
        self._database.close()

    def reconcile(self, seen: Mapping[str, FileState], *, whole: bool = True) -> int:
        """Store the files of a scan; returns how many files vanished.

        After a scan that is not ``whole`` no file counts as vanished.
        """
        stored = self._files()
        removed = [stored[path][0] for path in stored.keys() - seen.keys()] if whole else []
        new: list[tuple[object, ...]] = []
        changed: list[tuple[int, int, int]] = []
        for path, state in seen.items():
            old = stored.get(path)
            if old is None:
                new.append((os.fsencode(path), *_name(path), state.size, state.mtime))
            elif old[1:] != (state.size, state.mtime):
                changed.append((state.size, state.mtime, old[0]))
        if not (removed or new or changed):
            return 0
        self._known = None
        with self._database.transaction() as connection:
            for file in removed:
                _clear(connection, file)
                connection.execute("DELETE FROM files WHERE id = ?", (file,))
            connection.executemany(
                "INSERT OR IGNORE INTO files (path, name, extension, size, mtime)"
                " VALUES (?,?,?,?,?)",
                new,
            )
            connection.executemany("UPDATE files SET size = ?, mtime = ? WHERE id = ?", changed)
        return len(removed)

    def stale(self) -> list[tuple[int, str, FileState]]:
        """Files whose indexed text is out of date: id, path, and state at the scan."""
        rows = self._database.query(
            "SELECT id, path, size, mtime FROM files"
            " WHERE read_size <> size OR read_mtime <> mtime ORDER BY id"
        )
        return [(id_, os.fsdecode(path), FileState(size, mtime)) for id_, path, size, mtime in rows]

    def replace(
        self, files: Iterable[tuple[int, str, FileState, Sequence[SourceChunk]]], *, settled: int
    ) -> None:
        """Replace the passages of files. A file changed after ``settled`` is read again next time."""
        with self._database.transaction() as connection:
            for file, path, state, chunks in files:
                row = connection.execute(
                    "SELECT read_size, read_mtime FROM files WHERE id = ? AND path = ?",
                    (file, os.fsencode(path)),
                ).fetchone()
                if row is None or row == (state.size, state.mtime):
                    continue  # another process was faster
                _clear(connection, file)
                _fill(connection, file, path, chunks)
                # Two writes within one tick of the file system's clock look like one.
                mtime = state.mtime if state.mtime < settled else -1
                connection.execute(
                    "UPDATE files SET read_size = ?, read_mtime = ? WHERE id = ?",
                    (state.size, mtime, file),
                )

    def counts(self) -> tuple[int, int]:
        """Return the number of files and of passages."""
        ((files,),) = self._database.query("SELECT count(*) FROM files")
        ((chunks,),) = self._database.query("SELECT count(*) FROM chunks")
        return files, chunks

    def search(
        self, words: Sequence[str], *, most: int, allowed: set[str] | None
    ) -> list[PassageHit]:
        """Passages with any of the words, best first by BM25; names defined there count most."""
        ids = self._allowed(allowed)
        where = "" if ids is None else " AND c.file IN (SELECT value FROM json_each(?))"
        values = (match_expression(words), *(() if ids is None else (ids,)), most)
        rows = self._database.query(
            f"SELECT c.id, f.path, c.symbols, c.digest, bm25(words, {_WEIGHTS}) AS rank"
            " FROM words JOIN chunks c ON c.id = words.rowid JOIN files f ON f.id = c.file"
            f" WHERE words MATCH ?{where} ORDER BY rank LIMIT ?",
            *values,
        )
        return [
            PassageHit(
                id_, os.fsdecode(path), tuple(symbols.split("\n")) if symbols else (), digest, -rank
            )
            for id_, path, symbols, digest, rank in rows
        ]

    def texts(self, chunks: Sequence[int]) -> dict[int, tuple[int, int, str]]:
        """First line, last line and text of passages."""
        marks = ",".join("?" * len(chunks))
        rows = self._database.query(
            f"SELECT id, first, last, text FROM chunks WHERE id IN ({marks})", *chunks
        )
        return {id_: (first, last, _unpacked(text)) for id_, first, last, text in rows}

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Sequence[float]]:
        """The known vectors of passages."""
        marks = ",".join("?" * len(digests))
        rows = self._database.query(
            f"SELECT digest, vector FROM vectors WHERE model = ? AND digest IN ({marks})",
            model,
            *digests,
        )
        return {digest: array("f", vector).tolist() for digest, vector in rows}

    def keep_vectors(self, model: str, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Store vectors of passages, by the digest of their text."""
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?,?,?)",
                [
                    (model, digest, array("f", vector).tobytes())
                    for digest, vector in vectors.items()
                ],
            )

    def files(self, filter_: FileFilter, *, limit: int) -> tuple[list[IndexedFile], int]:
        """Files by path, and how many fit in all."""
        tests: list[str] = []
        values: list[object] = []
        for test, value, active in (
            (
                "instr(name, ?) > 0",
                filter_.name.casefold(),
                filter_.name and "/" not in filter_.name,
            ),
            ("instr(CAST(path AS TEXT), ?) > 0", filter_.name, "/" in filter_.name),
            ("extension = ?", filter_.extension.lstrip(".").casefold(), filter_.extension),
            ("size >= ?", filter_.smallest, filter_.smallest),
            ("size <= ?", filter_.largest, filter_.largest),
            ("mtime >= ?", int(filter_.after * 1e9), filter_.after),
            ("mtime < ?", int(filter_.before * 1e9), filter_.before),
        ):
            if active:
                tests.append(test)
                values.append(value)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        ((total,),) = self._database.query(f"SELECT count(*) FROM files{where}", *values)
        rows = self._database.query(
            f"SELECT path, size, mtime FROM files{where} ORDER BY path LIMIT ?", *values, limit
        )
        return [IndexedFile(os.fsdecode(p), size, mtime / 1e9) for p, size, mtime in rows], total

    def _files(self) -> dict[str, tuple[int, int, int]]:
        """Id, size and date of every file, read again only when another process changed them."""
        ((version,),) = self._database.query("PRAGMA data_version")
        if self._known is None or self._known_version != version:
            rows = self._database.query("SELECT id, path, size, mtime FROM files")
            self._known = {os.fsdecode(path): (id_, size, mtime) for id_, path, size, mtime in rows}
            self._known_version = version
        return self._known

    def _allowed(self, allowed: set[str] | None) -> str | None:
        """The ids of files as a JSON list; None for all."""
        if allowed is None:
            return None
        return str([file[0] for path, file in self._files().items() if path in allowed])


def _name(path: str) -> tuple[str, str]:
    """The last part of a path for searches, and its extension; both case-folded."""
    name = os.fsencode(path.rpartition("/")[2]).decode("utf-8", "replace").casefold()
    return name, name.rpartition(".")[2] if "." in name.lstrip(".") else ""


def _fill(
    connection: sqlite3.Connection, file: int, path: str, chunks: Sequence[SourceChunk]
) -> None:
    spread = indexed(os.fsencode(path).decode("utf-8", "replace"))
    for chunk in chunks:
        symbols = "\n".join(chunk.symbols)
        raw = chunk.text.encode("utf-8", "replace")
        inserted = connection.execute(
            "INSERT INTO chunks (file, first, last, symbols, text, digest) VALUES (?,?,?,?,?,?)",
            (
                file,
                chunk.first,
                chunk.last,
                symbols,
                zlib.compress(raw, 1),
                blake2b(raw, digest_size=16).digest(),
            ),
        )
        connection.execute(
            "INSERT INTO words (rowid, path, symbols, body) VALUES (?,?,?,?)",
            (inserted.lastrowid, spread, indexed(symbols), indexed(raw.decode())),
        )


def _clear(connection: sqlite3.Connection, file: int) -> None:
    """Remove a file's passages from the index, with the words that were added."""
    rows = connection.execute(
        "SELECT c.id, f.path, c.symbols, c.text FROM chunks c JOIN files f ON f.id = c.file"
        " WHERE c.file = ?",
        (file,),
    ).fetchall()
    connection.executemany(
        "INSERT INTO words (words, rowid, path, symbols, body) VALUES ('delete',?,?,?,?)",
        [
            (
                id_,
                indexed(path.decode("utf-8", "replace")),
                indexed(symbols),
                indexed(_unpacked(text)),
            )
            for id_, path, symbols, text in rows
        ],
    )
    connection.execute("DELETE FROM chunks WHERE file = ?", (file,))


def _unpacked(text: bytes) -> str:
    return zlib.decompress(text).decode("utf-8")
