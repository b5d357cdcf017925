"""git's index of one workspace: git takes files into it, and what it took is compared with the files."""

import os
from collections.abc import Collection
from contextlib import suppress

from sam_tui.adapters.checkpoints.git import GitStore
from sam_tui.adapters.checkpoints.trees import Entry, blob_name, current_of, entries_of, location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditableFiles

_TAKE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_FORGET = ("update-index", "-z", "--force-remove", "--stdin")


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
        if self._last is None or self._last[1] != self._state():
            tree = self._store.run("write-tree").decode().strip()
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
