"""Whether a change outside could succeed at all: nobody is asked about what fails by itself.

`mkdir -p` tries every folder on the way, `rm -f` what is not there, an installer places that are not
the person's, and Python would keep the bytecode of every module that it loads, as cargo does its locks.
Such a call is left to the kernel, which refuses it with its own error. A wrong answer here costs a
question or a plain refusal, never a write: Landlock decides all calls that are let through.
"""

import os
import stat
from collections.abc import Callable

Chance = Callable[[str], bool]
"""Whether the caller could make a change at a real path."""
_BYTECODE = "__pycache__"
_OF_CARGO = (".package-cache", ".global-cache")


def can_make(real: str) -> bool:
    """Whether a name is free and its folder writable."""
    return _takes_names(real) and not os.path.lexists(real) and not _done_without(real)


def can_remove(real: str) -> bool:
    """Whether a path exists, in a folder that can change."""
    return os.path.lexists(real) and _takes_names(real)


def can_change(real: str) -> bool:
    """Whether the path is a writable file."""
    return os.access(real, os.W_OK) and not os.path.isdir(real)


def can_open(real: str, flags: int) -> bool:
    """Whether an open for writing, with these flags, could succeed."""
    try:
        mode = os.lstat(real).st_mode
    except OSError:
        return bool(flags & os.O_CREAT) and _takes_names(real) and not _done_without(real)
    if flags & os.O_CREAT and flags & os.O_EXCL:
        return False
    if stat.S_ISDIR(mode) and flags & os.O_TMPFILE != os.O_TMPFILE:
        return False
    return os.access(real, os.W_OK) and not _done_without(real)


def can_rename(old: str, new: str) -> bool:
    """Whether the old name can be removed and the new one made."""
    return can_remove(old) and _takes_names(new)


def can_link(old: str, new: str) -> bool:
    """Whether a file exists and its second name can be made."""
    return os.path.lexists(old) and can_make(new)


def _takes_names(real: str) -> bool:
    return os.access(os.path.dirname(real), os.W_OK | os.X_OK)


def _done_without(real: str) -> bool:
    """Whether programs can do without a file: Python's bytecode (PEP 3147), cargo's lock of its home
    and its notes of use there."""
    folder, name = os.path.split(real)
    bytecode = name == _BYTECODE or (os.path.basename(folder) == _BYTECODE and ".pyc" in name)
    return bytecode or name.startswith(_OF_CARGO)
