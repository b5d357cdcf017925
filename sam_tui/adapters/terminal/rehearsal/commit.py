"""Applies the changes of a rehearsal: first all steps that can fail for lack of space or rights."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from sam_tui.adapters.terminal.rehearsal.differences import Differing
from sam_tui.adapters.terminal.sandbox.kernel.calls import open_exactly
from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import escaped

_BESIDE = ".sam-tui-rehearsed-"
"""The prefix of the folder in the workspace for new files, which are then moved by rename."""


def commit(workspace: str, changes: Sequence[Differing]) -> None:
    """Put the changes into a folder, sorted by their paths. Raises ``ToolError``, which says whether
    something was changed."""
    _require_rights(workspace, changes)
    try:
        stage = tempfile.mkdtemp(prefix=_BESIDE, dir=workspace)
    except OSError as error:
        raise ToolError(f"The workspace cannot be written to: {error.strerror}.") from error
    try:
        staged = _staged(stage, changes)
        try:
            _make(workspace, changes, staged)
        except OSError as error:
            raise ToolError(
                f"Only a part of the changes was made, because of: {escaped(str(error))}",
                hint="Check the state of the workspace.",
            ) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _require_rights(workspace: str, changes: Sequence[Differing]) -> None:
    """Raise ``ToolError`` if a file is unreadable, or a folder cannot be written to."""
    for differing in changes:
        path, source = differing.change.path, differing.source
        if source is not None and not (os.path.islink(source) or os.access(source, os.R_OK)):
            raise ToolError(f"The command made {escaped(path)} unreadable. Nothing was changed.")
        folder = os.path.dirname(os.path.join(workspace, path))
        moves = source is None or not os.path.isdir(source) or not os.path.isdir(folder)
        if moves and os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
            raise ToolError(
                f"The folder of {escaped(path)} cannot be written to. Nothing was changed."
            )


def _staged(stage: str, changes: Sequence[Differing]) -> dict[str, str]:
    """Copies of all new files and links, by the paths they are for. Raises ``ToolError``."""
    files: dict[str, str] = {}
    for number, differing in enumerate(changes):
        source, path = differing.source, differing.change.path
        if source is None:
            continue
        fresh = os.path.join(stage, str(number))
        try:
            if _copied(source, fresh):
                files[path] = fresh
        except OSError as error:
            raise ToolError(
                f"{escaped(path)} cannot be copied: {error.strerror}. Nothing was changed."
            ) from error
    return files


def _copied(source: str, fresh: str) -> bool:
    """Copy a file, link or pipe; False for a kind that is useless in a copy, such as a socket."""
    kind = stat.S_IFMT(os.lstat(source).st_mode)
    if kind == stat.S_IFLNK:
        os.symlink(os.readlink(source), fresh)
    elif kind == stat.S_IFREG:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(source, "rb") as data, open(os.open(fresh, flags, 0o600), "wb") as target:
            shutil.copyfileobj(data, target)
    elif kind == stat.S_IFIFO:
        os.mkfifo(fresh)
    else:
        return False
    return True


def _make(workspace: str, changes: Sequence[Differing], staged: dict[str, str]) -> None:
    for differing in reversed(changes):
        if differing.source is None or _other_kind(workspace, differing):
            _delete(workspace, differing.change.path)
    for differing in changes:
        path, source = differing.change.path, differing.source
        if path in staged:
            _place(workspace, path, staged[path])
        elif source is not None and stat.S_ISDIR(os.lstat(source).st_mode):
            with _folder_of(workspace, path) as (within, name), suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=within)
    for differing in reversed(changes):
        if differing.source is not None:
            _finish(workspace, differing.change.path, differing.source)


def _other_kind(workspace: str, differing: Differing) -> bool:
    old = os.path.join(workspace, differing.change.path)
    if differing.source is None or not os.path.lexists(old):
        return False
    return stat.S_IFMT(os.lstat(old).st_mode) != stat.S_IFMT(os.lstat(differing.source).st_mode)


def _delete(workspace: str, path: str) -> None:
    with _folder_of(workspace, path) as (within, name):
        status = os.stat(name, dir_fd=within, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            os.rmdir(name, dir_fd=within)
        else:
            os.unlink(name, dir_fd=within)


def _place(workspace: str, path: str, fresh: str) -> None:
    """Move a staged file to its path, following no link; across file systems by a copy next to it."""
    with _folder_of(workspace, path) as (within, name):
        try:
            os.replace(fresh, name, dst_dir_fd=within)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            beside = os.path.join(
                f"/proc/self/fd/{within}", os.path.basename(os.path.dirname(fresh))
            )
            _copied(fresh, beside)
            os.replace(beside, name, dst_dir_fd=within)


def _finish(workspace: str, path: str, source: str) -> None:
    """Set owner, mode and times last, because a folder's mode may forbid writing to it."""
    status = os.lstat(source)
    with _folder_of(workspace, path) as (within, name):
        try:
            if os.geteuid() == 0:
                os.chown(name, status.st_uid, status.st_gid, dir_fd=within, follow_symlinks=False)
            if not stat.S_ISLNK(status.st_mode):
                os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=within)
                os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=within)
        except FileNotFoundError:
            return  # a socket, which was not made


@contextmanager
def _folder_of(workspace: str, path: str) -> Generator[tuple[int, str]]:
    """The folder of a path in the workspace as a descriptor, and the name in it."""
    folder, name = os.path.split(os.path.join(workspace, path))
    handle = open_exactly(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield handle, name
    finally:
        os.close(handle)
