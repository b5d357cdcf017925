"""The file that a new content replaces, and the temporary file that holds it until then."""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Literal

from sam_tui.adapters.files.descent import OpenedEntry
from sam_tui.adapters.files.refusals import changed, special
from sam_tui.core.accesses import Location


def kind_of(mode: int) -> Literal["file", "directory", "link", "other"]:
    """Return the kind of file that a mode stands for."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def insist_on_regular(mode: int, where: Location) -> None:
    """Raise ``ToolError`` or ``OSError`` for anything but a regular file."""
    match kind_of(mode):
        case "link":
            raise changed(where)
        case "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        case "other":
            raise special(where)
        case "file":
            return


def replaceable(entry: OpenedEntry, where: Location, *, replace: bool) -> os.stat_result | None:
    """The status of the file to be replaced; None if there is none."""
    try:
        old = entry.stat()
    except FileNotFoundError:
        return None
    insist_on_regular(old.st_mode, where)
    if not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    # Renaming over a write-protected file would work, but not as its owner intended.
    if not os.access(entry.name, os.W_OK, dir_fd=entry.folder, effective_ids=_EFFECTIVE):
        readonly = os.fstatvfs(entry.folder).f_flag & os.ST_RDONLY
        code = errno.EROFS if readonly else errno.EACCES
        raise OSError(code, os.strerror(code))
    return old


_VOUCHING = ("security.capability", "security.ima", "security.evm")
_EFFECTIVE = os.access in os.supports_effective_ids


@contextmanager
def filled(
    beside: OpenedEntry,
    content: Iterable[bytes],
    old: os.stat_result | None,
    *,
    mode: int | None = None,
    usual: int = 0o666,
) -> Generator[OpenedEntry, None, None]:
    """A temporary file with the content, in the same folder; gone afterwards unless renamed.

    With ``old`` it gets that one's owner and mode bits, and nobody else can read it before, and the
    extended attributes of the file in its place. ``mode`` sets the bits instead; ``usual`` are
    those of a new file before the umask.
    """
    temporary = OpenedEntry(beside.folder, f".{secrets.token_hex(12)}.tmp")
    secret = old is not None or mode is not None
    target = temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else usual)
    try:
        try:
            for piece in content:
                remaining = memoryview(piece)
                while remaining:
                    remaining = remaining[os.write(target, remaining) :]
            if old is not None:
                _liken(target, old)
            if mode is not None:
                os.fchmod(target, mode)
            if old is not None:
                _copy_attributes(beside, target)
        finally:
            os.close(target)
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary.name, dir_fd=temporary.folder)


def _liken(target: int, old: os.stat_result) -> None:
    """Owner where allowed, then mode bits; set-id bits only stay with the owner they were made for."""
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(target)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(target, old.st_uid, old.st_gid)
        except PermissionError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(target, mode)


def _copy_attributes(source: OpenedEntry, target: int) -> None:
    """Copy extended attributes, access lists among them, as far as the system allows it.

    Not those that certify the old content: capabilities and signatures.
    """
    if sys.platform != "linux":
        return
    path = f"/proc/self/fd/{source.folder}/{source.name}"
    with suppress(OSError):
        for name in os.listxattr(path, follow_symlinks=False):
            if name not in _VOUCHING:
                with suppress(OSError):
                    os.setxattr(target, name, os.getxattr(path, name, follow_symlinks=False))
