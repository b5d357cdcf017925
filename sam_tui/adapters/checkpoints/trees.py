"""git's trees: read, edited, and made of files of the workspace, one by one or by git's index."""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha1

from sam_tui.adapters.checkpoints.git import GitStore
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditableFiles, Snapshot

_TAKE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_FORGET = ("update-index", "-z", "--force-remove", "--stdin")
_LINK = "120000"
_FOLDER = "40000"
_LARGEST = 2_000_000_000
_INEXACT = 2.0
"""Seconds within which two changes of a file may get the same date."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file's entry in a tree: its kind, its executable bit, and its object."""

    mode: str
    object: str

    @property
    def link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == _LINK

    @property
    def executable(self) -> bool:
        """Whether it can be run."""
        return self.mode == "100755"


Folders = dict[bytes, dict[bytes, Entry]]
"""The entries of some folders of a tree, by path; "" is the tree itself."""


def entries_of(store: GitStore, tree: str, paths: Iterable[bytes]) -> Iterator[tuple[bytes, Entry]]:
    """Yield the entries of some files of a tree, without those that it lacks."""
    folders: Folders = {b"": _entries(store, tree)}
    for path in paths:
        above, _, name = path.rpartition(b"/")
        if entry := _folder(store, folders, above).get(name):
            yield path, entry


def edited_tree(store: GitStore, tree: str, files: Mapping[bytes, Entry | None]) -> str:
    """Store a tree with these files instead; None stands for no file. Returns its name.

    An empty name stands for a tree without files. No folder stays without files.
    """
    folders: Folders = {b"": _entries(store, tree)}
    for path, entry in files.items():
        above, _, name = path.rpartition(b"/")
        entries = _folder(store, folders, above)
        if entry is None:
            entries.pop(name, None)
        else:
            entries[name] = entry
    for path in sorted(folders.keys() - {b""}, key=lambda path: -path.count(b"/")):
        above, _, name = path.rpartition(b"/")
        if folders[path]:
            folders[above][name] = Entry(_FOLDER, _written(store, folders[path]))
        elif (entry := folders[above].get(name)) and entry.mode == _FOLDER:
            del folders[above][name]
    return _written(store, folders[b""]) if folders[b""] else ""


def _folder(store: GitStore, folders: Folders, path: bytes) -> dict[bytes, Entry]:
    """The entries of a folder, empty if there is none; it and those above it are added to ``folders``."""
    above, inside = b"", folders[b""]
    for name in path.split(b"/") if path and path not in folders else ():
        entry = inside.get(name)
        above = above + b"/" + name if above else name
        if above not in folders:
            is_folder = entry is not None and entry.mode == _FOLDER
            folders[above] = _entries(store, entry.object if entry and is_folder else "")
        inside = folders[above]
    return folders[path]


def _entries(store: GitStore, tree: str) -> dict[bytes, Entry]:
    """The entries of one folder, by name; each has a mode, a name, and twenty bytes of an object's name."""
    data, at = store.read("tree", tree) if tree else b"", 0
    entries: dict[bytes, Entry] = {}
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        at = end + 21
        entries[name] = Entry(mode.decode("ascii"), data[end + 1 : at].hex())
    return entries


def _written(store: GitStore, entries: Mapping[bytes, Entry]) -> str:
    """Store one folder in git's order: as if the name of each folder in it ended with a slash."""
    in_order = sorted(
        (name + b"/" if entry.mode == _FOLDER else name, name, entry)
        for name, entry in entries.items()
    )
    lines = (
        b"%s %s\0%s" % (entry.mode.encode(), name, bytes.fromhex(entry.object))
        for _, name, entry in in_order
    )
    return store.write("tree", b"".join(lines))


def current_of(files: EditableFiles, where: Location, entry: Entry) -> Snapshot:
    """Return the snapshot of a file or a link itself; no other link is followed. Raises ``ToolError``."""
    return files.link(where) if entry.link else files.snapshot(where, limit=_LARGEST)


def blob_name(data: bytes) -> str:
    """The name of the git object for a file's content."""
    head = b"blob %d\0" % len(data)
    return sha1(head + data, usedforsecurity=False).hexdigest()


class FileEntries:
    """Stores files of one workspace, and follows no link. A file with the same status is not read again."""

    def __init__(self, store: GitStore, files: EditableFiles, workspace: str) -> None:
        self._store = store
        self._files = files
        self._workspace = workspace
        self._stored: dict[bytes, tuple[tuple[int, ...], Entry]] = {}

    def clear(self) -> None:
        """Forget all files."""
        self._stored.clear()

    def store(
        self, files: Mapping[bytes, os.stat_result], began: float, most_bytes: int
    ) -> dict[bytes, Entry | None] | None:
        """Return the entries of files with this status at the time ``began``; None for one that changes.

        Returns no entries, and stores nothing, if more than so many bytes would have to be read.
        """
        entries: dict[bytes, Entry | None] = {p: self._known(p, s) for p, s in files.items()}
        unread = [path for path, entry in entries.items() if entry is None]
        if sum(files[path].st_size for path in unread) > most_bytes:
            return None
        for path in unread:
            entries[path] = self._read(path, files[path].st_mode)
        self._stored = {
            # A file that was changed just now may change again without another date.
            path: (_signature(files[path]) if _age(files[path], began) > _INEXACT else (), entry)
            for path, entry in entries.items()
            if entry is not None
        }
        return entries

    def _known(self, path: bytes, status: os.stat_result) -> Entry | None:
        """The entry of a file that did not change, unless its object was removed meanwhile."""
        signature, entry = self._stored.get(path, ((), Entry("", "")))
        same = signature == _signature(status) and self._store.holds(entry.object)
        return entry if same else None

    def _read(self, path: bytes, mode: int) -> Entry | None:
        where = location(self._workspace, path)
        kind = "100755" if mode & 0o100 else "100644"
        entry = Entry(_LINK if stat.S_ISLNK(mode) else kind, "")
        try:
            data = current_of(self._files, where, entry).data
        except ToolError:
            return None
        return Entry(entry.mode, self._store.write("blob", data))


class GitIndex:
    """The index of one store. Call it with the store locked."""

    def __init__(self, store: GitStore, files: EditableFiles, workspace: str) -> None:
        self._store = store
        self._files = files
        self._workspace = workspace
        self._path = store.folder / "index"
        self._unverified = store.folder / "unverified"
        """A file that exists while the index may have files from outside of the workspace."""
        self._last: tuple[str, tuple[int, int] | None] | None = None
        """The tree of the index, and the index that it belongs to."""

    def exists(self) -> bool:
        """Whether git took files into it."""
        return self._path.exists()

    def count(self) -> int:
        """The number of its files."""
        with suppress(OSError), open(self._path, "rb") as index:
            return int.from_bytes(index.read(12)[8:])
        return 0

    def forget(self) -> None:
        """Remove it."""
        self._path.unlink(missing_ok=True)

    def recover(self) -> None:
        """Remove it if a program was killed before it compared the files."""
        if self._unverified.exists():
            self.forget()
            self._unverified.unlink()

    def tree(self) -> str:
        """The tree of its files; empty if there is no index."""
        if not self.exists():
            return ""
        state = self._state()
        if self._last is None or self._last[1] != state:
            tree = self._store.run("write-tree").decode().strip()
            if state is not None:  # git may write the index anew, with a date past changes of files
                os.utime(self._path, ns=(state[1], state[1]))
            self._last = tree, self._state()
        return self._last[0]

    def _state(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def precedes(self, changed: float) -> bool:
        """Whether git reports a file, however often it looks, whose status changed at this time or later.

        git takes a file for unchanged while the seconds of its dates are those in the index, unless they
        are not before the date of the index itself; then it reads the file.
        """
        state = self._state()
        return state is None or state[1] // 10**9 < int(changed)

    def settle(self, until: float) -> None:
        """Date it at a time until which all that git did not report is unchanged.

        git reads every file again whose date is not before that of the index. A second is subtracted,
        because the clock for dates of files is a little late.
        """
        if self._last is not None and self._last[1] is not None and self._state() == self._last[1]:
            if self._last[1][1] / 1e9 < until - 1:
                os.utime(self._path, (until - 1, until - 1))
            self._last = self._last[0], self._state()

    def take(self, files: Collection[bytes], forgotten: Collection[bytes]) -> list[bytes]:
        """Have git read files, and remove others; returns the files that changed meanwhile.

        git opens a file by its path, and would follow a link that has just replaced a folder or file.
        Therefore it keeps no file whose content it did not read below the workspace.
        """
        self._run(_FORGET, forgotten)
        if not files:
            return []
        self._store.replace(self._unverified.name, b"")
        self._run(_TAKE, files)
        entries = entries_of(self._store, self.tree(), files)
        changed = [path for path, entry in entries if not self._lies_below(path, entry)]
        self._run(_FORGET, changed)
        self._unverified.unlink()
        return changed

    def _run(self, words: tuple[str, ...], paths: Collection[bytes]) -> None:
        if paths:
            self._store.run(*words, stdin=b"\0".join(paths) + b"\0")

    def _lies_below(self, path: bytes, entry: Entry) -> bool:
        """Whether a file still begins with its stored content."""
        try:
            data = current_of(self._files, location(self._workspace, path), entry).data
        except ToolError:
            return False
        return blob_name(data) == entry.object or (
            not entry.link and data.startswith(self._store.read("blob", entry.object))
        )


def location(workspace: str, path: bytes) -> Location:
    """The place of a file of the workspace."""
    name = os.fsdecode(path)
    return Location(name, os.path.join(workspace, name), workspace)


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_mode,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _age(status: os.stat_result, now: float) -> float:
    return now - max(status.st_mtime, status.st_ctime)
