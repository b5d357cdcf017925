"""The ``Files`` port on the machine's own file systems."""

import errno
import os
import stat
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress

from sam_tui.adapters.files.batch import Batch, stamp_of
from sam_tui.adapters.files.descent import OpenedEntry, entry_of
from sam_tui.adapters.files.exclusive import rename_new, rename_over
from sam_tui.adapters.files.refusals import changed, explained
from sam_tui.adapters.files.replacement import filled, insist_on_regular, kind_of, replaceable
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditStep, Snapshot
from sam_tui.core.ports.files import FileStat
from sam_tui.core.text.plain import printable

_CHUNK = 1 << 20


class LocalFiles:
    """Files through folder descriptors: the checked file is the opened one.

    Every method raises ``ToolError`` and leaves no descriptor and no temporary file behind.
    """

    def stat(self, where: Location) -> FileStat | None:
        """Kind, size and time of the file or folder, or None if there is none."""
        with explained(where, "looked at"):
            try:
                with entry_of(where) as entry:
                    return _described(os.path.basename(where.real) or "/", entry.stat())
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read(self, where: Location, *, limit: int) -> bytes:
        """At most ``limit`` bytes from the start of a regular file."""
        with explained(where, "read"), entry_of(where) as entry, _regular(entry, where) as source:
            size = os.fstat(source).st_size
            return b"".join(_pieces(source, limit, min(_CHUNK, size + 1)))

    def snapshot(self, where: Location, *, limit: int) -> Snapshot:
        """A regular file at this moment, with at most ``limit`` bytes of content."""
        with explained(where, "read"), entry_of(where) as entry, _regular(entry, where) as source:
            # The status comes first: a write during the read shows as a difference later.
            status = os.fstat(source)
            data = b"".join(_pieces(source, limit, min(_CHUNK, status.st_size + 1)))
            return Snapshot(data, stamp_of(status), status.st_mode)

    def link(self, where: Location) -> Snapshot:
        """A symbolic link itself, not followed."""
        with explained(where, "read"), entry_of(where) as entry:
            status = entry.stat()
            target = os.fsencode(os.readlink(entry.name, dir_fd=entry.folder))
            return Snapshot(target, stamp_of(status), status.st_mode)

    def list(self, where: Location) -> Sequence[FileStat]:
        """The entries of a folder, sorted by name; those that vanish meanwhile are left out."""
        with explained(where, "listed"), entry_of(where) as entry:
            kind = entry.stat().st_mode
            if stat.S_ISLNK(kind):
                raise changed(where)
            folder = entry.open(os.O_RDONLY | os.O_DIRECTORY)
            try:
                stats: list[FileStat] = []
                with os.scandir(folder) as entries:
                    for item in entries:
                        with suppress(FileNotFoundError):
                            stats.append(_described(item.name, item.stat(follow_symlinks=False)))
            finally:
                os.close(folder)
        return sorted(stats, key=lambda item: item.name)

    def write(self, where: Location, data: bytes, *, replace: bool) -> None:
        """Write the whole file atomically; folders above are made; mode bits of a replaced file stay.

        Without ``replace`` an existing file is an error. A hard link is broken rather than written
        through: its other names, which may lie outside, keep the old content.
        """
        with explained(where, "written"), entry_of(where, make=True) as entry:
            old = replaceable(entry, where, replace=replace)
            with filled(entry, (data,), old) as temporary:
                (rename_over if replace else rename_new)(temporary, entry)

    def rename(self, source: Location, target: Location) -> None:
        """Move a file or folder; an existing target is an error; folders above it are made."""
        if source.real in (source.root, "/"):
            raise ToolError(
                f"{printable(source.argument)} is the workspace itself; it stays in place."
            )
        if target.real.startswith(source.real + "/"):
            raise ToolError(f"{printable(source.display_path)} cannot be moved into itself.")
        with explained(source, "renamed"), entry_of(source) as old:
            old.stat()
            with explained(target, "used as the new name"), entry_of(target, make=True) as new:
                try:
                    rename_new(old, new)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    _move_across(old, new, source)

    def delete(self, where: Location) -> None:
        """Delete a file (or a link itself), never a folder."""
        with explained(where, "deleted"), entry_of(where) as entry:
            if stat.S_ISDIR(entry.stat().st_mode):
                raise ToolError(
                    f"{printable(where.display_path)} cannot be deleted: is a folder.",
                    hint="Delete the files in it one by one.",
                )
            os.unlink(entry.name, dir_fd=entry.folder)

    def apply(self, steps: Sequence[EditStep]) -> None:
        """Apply all steps in order; if one fails, the earlier ones are undone."""
        Batch(self.rename, alone=len(steps) == 1).run(steps)

    async def edit(self, steps: Sequence[EditStep]) -> str:
        """``apply``: no editor takes part, so there is nothing to remark."""
        self.apply(steps)
        return ""

    def remove_directory(self, where: Location) -> None:
        """Remove an empty folder, never a link to one."""
        with explained(where, "removed"), entry_of(where) as entry:
            os.rmdir(entry.name, dir_fd=entry.folder)

    def make_directory(self, where: Location) -> bool:
        """Make a folder and its parents. False if it existed."""
        with explained(where, "made"), entry_of(where, make=True) as entry:
            try:
                os.mkdir(entry.name, dir_fd=entry.folder)
            except FileExistsError:
                kind = entry.stat().st_mode
                if stat.S_ISLNK(kind):
                    raise changed(where) from None
                if not stat.S_ISDIR(kind):
                    raise
                return False
            return True


def _described(name: str, status: os.stat_result) -> FileStat:
    return FileStat(name, kind_of(status.st_mode), status.st_size, status.st_mtime, status.st_mode)


@contextmanager
def _regular(entry: OpenedEntry, where: Location) -> Generator[int, None, None]:
    """A descriptor of a regular file. Looked at before too: opening some devices does things."""
    insist_on_regular(entry.stat().st_mode, where)
    try:
        source = entry.open(os.O_RDONLY)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise changed(where) from error
        raise
    try:
        insist_on_regular(os.fstat(source).st_mode, where)
        yield source
    finally:
        os.close(source)


def _pieces(source: int, limit: int, step: int) -> Iterator[bytes]:
    """The bytes up to the limit. A size of zero says nothing: the kernel's own files have it too."""
    step = max(step, 4096)
    while limit > 0 and (piece := os.read(source, min(step, limit))):
        limit -= len(piece)
        yield piece


def _move_across(old: OpenedEntry, new: OpenedEntry, source: Location) -> None:
    """Copy, then delete: another file system. The copy appears whole or not at all."""
    status = old.stat()
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(old.name, dir_fd=old.folder), new.name, dir_fd=new.folder)
        os.unlink(old.name, dir_fd=old.folder)
        return
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    with _regular(old, source) as content:
        pieces = _pieces(content, sys.maxsize, _CHUNK)
        with filled(new, pieces, status) as temporary:
            times = (status.st_atime_ns, status.st_mtime_ns)
            os.utime(temporary.name, ns=times, dir_fd=temporary.folder, follow_symlinks=False)
            rename_new(temporary, new)
    os.unlink(old.name, dir_fd=old.folder)
