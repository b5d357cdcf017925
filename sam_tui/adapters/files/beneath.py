"""Folders opened in one step that cannot leave where it started (openat2, linux/openat2.h)."""

import os
import struct
import sys
from collections.abc import Callable
from functools import cache

_OPENAT2 = 437
"""The same number on every Linux architecture."""
_WORKING_FOLDER = -100
_NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08


def open_folder_beneath(folder: int, path: str) -> int | None:
    """The folder at a relative path below an open one, no link followed and nothing above entered.

    None wherever that cannot be had, for whichever reason: walking there step by step tells it.
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
    import ctypes  # by the first file that is touched, not at the start

    raw = ctypes.CDLL(None).syscall
    word = ctypes.c_long

    def call(folder: int, path: bytes, how: bytes) -> int:
        return int(raw(word(_OPENAT2), word(folder), path, how, word(len(how))))

    tried = call(_WORKING_FOLDER, b"/", struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, 0))
    if tried < 0:
        return None
    os.close(tried)
    return call
