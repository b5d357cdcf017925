"""Compares two trees of a workspace, and restores files as one of them has them.

Files are written through functions that follow no link and leave no folder.
"""

import difflib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from sam_tui.adapters.checkpoints.git import GitStore
from sam_tui.adapters.checkpoints.trees import Entry, blob_name, current_of
from sam_tui.core.accesses import Location
from sam_tui.core.errors import CheckpointError, ToolError
from sam_tui.core.ports.code import Drop, EditableFiles, EditStep, Put, Snapshot
from sam_tui.core.ports.files import StoredFile

_MOST_TEXT = 200_000
"""The largest file whose lines are compared, in bytes."""
_TOGETHER = 100
"""The most steps of one all-or-none change; each holds a folder open."""
_TOGETHER_BYTES = 64_000_000


Difference = tuple[Entry | None, Entry | None]
"""A file in the one tree and in the other; None in a tree without it."""


def differences(store: GitStore, before: str, after: str) -> dict[str, Difference]:
    """The files that differ, by path."""
    if before == after:
        return {}
    out = store.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
    fields = out.split(b"\0")
    by_path: dict[str, Difference] = {}
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = about.decode("ascii").lstrip(":").split(" ")
        by_path[os.fsdecode(path)] = _entry(old_mode, old), _entry(new_mode, new)
    return by_path


def changed_paths(store: GitStore, pairs: Sequence[tuple[str, str]]) -> list[set[str]]:
    """The files that differ, for each of many pairs of trees, by one run of git."""
    if not pairs:
        return []
    heads = [f"{before} {after}\n".encode() for before, after in pairs]
    words = ("diff-tree", "--stdin", "-r", "-z", "--name-only", "--no-renames")
    by_pair: list[set[str]] = []
    # A path follows its pair's head, or another path; the trees of the next pair are in no path's name.
    for field in store.run(*words, stdin=b"".join(heads)).split(b"\0"):
        path = field
        while len(by_pair) < len(heads) and path.startswith(heads[len(by_pair)]):
            path = path[len(heads[len(by_pair)]) :]
            by_pair.append(set())
        if path:
            by_pair[-1].add(os.fsdecode(path))
    return by_pair


def files_of_tree(store: GitStore, tree: str) -> dict[str, StoredFile]:
    """All files of a tree. Raises ``CheckpointError`` if they are too large together."""
    files: dict[str, StoredFile] = {}
    left = _TOGETHER_BYTES
    for line in store.run("ls-tree", "-r", "-l", "-z", tree).split(b"\0"):
        about, _, path = line.partition(b"\t")
        words = about.decode("ascii").split()
        if len(words) != 4 or words[1] != "blob":
            continue
        left -= int(words[3])
        if left < 0:
            raise CheckpointError("The files of this checkpoint are too large to be played again.")
        entry = Entry(words[0], words[2])
        kind = "link" if entry.link else "program" if entry.executable else "file"
        files[os.fsdecode(path)] = StoredFile(store.read("blob", entry.object), kind)
    return files


def _entry(mode: str, name: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, name)


def line_difference(store: GitStore, path: str, now: Entry | None, then: Entry | None) -> str:
    """A unified diff from now to then; empty where either is no text, or is long."""
    texts: list[list[str]] = []
    for entry in (now, then):
        data = b"" if entry is None else store.read("blob", entry.object)
        if len(data) > _MOST_TEXT or b"\0" in data:
            return ""
        texts.append(data.decode("utf-8", "replace").splitlines(keepends=True))
    lines = difflib.unified_diff(texts[0], texts[1], f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def part_restored(now: bytes, then: bytes, hunk: int) -> bytes:
    """Return the present text with one hunk of the difference restored.

    Raises ``ValueError`` for bytes that are no UTF-8, ``IndexError`` for a missing hunk.
    """
    lines, past = (data.decode("utf-8").splitlines(keepends=True) for data in (now, then))
    groups = list(difflib.SequenceMatcher(None, lines, past).get_grouped_opcodes())
    first, last = groups[hunk][0], groups[hunk][-1]
    return "".join([*lines[: first[1]], *past[first[3] : last[4]], *lines[last[2] :]]).encode()


class Restoration:
    """Puts files of one workspace back. ``modes`` are permission bits that the tree does not hold."""

    def __init__(
        self, store: GitStore, files: EditableFiles, workspace: str, modes: Mapping[str, int]
    ) -> None:
        self._store = store
        self._files = files
        self._workspace = workspace
        self._modes = modes

    def run(self, changes: Mapping[str, Difference]) -> None:
        """Restore the older side of each difference; files that cannot be restored are unchanged.

        Raises ``CheckpointError`` with the names.
        """
        # First remove files whose name something of another kind will get.
        drops = [path for path, (now, then) in changes.items() if now and _other_kind(now, then)]
        puts = [path for path, (_, then) in changes.items() if then]
        failed = self._apply(drops, {path: (changes[path][0], None) for path in drops})
        self._remove_empty(drops)
        then = {
            path: (None if path in drops else changes[path][0], changes[path][1]) for path in puts
        }
        failed += self._apply(puts, then)
        if failed:
            raise CheckpointError(
                f"{len(failed)} of {len(changes)} files were not restored: "
                f"{'; '.join(failed[:5])}.",
                hint="The others were. The checkpoint made just before has them as they were.",
            )

    def run_part(self, changes: Mapping[str, Difference], hunk: int) -> None:
        """Restore one hunk of the difference of one file; the rest stays.

        A file that only one of the trees has is one hunk. Raises ``CheckpointError``.
        """
        for path, (now, then) in changes.items():
            if now is None or then is None:
                self.run({path: (now, then)})
                continue
            where = Location(path, os.path.join(self._workspace, path), self._workspace)
            try:
                read = partial(self._store.read, "blob")
                data = part_restored(read(now.object), read(then.object), hunk)
                current = self._current(where, now)
                self._files.apply([Put(where, data, current, executable=now.executable)])
            except (ToolError, ValueError, IndexError) as error:
                raise CheckpointError(f"Nothing was restored: {error}") from error

    def _apply(self, paths: Sequence[str], changes: Mapping[str, Difference]) -> list[str]:
        """Restore files in batches; returns a sentence for each failure."""
        failed: list[str] = []
        steps: list[EditStep] = []
        size = 0
        for path in paths:
            try:
                step = self._step(path, *changes[path])
            except (ToolError, CheckpointError) as error:
                failed.append(str(error).rstrip("."))
                continue
            steps.append(step)
            size += len(step.data) if isinstance(step, Put) else 0
            if len(steps) >= _TOGETHER or size > _TOGETHER_BYTES:
                failed += self._make(steps)
                steps, size = [], 0
        return failed + self._make(steps)

    def _make(self, steps: Sequence[EditStep]) -> list[str]:
        try:
            self._files.apply(steps)
        except ToolError as error:
            if len(steps) == 1:
                return [str(error).rstrip(".")]
            return [words for step in steps for words in self._make((step,))]
        return []

    def _step(self, path: str, now: Entry | None, then: Entry | None) -> EditStep:
        real = os.path.join(self._workspace, path)
        where = Location(path, real, self._workspace)
        current = self._current(where, now) if now is not None else None
        if then is None:
            return Drop(where, current)
        data = self._store.read("blob", then.object)
        if then.link:
            return Put(where, data, None, link=True)
        mode = self._modes.get(path)
        return Put(where, data, current, mode=mode, executable=then.executable)

    def _current(self, where: Location, now: Entry) -> Snapshot:
        """The file, if it is unchanged since the comparison. Raises ``ToolError``."""
        current = current_of(self._files, where, now)
        if blob_name(current.data) != now.object:
            raise ToolError(f"{where.argument!a} was changed in the meantime by something else")
        return current

    def _remove_empty(self, paths: Sequence[str]) -> None:
        """Remove folders that have become empty."""
        above: set[str] = set()
        for path in paths:
            while path := os.path.dirname(path):
                above.add(path)
        for folder in sorted(above, key=lambda folder: -folder.count("/")):
            where = Location(folder, os.path.join(self._workspace, folder), self._workspace)
            with suppress(ToolError):
                self._files.remove_directory(where)


def _other_kind(now: Entry, then: Entry | None) -> bool:
    return then is None or now.link or then.link
