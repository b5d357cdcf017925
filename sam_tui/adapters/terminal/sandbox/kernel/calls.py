"""Raw system calls through the C library that Python itself does not offer."""

import ctypes
import os
import struct
import sys
from functools import cache
from typing import Any

from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine

NO_SYMLINKS = 0x04
"""openat2: refuses a symbolic link anywhere in the path (linux/openat2.h, RESOLVE_NO_SYMLINKS)."""
NO_MAGIC_LINKS = 0x02
"""openat2: refuses those links of /proc that lead to an object without a path (RESOLVE_NO_MAGICLINKS)."""
AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_REMOVEDIR = 0x200
AT_SYMLINK_FOLLOW = 0x400
AT_EMPTY_PATH = 0x1000

_SET_NO_NEW_PRIVS = 38
_CLOSE_RANGE = 436
_CLOSE_RANGE_UNSHARE = 2
_NO_DESCRIPTOR = 0xFFFFFFFF
_CLONE_FS = 0x200
_OPENAT2 = 437
_HOW = struct.Struct("=QQQ")
"""struct open_how."""
_OF_THIS_THREAD = struct.pack("=Ii", 0x20080522, 0)
"""The header of capget and capset, version 3, for the calling thread (linux/capability.h)."""


@cache
def libc() -> Any:
    """The C library, loaded on first use."""
    return ctypes.CDLL(None, use_errno=True)


def checked(result: Any) -> int:
    """The result of a function of the C library. Raises the OSError that it reports by a negative one."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def syscall(number: int, *arguments: Any) -> int:
    """A raw system call. Whole numbers are passed as words. Raises OSError."""
    widened = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return checked(libc().syscall(ctypes.c_long(number), *widened))


def call(name: str, *arguments: Any) -> int:
    """A system call of this machine by its name. Raises OSError."""
    native = machine()
    if native is None:
        raise OSError(38, "No system call table for this machine")
    return syscall(native.calls[name], *arguments)


def forbid_new_privileges() -> None:
    """No program started from here gains rights from its file (set-user-id, capabilities)."""
    word = ctypes.c_ulong
    if libc().prctl(_SET_NO_NEW_PRIVS, word(1), word(0), word(0), word(0)):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")


def unshare_descriptors() -> None:
    """Give the calling thread a descriptor table of its own, with the same entries. Raises OSError.

    By ``close_range`` over an empty range, because containers often refuse ``unshare``.
    """
    syscall(_CLOSE_RANGE, _NO_DESCRIPTOR, _NO_DESCRIPTOR, _CLOSE_RANGE_UNSHARE)


def unshare_place() -> bool:
    """Give the calling thread its own umask and working folder; False if the kernel refuses."""
    try:
        call("unshare", _CLONE_FS)
    except OSError:
        return False
    return True


def open_exactly(
    path: str, flags: int, *, mode: int = 0, within: int = AT_FDCWD, resolve: int = NO_SYMLINKS
) -> int:
    """Open a path in which nothing may be a link, not even its end. Raises OSError (ELOOP)."""
    how = _HOW.pack(flags | os.O_CLOEXEC, mode, resolve)
    return checked(_openat2()(_OPENAT2, within, os.fsencode(path), how, _HOW.size))


@cache
def _openat2() -> Any:
    """The call that most files are opened by, its arguments described once."""
    described = ctypes.CDLL(None, use_errno=True).syscall
    described.restype = ctypes.c_long
    text, long = ctypes.c_char_p, ctypes.c_long
    described.argtypes = (long, long, text, text, ctypes.c_size_t)
    return described


def drop_capabilities(mask: int) -> None:
    """Give up the capabilities of a bit mask, in the calling thread. Raises OSError.

    For good only with ``forbid_new_privileges``: under it no program gains what its caller lacks, so
    the bounding set may stay as it is.
    """
    effective, permitted, inheritable = capabilities()
    if permitted | inheritable:
        set_capabilities(effective & ~mask, permitted & ~mask, inheritable & ~mask)


def set_capabilities(*sets: int) -> None:
    """Set the effective, permitted and inheritable capabilities of the calling thread. Raises OSError."""
    words = [half for shift in (0, 32) for half in (v >> shift & 0xFFFFFFFF for v in sets)]
    call("capset", _OF_THIS_THREAD, struct.pack("=6I", *words))


def capabilities() -> tuple[int, int, int]:
    """The effective, permitted and inheritable capabilities of the calling thread as bit masks."""
    data = ctypes.create_string_buffer(24)
    call("capget", _OF_THIS_THREAD, data)
    low_e, low_p, low_i, high_e, high_p, high_i = struct.unpack("=6I", data.raw)
    return low_e | high_e << 32, low_p | high_p << 32, low_i | high_i << 32


class _Range(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_PAGE = 4096
_USUAL = 256
"""The bytes of a first read, which contain all but a few paths."""
_ENCODING = sys.getfilesystemencoding()
_MOST_STATUSES = 64
_LONGEST_STATUS = 64 * 1024


@cache
def _process_vm_readv() -> Any:
    """The call, its arguments described once."""
    described = libc().process_vm_readv
    pointer, long = ctypes.c_void_p, ctypes.c_ulong
    described.restype = ctypes.c_ssize_t
    described.argtypes = (ctypes.c_int, pointer, long, pointer, long, long)
    return described


class ProcessMemory:
    """Reads the memory of other processes. One instance belongs to one thread."""

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(_PAGE + 1)
        self._local = _Range(ctypes.addressof(self._buffer), _PAGE)
        self._remote = _Range(0, 0)
        self._local_at = ctypes.byref(self._local)
        self._remote_at = ctypes.byref(self._remote)
        self._read = _process_vm_readv()
        self._statuses: dict[int, int] = {}

    def piece(self, pid: int, address: int, size: int) -> bytes:
        """Up to ``size`` bytes (4096 at most) that do not cross the end of a page. Raises OSError."""
        return ctypes.string_at(self._buffer, self._fetch(pid, address, size))

    def _fetch(self, pid: int, address: int, size: int) -> int:
        self._remote.base = address
        self._remote.length = min(size, _PAGE - address % _PAGE)
        got = int(self._read(pid, self._local_at, 1, self._remote_at, 1, 0))
        if got <= 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return got

    def data(self, pid: int, address: int, size: int) -> bytes:
        """Exactly ``size`` bytes. Raises OSError."""
        parts = bytearray()
        while len(parts) < size:
            parts += self.piece(pid, address + len(parts), size - len(parts))
        return bytes(parts)

    def text(self, pid: int, address: int) -> str:
        """Read the NUL-terminated path at an address. Raises OSError, also if it is too long."""
        got = self._fetch(pid, address, _USUAL)
        self._buffer[got] = b"\0"
        usual = self._buffer.value
        if len(usual) < got:
            return usual.decode(_ENCODING, "surrogateescape")
        first = self.piece(pid, address, _PAGE)
        end = first.find(0)
        if end < 0:
            first += self.piece(pid, address + len(first), _PAGE)
            end = first.find(0)
            if not 0 <= end < _PAGE:
                raise OSError(36, "File name too long")
        return os.fsdecode(first[:end])

    def status(self, thread: int) -> bytes:
        """Read the present /proc/<thread>/status, by a descriptor that is kept open. Raises OSError."""
        opened = self._statuses.get(thread)
        if opened is not None:
            try:
                return os.pread(opened, _LONGEST_STATUS, 0)
            except OSError:  # the thread ended, and another one has its id
                os.close(self._statuses.pop(thread))
        handle = os.open(f"/proc/{thread}/status", os.O_RDONLY | os.O_CLOEXEC)
        while len(self._statuses) >= _MOST_STATUSES:
            os.close(self._statuses.pop(next(iter(self._statuses))))
        self._statuses[thread] = handle
        return os.pread(handle, _LONGEST_STATUS, 0)

    def close(self) -> None:
        """Close the descriptors that are kept open."""
        while self._statuses:
            os.close(self._statuses.popitem()[1])


def write_memory(pid: int, address: int, content: bytes) -> None:
    """Put a few bytes into the memory of another process. Raises OSError."""
    buffer = ctypes.create_string_buffer(content, len(content))
    local = _Range(ctypes.addressof(buffer), len(content))
    remote = _Range(address, len(content))
    word = ctypes.c_ulong
    written = libc().process_vm_writev(
        pid, ctypes.byref(local), word(1), ctypes.byref(remote), word(1), word(0)
    )
    if written != len(content):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
