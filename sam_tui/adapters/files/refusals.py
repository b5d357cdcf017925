"""Errors of the operating system as sentences: cause, file, and the next thing to do."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import printable

_MEANINGS: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("not found", "Check the path by listing the folder above it."),
    errno.ENOTDIR: ("a part of this path is a file, not a folder", "Check the path."),
    errno.EISDIR: ("is a folder", "Name a file in it."),
    errno.EEXIST: ("already exists", "Choose another name."),
    errno.EACCES: ("permission denied", "Its mode, or that of a folder above it, forbids this."),
    errno.EPERM: ("not permitted", "The system protects it (owner, immutable flag or policy)."),
    errno.EROFS: ("read-only file system", "Nothing can be changed there; use another place."),
    errno.ENOSPC: ("the disk is full", "The old content is untouched; free some space first."),
    errno.EDQUOT: ("the disk quota is used up", "The old content is untouched; free some space."),
    errno.EFBIG: ("too large for this file system or process", "The old content is untouched."),
    errno.ENAMETOOLONG: ("the name is too long", "Most systems allow 255 bytes for one name."),
    errno.ELOOP: ("a link that leads nowhere or in a circle", "Name the file itself."),
    errno.EINVAL: ("not a name this file system accepts", "Choose another name."),
    errno.ENOTEMPTY: ("a folder that is not empty is there", "Choose another name."),
    errno.EXDEV: ("lies on another file system", "Move the files in it one by one."),
    errno.EBUSY: ("in use by the system", "Try again later."),
    errno.ETXTBSY: ("a program that is running", "Stop it first."),
    errno.ENXIO: ("a special file, not a regular one", "Only regular files can be used."),
    errno.EIO: ("the disk failed", "Try again; the device may be broken."),
    errno.EMFILE: ("too many open files", "Try again when other work has finished."),
    errno.ENFILE: ("too many open files", "Try again when other work has finished."),
    errno.ESTALE: ("changed on its server", "Try again."),
}


def refusal(error: OSError, where: Location, done: str) -> ToolError:
    """The error a model reads when the system refused; ``done`` is a participle such as ``read``."""
    if error.errno == errno.ENOENT and where.root is not None and not os.path.isdir(where.root):
        return ToolError(
            f"{printable(where.display_path)} cannot be {done}: the folder {printable(where.root)} itself "
            "is gone.",
            hint="Nothing can be read or written there until it is back; tell the person.",
        )
    what, hint = _MEANINGS.get(error.errno or 0, (error.strerror or "the system refused", ""))
    return ToolError(f"{printable(where.display_path)} cannot be {done}: {what}.", hint=hint)


def changed(where: Location) -> ToolError:
    """The error for a link where the check saw none: exchanged meanwhile, or a loop."""
    try:
        os.stat(where.real)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return refusal(error, where, "followed")
    return ToolError(
        f"{printable(where.display_path)} changed while it was being checked: a link stands in its"
        " path now.",
        hint="Nothing was read or written. Look at the folder again before the next try.",
    )


def special(where: Location) -> ToolError:
    """A FIFO, socket or device: opening one can block or do things."""
    return ToolError(
        f"{printable(where.display_path)} is a special file (device, pipe or socket), not a regular one.",
        hint="Only regular files can be read and written.",
    )


@contextmanager
def explained(where: Location, done: str) -> Generator[None, None, None]:
    """Turn the system's refusals inside into a ``ToolError``."""
    try:
        yield
    except OSError as error:
        raise refusal(error, where, done) from error
    except ValueError as error:  # a NUL in the name
        raise ToolError(f"{printable(where.display_path)} cannot be {done}: {error}.") from error
