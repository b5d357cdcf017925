"""File operations that the supervisor carries out for a waiting call: on exact paths, with the caller's
rights, and without following links."""

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sam_tui.adapters.terminal.sandbox.kernel import calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights, own_rights

_TMPFILE = getattr(os, "O_TMPFILE", 0)
_KNOWN_FLAGS = (
    os.O_ACCMODE | os.O_CREAT | os.O_EXCL | os.O_NOCTTY | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK
    | os.O_DSYNC | os.O_SYNC | os.O_DIRECT | os.O_DIRECTORY | os.O_NOATIME | _TMPFILE
)  # fmt: skip
_PERMISSIONS = 0o7777
_CREATION_BITS = 0o1777
"""The mode bits with which a file can be created: set-user-id and set-group-id need a chmod."""
_XATTR_PREFIXES = ("user.", "system.posix_acl_")
RESERVED = ".sam-tui-placing-"
"""The prefix of file names that no command may open, create or rename."""
LARGEST_PLACE = 8 * 1024 * 1024
"""The most bytes of a file that is judged by its content."""
_UNCHANGED = nullcontext()
_MAKABLE = (0, stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK)


def acting_as(rights: Rights) -> AbstractContextManager[None]:
    """Touch files with another user's rights for a while; the calling thread alone is changed.

    Raises OSError (EPERM) where the rights of the other cannot be taken on.
    """
    mine = own_rights()
    if rights.user == mine.user and rights.group == mine.group:
        if mine.file_capabilities & ~rights.file_capabilities:
            raise PermissionError(1, "The caller gave up rights that would be used for it")
        return _UNCHANGED
    if mine.user != 0:
        raise PermissionError(1, "The caller is another user")
    return _acting_as(rights, mine)


@contextmanager
def _acting_as(rights: Rights, mine: Rights) -> Generator[None]:
    try:
        _become(rights.user, rights.group, rights.groups)
        yield
    finally:
        _become(mine.user, mine.group, mine.groups)


@contextmanager
def acting_with_capabilities(rights: Rights) -> Generator[None]:
    """``acting_as``, also without the capabilities that the other lacks: the kernel's own views of
    itself look at all of them. Raises OSError."""
    mine = calls.capabilities()
    with acting_as(rights):
        if not mine[0] & ~rights.capabilities:
            yield
            return
        now = calls.capabilities()  # another user's rights of files may have taken some away
        calls.set_capabilities(now[0] & rights.capabilities, *now[1:])
        try:
            yield
        finally:
            calls.set_capabilities(*now)


def _become(user: int, group: int, groups: tuple[int, ...]) -> None:
    # Rights of files are given back first and taken away last: only root can set groups.
    if user == 0:
        calls.call("setfsuid", user)
    calls.call("setgroups", len(groups), struct.pack(f"={len(groups)}I", *groups))
    calls.call("setfsgid", group)
    if user != 0:
        calls.call("setfsuid", user)
    if calls.call("setfsuid", -1) != user or calls.call("setfsgid", -1) != group:
        raise PermissionError(1, "The caller's rights could not be taken on")


@contextmanager
def exact(path: str) -> Generator[int]:
    """A descriptor of the very object at a real path. Raises OSError."""
    handle = calls.open_exactly(path, os.O_PATH)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def parent(path: str) -> Generator[tuple[int, bytes]]:
    """The folder of a real path as a descriptor, and the name in it. Raises OSError."""
    folder, _, name = path.rpartition("/")
    if not name:
        raise PermissionError(13, "The root folder has no name")
    handle = calls.open_exactly(folder or "/", os.O_PATH | os.O_DIRECTORY)
    try:
        yield handle, os.fsencode(name)
    finally:
        os.close(handle)


def known_flags(flags: int) -> int:
    """The flags of an open without those that create a file."""
    return flags & _KNOWN_FLAGS & ~(os.O_CREAT | os.O_EXCL | _TMPFILE) | os.O_CLOEXEC


def open_file(path: str, flags: int, mode: int) -> int:
    """Open a real path as the caller asked; ``mode`` already without its umask. Raises OSError."""
    making = flags & os.O_CREAT or (_TMPFILE and flags & _TMPFILE == _TMPFILE)
    opened = calls.open_exactly(
        path, unwaiting(flags) | os.O_NOFOLLOW, mode=mode & _CREATION_BITS if making else 0
    )
    restore_waiting(opened, flags)
    return opened


def unwaiting(flags: int) -> int:
    """The flags of an open, such that it never waits here for the other end of a pipe."""
    return flags & _KNOWN_FLAGS | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def restore_waiting(opened: int, flags: int) -> None:
    """Give a descriptor that was opened with ``unwaiting`` the flag that its caller asked for."""
    if not flags & os.O_NONBLOCK:
        fcntl.fcntl(opened, fcntl.F_SETFL, flags & _KNOWN_FLAGS)


def read_file(path: str) -> tuple[bytes, int]:
    """The content and the permissions of a regular file. Raises OSError, also for a very large one."""
    handle = calls.open_exactly(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(handle, "rb", buffering=0) as file:
        return content_of(file.fileno()), stat.S_IMODE(os.fstat(file.fileno()).st_mode)


def content_of(handle: int) -> bytes:
    """Return the content of an open regular file. Raises OSError, also for a very large one."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file")
    if status.st_size > LARGEST_PLACE:
        raise OSError(errno.EFBIG, "File too large")
    parts: list[bytes] = []
    while piece := os.pread(handle, LARGEST_PLACE, sum(map(len, parts))):
        parts.append(piece)
        if sum(map(len, parts)) > LARGEST_PLACE:
            raise OSError(errno.EFBIG, "File too large")
    return b"".join(parts)


def put_file(path: str, content: bytes, mode: int) -> None:
    """Put a new file with exactly this content at a path, in one step. Raises OSError.

    Nobody can have the new file open: its first name is refused to everybody.
    """
    with parent(path) as (folder, name):
        fresh = os.fsencode(f"{RESERVED}{os.urandom(8).hex()}")
        making = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        temporary = calls.open_exactly(os.fsdecode(fresh), making, mode=0o600, within=folder)
        try:
            with open(temporary, "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode & _PERMISSIONS)
            calls.call("renameat2", folder, fresh, folder, name, 0)
        except BaseException:
            calls.call("unlinkat", folder, fresh, 0)
            raise


def truncate(path: str, size: int) -> None:
    """Cut or stretch a regular file. Raises OSError."""
    with exact(path) as handle:
        kind = os.fstat(handle).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(21, "Is a directory")
        if not stat.S_ISREG(kind):
            raise OSError(22, "Not a regular file")
        os.truncate(f"/proc/self/fd/{handle}", size)


def remove(path: str, *, folder: bool) -> None:
    """Delete a file or an empty folder. Raises OSError."""
    with parent(path) as (within, name):
        (os.rmdir if folder else os.unlink)(name, dir_fd=within)


def rename(old: str, new: str, flags: int) -> None:
    """Rename as renameat2 does. Raises OSError."""
    with parent(old) as (within, name), parent(new) as (beyond, named):
        calls.call("renameat2", within, name, beyond, named, flags)


def make_folder(path: str, mode: int) -> None:
    """Make a folder; ``mode`` already without the caller's umask. Raises OSError."""
    with parent(path) as (within, name):
        os.mkdir(name, mode & _PERMISSIONS, dir_fd=within)


def make_node(path: str, mode: int) -> None:
    """Make a file, a named pipe or a socket, and no device. Raises OSError."""
    if stat.S_IFMT(mode) not in _MAKABLE:
        raise PermissionError(1, "Operation not permitted")
    with parent(path) as (within, name):
        calls.call("mknodat", within, name, mode, 0)


def link(old: str, new: str) -> None:
    """Give a file a second name. Raises OSError."""
    with parent(old) as (within, name), parent(new) as (beyond, named):
        calls.call("linkat", within, name, beyond, named, 0)


def link_open(handle: int, new: str) -> None:
    """Give an unnamed file, known by its descriptor, a name. Raises OSError."""
    with parent(new) as (beyond, named):
        source = os.fsencode(f"/proc/self/fd/{handle}")
        calls.call("linkat", calls.AT_FDCWD, source, beyond, named, calls.AT_SYMLINK_FOLLOW)


def link_symbolically(text: str, new: str) -> None:
    """Make a symbolic link. Raises OSError."""
    with parent(new) as (within, name):
        calls.call("symlinkat", os.fsencode(text), within, name)


def change_mode(handle: int, mode: int) -> None:
    """Set the permissions of the object behind a descriptor. Raises OSError."""
    os.chmod(f"/proc/self/fd/{handle}", mode & _PERMISSIONS)


def change_owner(handle: int, user: int, group: int) -> None:
    """Set owner and group; 2^32-1 leaves one unchanged. Raises OSError."""
    calls.call("fchownat", handle, b"", user, group, calls.AT_EMPTY_PATH)


def change_times(handle: int, times: bytes | None) -> None:
    """Set access and modification time: two struct timespec, None for now. Raises OSError."""
    calls.call("utimensat", handle, b"", times, calls.AT_EMPTY_PATH)


def set_attribute(handle: int, name: str, value: bytes, flags: int) -> None:
    """Set an extended attribute, if it is one of the user's. Raises OSError."""
    _known_attribute(name)
    os.setxattr(f"/proc/self/fd/{handle}", name, value, flags)


def remove_attribute(handle: int, name: str) -> None:
    """Remove an extended attribute, if it is one of the user's. Raises OSError."""
    _known_attribute(name)
    os.removexattr(f"/proc/self/fd/{handle}", name)


def _known_attribute(name: str) -> None:
    if not name.startswith(_XATTR_PREFIXES):
        raise PermissionError(1, "Operation not permitted")


def set_file_flags(handle: int, request: int, argument: bytes) -> None:
    """Carry out one of the ioctls that set attributes of a file or folder. Raises OSError.

    What would make a file immovable for its own user (immutable, append-only) is refused.
    """
    if int.from_bytes(argument[:4], "little") & 0x38:
        raise PermissionError(1, "Operation not permitted")
    if not stat.S_ISREG(mode := os.fstat(handle).st_mode) and not stat.S_ISDIR(mode):
        raise OSError(25, "Inappropriate ioctl for device")
    opened = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(opened, request, argument)
    finally:
        os.close(opened)
