"""The changes on a branch: an overlay's upper layer, or a copy, compared with the workspace."""

import difflib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.rehearsal import ChangeKind, FileChange

MOST_ENTRIES = 200_000
_LARGEST_DIFF = 512 * 1024
_OPAQUE = "user.overlay.opaque"
_BLOCK = 1 << 20

Stamp = tuple[int, int, int, int, int]
Snapshot = dict[str, Stamp]


@dataclass(frozen=True, slots=True)
class Differing:
    """One change, and the path of its new state; ``source`` is None for a deleted file."""

    change: FileChange
    source: str | None


@dataclass(slots=True)
class Layer:
    """The differences of a branch: new entries by relative path, and removed paths."""

    present: dict[str, str]
    deleted: set[str]


def snapshot(folder: str) -> Snapshot:
    """The state of everything in a folder: mode, size, times and inode. Raises ``ToolError``."""
    snapshot_entries: Snapshot = {}
    for path in _below(folder, ""):
        stamp = os.lstat(os.path.join(folder, path))
        snapshot_entries[path] = (
            stamp.st_mode,
            stamp.st_size if not stat.S_ISDIR(stamp.st_mode) else 0,
            stamp.st_mtime_ns,
            stamp.st_ctime_ns,
            stamp.st_ino,
        )
        if len(snapshot_entries) > MOST_ENTRIES:
            raise ToolError(f"The workspace has more than {MOST_ENTRIES} entries to rehearse on.")
    return snapshot_entries


def upper_layer(upper: str, workspace: str) -> Layer:
    """The layer that an overlay's upper folder describes: entries, whiteouts and opaque folders."""
    layer = Layer({}, set())
    _read_upper(layer, upper, workspace, "")
    return layer


def copied_layer(copy: str, workspace: str) -> Layer:
    """The differences between a copy and the workspace it was made of."""
    layer = Layer({}, set())
    for path in _below(copy, ""):
        changed, original = os.path.join(copy, path), os.path.join(workspace, path)
        if not os.path.lexists(original) or _differs(original, changed):
            layer.present[path] = changed
    for path in _below(workspace, ""):
        if not os.path.lexists(os.path.join(copy, path)):
            layer.deleted.add(path)
    return layer


def differences(layer: Layer, workspace: str) -> list[Differing]:
    """Every change with its diff, in the order of paths."""
    differing: dict[str, Differing] = {}
    replaced = [
        path
        for path, source in layer.present.items()
        if _is_folder(os.path.join(workspace, path)) and not _is_folder(source)
    ]
    for root in (*layer.deleted, *replaced):
        for path in (root, *_below(workspace, root)):
            differing[path] = Differing(_change(path, os.path.join(workspace, path), None), None)
    for path, source in layer.present.items():
        old = os.path.join(workspace, path)
        if not os.path.lexists(old):
            differing[path] = Differing(_change(path, None, source), source)
        elif _differs(old, source):
            differing[path] = Differing(_change(path, old, source), source)
        else:
            differing.pop(path, None)
    return [differing[path] for path in sorted(differing)]


def _read_upper(layer: Layer, upper: str, workspace: str, at: str) -> None:
    for entry in _entries(os.path.join(upper, at)):
        path = os.path.join(at, entry.name)
        old = os.path.join(workspace, path)
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if os.path.lexists(old):
                layer.deleted.add(path)
            continue
        layer.present[path] = entry.path
        if entry.is_dir(follow_symlinks=False):
            if _opaque(entry.path) and _is_folder(old):
                layer.deleted |= {os.path.join(path, name) for name in os.listdir(old)}
            _read_upper(layer, upper, workspace, path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder, in order; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        return []


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _opaque(folder: str) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE, follow_symlinks=False) in (b"y", b"x")
    except OSError:
        return False


def _below(folder: str, at: str) -> Iterator[str]:
    """Yield everything below a folder, without itself, as paths relative to ``folder``."""
    start = os.path.join(folder, at)
    if not _is_folder(start):
        return
    for entry in _entries(start):
        path = os.path.join(at, entry.name)
        yield path
        if entry.is_dir(follow_symlinks=False):
            yield from _below(folder, path)


def _differs(old: str, new: str) -> bool:
    before, after = os.lstat(old), os.lstat(new)
    if before.st_mode != after.st_mode or (before.st_uid, before.st_gid) != (
        after.st_uid,
        after.st_gid,
    ):
        return True
    if stat.S_ISREG(before.st_mode):
        return before.st_size != after.st_size or not _same_bytes(old, new)
    if stat.S_ISLNK(before.st_mode):
        return os.readlink(old) != os.readlink(new)
    return False


def _same_bytes(old: str, new: str) -> bool:
    if not (os.access(old, os.R_OK) and os.access(new, os.R_OK)):
        return False
    with open(old, "rb") as first, open(new, "rb") as second:
        while True:
            left, two = first.read(_BLOCK), second.read(_BLOCK)
            if left != two:
                return False
            if not left:
                return True


def _change(path: str, old: str | None, new: str | None) -> FileChange:
    kind: ChangeKind = "created" if old is None else "deleted" if new is None else "modified"
    before, after = _mode(old), _mode(new)
    texts = [_lines(old), _lines(new)]
    note = _note(old, new, before, after)
    diff = ""
    if texts[0] is None or texts[1] is None:
        note = note or "binary, large, or not to be read"
    elif not note.startswith("folder"):
        names = (f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null")
        diff = "".join(difflib.unified_diff(texts[0], texts[1], *names))
    return FileChange(path, kind, diff, note, _bits(before), _bits(after))


def _note(old: str | None, new: str | None, before: int | None, after: int | None) -> str:
    path, mode = (new, after) if new is not None else (old, before)
    assert path is not None and mode is not None
    earlier = mode if before is None or after is None else before
    if stat.S_IFMT(earlier) != stat.S_IFMT(mode):
        return "becomes another kind of file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return f"link to {os.readlink(path)}"
    if not stat.S_ISREG(mode):
        return "special file"
    if earlier != mode:
        return f"mode {stat.S_IMODE(earlier):o} becomes {stat.S_IMODE(mode):o}"
    return ""


def _lines(path: str | None) -> list[str] | None:
    """The lines of a text file; none for a missing file, folder or link, None for a binary file."""
    if path is None:
        return []
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return []
    if status.st_size > _LARGEST_DIFF or not os.access(path, os.R_OK):
        return None
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, f"{lines[-1]}\n\\ No newline at end of file\n"] if lines[-1] else ended


def _mode(path: str | None) -> int | None:
    return None if path is None else os.lstat(path).st_mode


def _bits(mode: int | None) -> int | None:
    return None if mode is None else stat.S_IMODE(mode)
