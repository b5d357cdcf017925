"""Renaming that never replaces a file: by the kernel where it can, else as safely as possible."""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache

from sam_tui.adapters.files.descent import OpenedEntry

_Call = Callable[[OpenedEntry, OpenedEntry], int]
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def rename_new(source: OpenedEntry, target: OpenedEntry) -> None:
    """Rename ``source`` to ``target``. Raises ``FileExistsError`` if the target exists."""
    call = _kernel_call()
    if call is not None:
        code = call(source, target)
        if code == 0:
            return
        if code not in _UNSUPPORTED:
            raise OSError(code, os.strerror(code))
    rename_checked(source, target)


def link(source: OpenedEntry, target: OpenedEntry) -> None:
    """Give a file a second name. Raises OSError, on a file system without hard links too."""
    folders = {"src_dir_fd": source.folder, "dst_dir_fd": target.folder}
    os.link(source.name, target.name, **folders, follow_symlinks=False)


def rename_checked(source: OpenedEntry, target: OpenedEntry) -> None:
    """The same without the kernel's help: by a hard link for files, else look first, then rename."""
    if stat.S_ISREG(source.stat().st_mode):
        try:
            link(source, target)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise
        else:
            os.unlink(source.name, dir_fd=source.folder)
            return
    try:
        target.stat()
    except FileNotFoundError:
        rename_over(source, target)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def rename_over(source: OpenedEntry, target: OpenedEntry) -> None:
    """Rename; an existing file or link at the target is replaced (the link itself, not its target)."""
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


@cache
def _kernel_call() -> _Call | None:
    name, flag = ("renameatx_np", 4) if sys.platform == "darwin" else ("renameat2", 1)
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    function.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )

    def call(source: OpenedEntry, target: OpenedEntry) -> int:
        old, new = os.fsencode(source.name), os.fsencode(target.name)
        if function(source.folder, old, target.folder, new, flag) == 0:
            return 0
        return ctypes.get_errno()

    return call
