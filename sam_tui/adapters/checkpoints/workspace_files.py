"""From the workspace to a git tree: reads only files that changed since the last snapshot.

git compares names, sizes and dates with its index and reports new, changed and removed files; this module
decides which of them to store. Ignored files are stored, too, unless a whole ignored folder is large.

Few files are read and stored here, because starting git takes longer than that: the index stays, and git
reports them again. Many are left to git, which takes them into its index. A small workspace has no index.
"""

import json
import os
import stat
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import cast

from sam_tui.adapters.checkpoints.git import SECONDS, GitFailed, GitStore, GitTooSlow
from sam_tui.adapters.checkpoints.trees import FileEntries, GitIndex, edited_tree
from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import CheckpointError
from sam_tui.core.ports.code import EditableFiles
from sam_tui.core.text.plain import printable

_LOOK = ("ls-files", "-z", "--modified", "--deleted", "--others", "-X")
_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
_IGNORING = b".gitignore"
_FEW = 200
"""The most files that are stored here, and new ones not checked for lying in a large ignored folder."""
_LITTLE = 10_000_000
"""The most bytes that are read and stored here for one snapshot."""
_SECONDS_FOR_IGNORED = 5.0
"""The most seconds for git to find ignored folders if there are too many files."""
_REFUSED_SECONDS = 300.0
"""Seconds for which a workspace that cannot be stored is not tried again."""
_TRIES = 3
"""The most attempts at a snapshot while files vanish as git reads them."""
_USUAL = (0o644, 0o664, 0o755, 0o775)
"""Permission bits that need no record: git stores only whether a file is executable."""


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The limits of the files stored of a workspace, in bytes; ``ignored`` is for one ignored folder."""

    file: int = 50_000_000
    files: int = 100_000
    ignored_files: int = 2_000
    ignored: int = 50_000_000


@dataclass(frozen=True, slots=True)
class WorkspaceTree:
    """A git tree, the permission bits that it does not contain, and omitted files, in words."""

    tree: str
    modes: dict[str, int]
    omitted: tuple[str, ...]


class _TooMany(CheckpointError):
    """There are more files than can be stored."""

    def __init__(self, limit: int, *, ignoring: bool = False) -> None:
        self.ignoring = ignoring
        """Whether the workspace has rules about ignored files."""
        super().__init__(
            f"The workspace has over {limit:,} files: no checkpoints are made.",
            hint="Start in a smaller folder, or list generated files in .gitignore.",
        )


class WorkspaceFiles:
    """Takes snapshots of one workspace. Call it with the store locked."""

    def __init__(
        self,
        store: GitStore,
        files: EditableFiles,
        workspace: str,
        limits: SizeLimits,
        *,
        data: str,
    ) -> None:
        self._store = store
        self._root = os.fsencode(workspace)
        self._limits = limits
        self._excluded = store.folder / "excluded"
        self._modes_file = store.folder / "modes"
        inside = os.path.relpath(data, workspace)
        self._data = () if inside.startswith("..") else (os.fsencode(inside) + b"/",)
        self._omitted: dict[bytes, str] = {}
        """Paths that are not stored, with the reasons; checked again in every process."""
        self._modes: dict[str, int] | None = None
        self._index = GitIndex(store, files, workspace)
        self._entries = FileEntries(store, files, workspace)
        self._reported: dict[bytes, None] = {}
        """The files that were reported last."""
        self._refusal: tuple[float, CheckpointError] | None = None
        """The time until which nothing of this folder is stored, and the reason."""

    def snapshot(self, *, anew: bool = False) -> WorkspaceTree:
        """Take a snapshot of the present files. Raises ``CheckpointError``.

        After one that found too many files, or took too long, later calls raise at once for a while,
        unless ``anew`` is set, as when a person asks.
        """
        if not anew and self._refusal is not None and expiry_seconds() < self._refusal[0]:
            raise self._refusal[1]
        try:
            return self._tried()
        except (_TooMany, GitTooSlow) as error:
            self._refusal = expiry_seconds() + _REFUSED_SECONDS, error
            raise

    def _tried(self) -> WorkspaceTree:
        for _ in range(_TRIES - 1):
            try:
                return self._snapshot()
            except GitFailed:
                continue
        self._index.forget()  # should it be damaged
        return self._snapshot()

    def _snapshot(self) -> WorkspaceTree:
        if self._modes is None:
            self._modes = self._stored_modes()
        self._index.recover()
        self._reconsider()
        began = time.time()
        try:
            paths = self._looked()
        except _TooMany as error:
            if not error.ignoring or not self._omits_more():
                raise
            self._write_excluded()
            paths = self._looked()
        tree = self._stored(paths, began)
        omitted = tuple(f"{printable(os.fsdecode(p))}: {why}" for p, why in self._omitted.items())
        return WorkspaceTree(tree, dict(self._modes), omitted)

    def _looked(self) -> list[bytes]:
        """The paths that git reports as new, changed or removed; all of few files without an index.

        git reports none before it has read all folders. Where that takes long, files are counted here, up
        to the limit.
        """
        if not self._index.exists():
            most = min(_FEW, self._limits.files)
            paths = list(islice(self._all_paths(), most + 1))
            if len(paths) <= most:
                self._modes = {}
                return paths
        names = self._store.run(*_LOOK, str(self._excluded), when_slow=self._count).split(b"\0")
        return [path for path in dict.fromkeys(names) if path]

    def _count(self) -> None:
        """Raise ``_TooMany`` if there are more names than git knows and can ever be stored."""
        most = self._limits.files + self._index.count()
        ignoring = os.path.lexists(os.path.join(self._root, _IGNORING))
        for number, path in enumerate(self._all_paths()):
            ignoring = ignoring or os.path.basename(path) == _IGNORING
            if number == most:
                raise _TooMany(self._limits.files, ignoring=ignoring)

    def _all_paths(self) -> Iterator[bytes]:
        skipped = {os.path.join(self._root, path) for path in (*self._data, *self._omitted)}
        start = len(os.path.join(self._root, b""))
        return (entry.path[start:] for entry in _files_below(self._root, skipped))

    def _stored(self, paths: Sequence[bytes], began: float) -> str:
        """Store the files that were reported; returns the tree of all files."""
        # git reports no file that is as in its index again, or that it does not have, and was removed.
        reported, before = dict.fromkeys(self._expanded(paths)), self._reported
        files, forgotten = self._chosen(reported | before)
        tree = self._stored_here(files, forgotten, began)
        if tree is None:
            self._reported = {}
            self._forget_modes(forgotten)
            tree = self._taken(files, forgotten)
        else:
            self._reported = reported
            # Others may come back as they were; then git does not report them.
            self._forget_modes(path for path in forgotten if path not in reported)
        self._store_modes()
        return tree or self._store.write("tree", b"")

    def _expanded(self, paths: Sequence[bytes]) -> list[bytes]:
        """The files that were reported, and those of nested repositories, without large ignored folders."""
        named = [path for path in paths if not path.endswith(b"/")]
        for folder in paths:
            if folder.endswith(b"/"):
                # A repository of its own: git would keep no more than its name.
                named += self._below(folder.rstrip(b"/"))
        if len(named) > _FEW:
            for folder in self._omit_large_folders():
                named = [path for path in named if not path.startswith(folder)]
        return named

    def _stored_here(
        self, files: dict[bytes, os.stat_result], forgotten: Sequence[bytes], began: float
    ) -> str | None:
        """The tree of the index with these files instead; None if they have to be taken into the index."""
        earliest = min((status.st_ctime for status in files.values()), default=began)
        if len(files) + len(forgotten) > _FEW or (files and not self._index.precedes(earliest)):
            return None
        entries = self._entries.store(files, began, _LITTLE)
        if entries is None:
            return None
        self._omit_changed(path for path, entry in entries.items() if entry is None)
        tree = self._index.tree()
        if self._omitted.keys().isdisjoint(forgotten):
            self._index.settle(min(began, earliest))
        changes = {**dict.fromkeys(forgotten), **entries}
        return edited_tree(self._store, tree, changes) if changes else tree

    def _taken(self, files: Collection[bytes], forgotten: Collection[bytes]) -> str:
        """Have git take files into its index, and return the tree of that."""
        self._entries.clear()
        self._omit_changed(self._index.take(files, forgotten))
        return self._index.tree()

    def _omit_changed(self, paths: Iterable[bytes]) -> None:
        """Leave out files that could not be read as they were seen, unless they are gone."""
        there = (path for path in paths if os.path.lexists(os.path.join(self._root, path)))
        self._omitted.update(dict.fromkeys(there, "it changed while it was read"))

    def _below(self, folder: bytes) -> list[bytes]:
        """Return the files of a nested repository, without git's own."""
        files = islice(_files_below(os.path.join(self._root, folder)), self._limits.files + 1)
        return [os.path.relpath(entry.path, self._root) for entry in files]

    def _chosen(self, paths: Iterable[bytes]) -> tuple[dict[bytes, os.stat_result], list[bytes]]:
        """The files to store, and the paths of those that are not stored, or not any more."""
        chosen: dict[bytes, os.stat_result] = {}
        forgotten: list[bytes] = []
        reachable: dict[bytes, bool] = {}
        assert self._modes is not None
        for path in paths:
            above = os.path.dirname(path)
            if above not in reachable:
                full = os.path.join(self._root, above) if above else self._root
                reachable[above] = os.path.realpath(full) == full
            if any(path.startswith(folder) for folder in self._data):
                continue
            if b".git" in path.lower().split(b"/"):
                self._omitted[path] = "a name that git reserves"
                continue
            try:
                status = os.lstat(os.path.join(self._root, path)) if reachable[above] else None
            except OSError:
                status = None
            if status is None or stat.S_ISDIR(status.st_mode):
                forgotten.append(path)
            elif why := self._refused(path, status):
                self._omitted[path] = why
                forgotten.append(path)
            else:
                chosen[path] = status
                if len(chosen) > self._limits.files:
                    raise _TooMany(self._limits.files)
                self._note_mode(os.fsdecode(path), status.st_mode)
        return chosen, forgotten

    def _forget_modes(self, paths: Iterable[bytes]) -> None:
        assert self._modes is not None
        for path in paths:
            self._modes.pop(os.fsdecode(path), None)

    def _note_mode(self, path: str, mode: int) -> None:
        assert self._modes is not None
        if stat.S_ISREG(mode) and mode & 0o777 not in _USUAL:
            self._modes[path] = mode & 0o777
        else:
            self._modes.pop(path, None)

    def _refused(self, path: bytes, status: os.stat_result) -> str:
        """Return why a file is not stored; empty if it is."""
        if stat.S_ISLNK(status.st_mode):
            return ""
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if status.st_size > self._limits.file:
            return f"larger than {self._limits.file // 1_000_000} MB"
        if not os.access(os.path.join(self._root, path), os.R_OK):
            return "it cannot be read"
        return ""

    def _omits_more(self) -> bool:
        """Leave out further large ignored folders, if they are found soon; whether there were any."""
        try:
            return bool(self._omit_large_folders(seconds=_SECONDS_FOR_IGNORED))
        except CheckpointError:
            return False

    def _omit_large_folders(self, *, seconds: float = SECONDS) -> list[bytes]:
        """Leave out ignored folders that are too large, and name them."""
        large = [
            path
            for path in self._store.run(*_IGNORED, seconds=seconds).split(b"\0")
            if path.endswith(b"/") and path not in self._omitted and self._is_large(path)
        ]
        self._omitted.update(dict.fromkeys(large, "an ignored folder that is too large"))
        return large

    def _is_large(self, folder: bytes) -> bool:
        """Whether an ignored folder has more than the limit for one."""
        size = 0
        for files, entry in enumerate(_files_below(os.path.join(self._root, folder)), 1):
            with suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_size
            if files > self._limits.ignored_files or size > self._limits.ignored:
                return True
        return False

    def _reconsider(self) -> None:
        """Write the list of paths that git skips, without files that are small enough by now."""
        for path in [p for p in self._omitted if not p.endswith(b"/")]:
            try:
                status = os.lstat(os.path.join(self._root, path))
            except OSError:
                status = None
            if status is None or stat.S_ISDIR(status.st_mode) or not self._refused(path, status):
                del self._omitted[path]
        self._write_excluded()

    def _write_excluded(self) -> None:
        lines = [b"/" + _escaped(path) for path in (*self._data, *self._omitted)]
        self._store.keep("excluded", b"".join(line + b"\n" for line in lines))

    # ---- permission bits that git does not keep

    def _stored_modes(self) -> dict[str, int]:
        try:
            stored = json.loads(self._modes_file.read_bytes())
        except (OSError, ValueError):
            return {}
        return cast("dict[str, int]", stored) if isinstance(stored, dict) else {}

    def _store_modes(self) -> None:
        self._store.keep("modes", json.dumps(self._modes).encode())


def _files_below(folder: bytes, skipped: Collection[bytes] = ()) -> Iterator[os.DirEntry[bytes]]:
    """Yield all files, the nearest first; no link is followed. Without git's own files of a repository."""
    waiting = deque((folder,))
    while waiting:
        with suppress(OSError), os.scandir(waiting.popleft()) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    yield entry
                elif entry.name != b".git" and entry.path + b"/" not in skipped:
                    waiting.append(entry.path)


def _escaped(path: bytes) -> bytes:
    """A path as a pattern that fits it alone; a line end, which no pattern can hold, fits any byte."""
    folder = path.endswith(b"/")
    pieces: list[bytes] = []
    for byte in path.rstrip(b"/"):
        char = bytes((byte,))
        if char == b"\n":
            pieces.append(b"?")
        elif char.isalnum() or char == b"/" or byte >= 0x80:
            pieces.append(char)
        else:
            pieces.append(b"\\" + char)
    return b"".join(pieces) + (b"/" if folder else b"")
