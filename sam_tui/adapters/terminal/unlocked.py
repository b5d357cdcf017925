"""Reading many times outside the interpreter's lock.

The kernel hands out 4 KiB of a terminal's output at most. A thread that takes them one by one has to get
the lock back after each, and waits for whoever draws meanwhile; the C library's ``fread`` takes them all
in one call.
"""

import ctypes
import errno
import os
from functools import cache
from typing import Any

_UNBUFFERED = 2
"""``_IONBF`` of stdio.h."""
_LATER = (errno.EAGAIN, errno.EINTR)


class Unlocked:
    """Reads a descriptor that does not block, ``most`` bytes at once; the descriptor stays the caller's."""

    def __init__(self, descriptor: int, most: int) -> None:
        self._library = _library()
        self._most = most
        self._buffer = ctypes.create_string_buffer(most)
        copy = os.dup(descriptor)
        self._stream = self._library.fdopen(copy, b"rb")
        if not self._stream:
            os.close(copy)
            raise OSError(ctypes.get_errno(), "no stream for a terminal")
        self._library.setvbuf(self._stream, None, _UNBUFFERED, 0)

    def read(self) -> tuple[bytes, bool]:
        """All that is there, and whether nothing will ever come after it."""
        size = self._library.fread(self._buffer, 1, self._most, self._stream)
        data = ctypes.string_at(self._buffer, size)
        if size == self._most:
            return data, False
        # Read before the next call may change it; at an end there is none.
        failed = ctypes.get_errno()
        ended = bool(self._library.feof(self._stream)) or failed not in _LATER
        self._library.clearerr(self._stream)
        return data, ended

    def close(self) -> None:
        """Read no more; safe to call again."""
        stream, self._stream = self._stream, None
        if stream:
            self._library.fclose(stream)


@cache
def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.fdopen.argtypes, library.fdopen.restype = (ctypes.c_int, ctypes.c_char_p), pointer
    library.setvbuf.argtypes = (pointer, pointer, ctypes.c_int, size)
    library.fread.argtypes, library.fread.restype = (pointer, size, size, pointer), size
    for name in ("feof", "clearerr", "fclose"):
        getattr(library, name).argtypes = (pointer,)
    return library
