"""The ``CodeIndex`` port: a file listing by ripgrep, a comparison with the last one, and SQLite's BM25."""

import asyncio
import hashlib
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from operator import mul
from pathlib import Path

from sam_tui.adapters.code.chunk_store import FileState, IndexFile, PassageHit
from sam_tui.adapters.code.chunks import SourceChunk, cut
from sam_tui.adapters.code.database import is_damaged
from sam_tui.adapters.code.tokens import sought
from sam_tui.core.accesses import Location
from sam_tui.core.errors import SamError, StorageError, ToolError
from sam_tui.core.ports.code import FileFilter, IndexedFile, IndexState, Passage
from sam_tui.core.ports.files import FileMatches, Files, Search
from sam_tui.core.ports.model import Embedder

_DAMPING = 60
"""The constant of reciprocal rank fusion: the larger it is, the less the first ranks stand out."""


def likeness(left: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 0 where one is null or they are of two models."""
    if len(left) != len(other):
        return 0.0
    norm = math.sqrt(_dot(left, left) * _dot(other, other))
    return _dot(left, other) / norm if norm else 0.0


def fused(ranked: Sequence[PassageHit], near: Mapping[int, float]) -> list[PassageHit]:
    """Passages by the sum of their reciprocal ranks in both orders."""
    by_vector = sorted(near, key=lambda chunk: -near[chunk])
    ranks = {chunk: rank for rank, chunk in enumerate(by_vector, 1)}
    scored = [
        replace(
            item,
            score=1 / (_DAMPING + rank)
            + (1 / (_DAMPING + ranks[item.chunk]) if item.chunk in ranks else 0.0),
        )
        for rank, item in enumerate(ranked, 1)
    ]
    return sorted(scored, key=lambda item: -item.score)


def _dot(left: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, left, other))


FOLDER = "index"
_MOST_FILES = 200_000
_MOST_FILE_BYTES = 1_000_000
_BATCH_FILES, _BATCH_BYTES = 100, 2_000_000
_POOL = 200
_EMBEDDED_CHARACTERS = 4000
_EMBEDDED_AT_ONCE = 64
_TICK = 100_000_000
"""Nanoseconds within which a file system may give two writes the same modification time."""

_DERIVED = (".lock", ".min.js", ".min.css", ".map", ".svg", "package-lock.json", "pnpm-lock.yaml")
_NAME_BOOST = 1.5
_MOST_OPEN = 4

_Stale = tuple[int, str, FileState]
"""A file that has to be read again: its id, its path, and its state in the last scan."""


class SqliteCodeIndex:
    """Indexes below ``data_dir``, one file for each folder. Reads through ``files`` alone.

    ``seconds`` bounds the reading of one update; the rest waits for the next.
    """

    def __init__(
        self,
        data_dir: str | Path,
        files: Files,
        search: Search,
        *,
        embedder: Embedder | None = None,
        seconds: float = 60.0,
    ) -> None:
        self._folder = Path(data_dir).expanduser().absolute() / FOLDER
        self._files = files
        self._search = search
        self._embedder = embedder
        self._seconds = seconds
        self._index_files: dict[str, IndexFile] = {}
        self._updating: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def scan(self, where: Location, *, fresh: bool = False) -> IndexState:
        """Update names, sizes and dates; ``fresh`` deletes everything first."""
        return (await self._scanned(where, fresh=fresh))[0]

    async def _scanned(self, where: Location, *, fresh: bool) -> tuple[IndexState, list[_Stale]]:
        """The index after a scan, and the files to read."""
        listing = await self._search.files(where, "**", limit=_MOST_FILES, offset=0)
        with _usable():
            return await asyncio.to_thread(
                _reconciled, self._index_file(where), where, listing, fresh=fresh
            )

    async def update(self, where: Location, progress: Callable[[str], None]) -> IndexState:
        """Scan, then read changed files, a batch at a time."""
        async with self._updating[where.real]:
            return await self._updated(where, progress)

    async def _updated(self, where: Location, progress: Callable[[str], None]) -> IndexState:
        state, stale = await self._scanned(where, fresh=False)
        if not stale:
            return state
        index_file = self._index_file(where)
        with _usable():
            deadline = time.monotonic() + self._seconds
            done = 0
            for batch in _batches(stale):
                if time.monotonic() > deadline:
                    break
                if done or len(stale) > _BATCH_FILES:
                    progress(f"Indexing: {done} of {len(stale)} files\n")
                await asyncio.to_thread(self._take, index_file, where, batch)
                done += len(batch)
            files, passages = await asyncio.to_thread(index_file.counts)
        return IndexState(files, passages, done, state.removed, len(stale) - done, state.cut)

    async def passages(
        self, where: Location, query: str, *, paths: Collection[str] | None, limit: int
    ) -> Sequence[Passage]:
        """The best passages, best first; only of ``paths`` where they are given."""
        words = sought(query)
        if not words:
            raise ToolError("The query holds no word to search for.", hint="Use a few words.")
        index_file = self._index_file(where)
        allowed = None if paths is None else set(paths)
        with _usable():
            hits = await asyncio.to_thread(
                index_file.search, words, most=max(_POOL, limit), allowed=allowed
            )
            ranked = _boosted(hits, words)
            if self._embedder is not None and len(ranked) > 1:
                ranked = await self._fused(self._embedder, index_file, query, ranked)
            best = ranked[:limit]
            texts = await asyncio.to_thread(index_file.texts, [item.chunk for item in best])
        return [
            Passage(item.path, *texts[item.chunk], item.symbols, item.score)
            for item in best
            if item.chunk in texts
        ]

    async def files(
        self, where: Location, file_filter: FileFilter, *, limit: int
    ) -> tuple[Sequence[IndexedFile], int]:
        """Files by path, and how many fit in all."""
        with _usable():
            return await asyncio.to_thread(self._index_file(where).files, file_filter, limit=limit)

    def close(self) -> None:
        """Close all index files."""
        while self._index_files:
            self._index_files.popitem()[1].close()

    def _index_file(self, where: Location) -> IndexFile:
        index_file = self._index_files.pop(where.real, None)
        if index_file is None:
            digest = hashlib.sha256(os.fsencode(where.real)).hexdigest()[:32]
            index_file = IndexFile(self._folder / f"{digest}.db")
        self._index_files[where.real] = index_file
        while len(self._index_files) > _MOST_OPEN:
            self._index_files.pop(next(iter(self._index_files))).close()
        return index_file

    def _take(self, index_file: IndexFile, where: Location, batch: Sequence[_Stale]) -> None:
        settled = time.time_ns() - _TICK
        index_file.replace(
            [(file, path, state, self._chunks(where, path, state)) for file, path, state in batch],
            settled=settled,
        )

    def _chunks(self, where: Location, path: str, state: FileState) -> list[SourceChunk]:
        """The passages of a file; none where it is too large, binary, generated or unreadable."""
        if state.size > _MOST_FILE_BYTES or path.endswith(_DERIVED):
            return []
        location = Location(path, f"{where.real.rstrip('/')}/{path}", where.root)
        try:
            data = self._files.read(location, limit=_MOST_FILE_BYTES)
        except ToolError:
            return []
        if b"\0" in data[:8192]:
            return []
        headed = path.endswith((".md", ".markdown", ".mdx"))
        return list(cut(data.decode("utf-8", "replace"), headed=headed))

    async def _fused(
        self, embedder: Embedder, index_file: IndexFile, query: str, ranked: list[PassageHit]
    ) -> list[PassageHit]:
        """Both orders as one; the words' alone when no vectors can be had."""
        pool, others = ranked[:_POOL], ranked[_POOL:]
        digests = list(dict.fromkeys(item.digest for item in pool))
        vectors = await asyncio.to_thread(index_file.vectors, embedder.name, digests)
        try:
            await self._embed(embedder, index_file, pool, vectors)
            (query_vector,) = await embedder.embed([query])
        except SamError:
            return ranked
        near = {
            item.chunk: likeness(query_vector, vectors[item.digest])
            for item in pool
            if item.digest in vectors
        }
        return [*fused(pool, near), *others]

    async def _embed(
        self,
        embedder: Embedder,
        index_file: IndexFile,
        pool: Sequence[PassageHit],
        embedded: dict[bytes, Sequence[float]],
    ) -> None:
        """Add the missing vectors to ``embedded`` and to the index."""
        missing = {item.digest: item.chunk for item in pool if item.digest not in embedded}
        items = list(missing.items())
        for begin in range(0, len(items), _EMBEDDED_AT_ONCE):
            part = items[begin : begin + _EMBEDDED_AT_ONCE]
            texts = await asyncio.to_thread(index_file.texts, [chunk for _, chunk in part])
            part = [(digest, chunk) for digest, chunk in part if chunk in texts]
            vectors = await embedder.embed([
                texts[chunk][2][:_EMBEDDED_CHARACTERS] for _, chunk in part
            ])
            fresh = {digest: vector for (digest, _), vector in zip(part, vectors, strict=True)}
            await asyncio.to_thread(index_file.keep_vectors, embedder.name, fresh)
            embedded |= fresh


def _reconciled(
    index_file: IndexFile, where: Location, listing: FileMatches, *, fresh: bool
) -> tuple[IndexState, list[_Stale]]:
    if fresh:
        index_file.forget()
    removed = index_file.reconcile(_seen(where, listing.paths), whole=not listing.cut)
    files, passages = index_file.counts()
    stale = index_file.stale()
    return IndexState(files, passages, 0, removed, len(stale), listing.cut), stale


def _seen(where: Location, paths: Sequence[str]) -> dict[str, FileState]:
    """Size and date of each listed file, without following links."""
    seen: dict[str, FileState] = {}
    try:
        folder = os.open(where.real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ToolError(f"{where.display_path} cannot be indexed: {error.strerror}.") from error
    try:
        for path in paths:
            with suppress(OSError):
                status = os.stat(path, dir_fd=folder, follow_symlinks=False)
                # SQLite holds 64 bits: nanoseconds from the year 1677 to 2262.
                date = max(-(1 << 63), min(status.st_mtime_ns, (1 << 63) - 1))
                seen[path] = FileState(status.st_size, date)
    finally:
        os.close(folder)
    return seen


def _batches(
    stale: Sequence[_Stale],
) -> Generator[list[_Stale], None, None]:
    batch: list[_Stale] = []
    size = 0
    for item in stale:
        batch.append(item)
        size += min(item[2].size, _MOST_FILE_BYTES)
        if len(batch) == _BATCH_FILES or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _boosted(hits: Sequence[PassageHit], words: Sequence[str]) -> list[PassageHit]:
    """The hits by score, raised for passages that define a word of the query."""
    query_words = set(words)
    ranked = [
        PassageHit(
            item.chunk,
            item.path,
            item.symbols,
            item.digest,
            item.score * (_NAME_BOOST if query_words & {s.lower() for s in item.symbols} else 1.0),
        )
        for item in hits
    ]
    return sorted(ranked, key=lambda item: -item.score)


@contextmanager
def _usable() -> Generator[None, None, None]:
    """An index that cannot be used is a failure of the call, not of the program."""
    try:
        yield
    except StorageError as error:
        raise ToolError(f"The index cannot be used: {error}", hint=error.hint) from error


def forget_damaged(data_dir: str) -> list[str]:
    """Remove the indexes that cannot be read, which are made anew when they are used; their paths."""
    files = sorted((Path(data_dir) / FOLDER).glob("*.db"))
    damaged = [path for path in files if is_damaged(path)]
    for path in damaged:
        IndexFile(path).forget()
    return [str(path) for path in damaged]
