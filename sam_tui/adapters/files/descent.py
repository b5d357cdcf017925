"""Opens an entry below an allowed folder without following any link.

A location was judged by its real path. To open that path again as text would follow links that were made
meanwhile. The kernel can be told to follow none and to leave no folder (openat2); if it cannot, or fails,
each folder is opened and the next entered through it.
"""

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

from sam_tui.adapters.files.refusals import changed
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError

_OPENAT2 = 437
"""The number of openat2, which is the same on every Linux architecture."""
_WORKING_FOLDER = -100
_NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08


def open_folder_beneath(folder: int, path: str) -> int | None:
    """The folder at a relative path below an open one, entered without links and never upwards.

    None if that fails for any reason: the walk step by step then finds the reason.
    """
    call = _openat2()
    if call is None:
        return None
    # O_PATH, like the walk: the folders in between need no read permission.
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    how = struct.pack("=QQQ", flags, 0, _NO_MAGIC_LINKS | _NO_LINKS | _BENEATH)
    opened = call(folder, os.fsencode(path), how)
    return opened if opened >= 0 else None


@cache
def _openat2() -> Callable[[int, bytes, bytes], int] | None:
    """The system call through the C library; None where there is none (before Linux 5.6, macOS)."""
    if sys.platform != "linux":
        return None
    import ctypes  # at the first file that is used, not at the start

    raw = ctypes.CDLL(None).syscall
    word = ctypes.c_long

    def call(folder: int, path: bytes, how: bytes) -> int:
        return int(raw(word(_OPENAT2), word(folder), path, how, word(len(how))))

    flags_alone = struct.pack("=Q16x", os.O_PATH | os.O_CLOEXEC)
    tried = call(_WORKING_FOLDER, b"/", flags_alone)
    if tried < 0:
        return None
    os.close(tried)
    return call


# O_PATH needs no read permission on the folders in between; macOS has no such thing.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class OpenedEntry:
    """A name in an open folder. ``name`` is ``.`` for the allowed folder itself."""

    folder: int
    name: str

    def stat(self) -> os.stat_result:
        """The status of the entry itself; a link is not followed."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def open(self, flags: int, mode: int = 0o600) -> int:
        """Open it, never through a link and never waiting for the other end of a pipe."""
        safe = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        return os.open(self.name, flags | safe, mode, dir_fd=self.folder)


@contextmanager
def entry_of(where: Location, *, make: bool = False) -> Generator[OpenedEntry, None, None]:
    """The entry at a location, its folder held open meanwhile; ``make`` makes missing folders.

    Raises ``OSError`` if the system refuses and ``ToolError`` if a link was swapped in.
    """
    parts = _parts(where)
    folder = os.open(where.root or "/", _FOLDER)
    try:
        above = parts[:-1]
        below = open_folder_beneath(folder, "/".join(above)) if len(above) > 1 else None
        if below is not None:
            os.close(folder)
            folder, above = below, []
        for part in above:
            below = _enter(folder, part, where, make=make)
            os.close(folder)
            folder = below
        yield OpenedEntry(folder, parts[-1] if parts else ".")
    finally:
        os.close(folder)


def _parts(where: Location) -> list[str]:
    if len(os.fsencode(where.real)) > _LONGEST:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    root = (where.root or "/").rstrip("/")
    inside = where.real == root or where.real.startswith(root + "/")
    parts = [part for part in where.real[len(root) :].split("/") if part]
    if not inside or "." in parts or ".." in parts:
        raise ToolError(f"{where.real!a} is not a resolved path below {root or '/'}.")
    return parts


def _enter(folder: int, name: str, where: Location, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        raise _blocked(error, folder, name, where) from error
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise _blocked(error, folder, name, where) from error


def _blocked(error: OSError, folder: int, name: str, where: Location) -> Exception:
    """The error for an entry that cannot be opened: a link there means that it was exchanged."""
    if error.errno not in (errno.ELOOP, errno.ENOTDIR):
        return error
    with suppress(OSError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISLNK(mode) and not stat.S_ISDIR(mode):
            return error
    return changed(where)
