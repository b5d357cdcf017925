"""The first floor of the sandbox: Landlock lets commands read everywhere and write where told."""

import functools
import os
import platform
import shutil
import stat
import struct
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from sam_tui.core.errors import ToolError
from sam_tui.core.ports import Confinement

# The same numbers on every Linux architecture that has Landlock (x86-64, aarch64, riscv64 ...).
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION = 1
_PATH_BENEATH = 1
_SET_NO_NEW_PRIVS = 38
_CLOSE_RANGE = 436
_CLOSE_RANGE_UNSHARE = 2
_NO_DESCRIPTOR = 0xFFFFFFFF

_LEAST_ABI = 3
"""Before this, truncation cannot be refused (linux/landlock.h), so outside files could be emptied."""

_WRITE_FILE = 1 << 1
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
# write_file, then remove_dir .. make_sym (bits 4 to 12), refer and truncate: all but reading.
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13)) | (1 << 13) | _TRUNCATE
_ON_A_FILE = _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPES = 0b11
"""Abstract unix sockets and signals stay within the sandbox."""

_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/pts",
    "/dev/ptmx",
    "/dev/shm",
)
_KEPT_RULESETS = 16


@functools.cache
def _libc() -> Any:
    """The C library, loaded on first use."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: Any) -> int:
    """A raw system call; raises OSError."""
    import ctypes

    widened = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_libc().syscall(ctypes.c_long(number), *widened))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _abi() -> int:
    """The Landlock version of the running kernel; 0 without."""
    if sys.platform != "linux":
        return 0
    try:
        return _syscall(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def _describe(abi: int) -> Confinement:
    """What this machine can enforce, in words for people."""
    kernel = f"{platform.system()} {platform.release()}"
    if abi >= _LEAST_ABI:
        scope = ", signals and abstract sockets kept inside" if abi >= 6 else ""
        return Confinement(
            "landlock", f"Landlock ABI {abi} on {kernel}: writes held to given folders{scope}"
        )
    if sys.platform != "linux":
        return Confinement("none", f"{kernel} has no Landlock; commands are not confined")
    if abi:
        return Confinement("none", f"Landlock ABI {abi} on {kernel} cannot refuse truncation")
    return Confinement("none", f"{kernel} offers no Landlock, or it is switched off")


class Sandbox:
    """What holds commands: rulesets for sets of writable folders, and a private temporary folder.

    A ruleset is a descriptor that a thread or a freshly forked process passes to ``restrict``; it is
    kept for as long as the folders stay the same ones.
    """

    def __init__(self) -> None:
        self._abi = _abi()
        self._confinement = _describe(self._abi)
        self._scratch: str | None = None
        self._rulesets: dict[tuple[tuple[str, int, int], ...], int] = {}
        self._closing: list[Callable[[], object]] = []
        self._close = weakref.finalize(self, _close_all, self._rulesets, self._closing)

    @property
    def confinement(self) -> Confinement:
        """What confined commands are held by."""
        return self._confinement

    @property
    def scratch(self) -> str:
        """The real path of the private temporary folder; it goes with the sandbox."""
        if self._scratch is None:
            self._scratch = os.path.realpath(tempfile.mkdtemp(prefix="sam-tui-"))
            self._closing.append(
                functools.partial(shutil.rmtree, self._scratch, ignore_errors=True)
            )
        return self._scratch

    def ruleset(self, writable: Sequence[str]) -> int | None:
        """The ruleset that allows writing below real folders and in the private temporary folder.

        None where the kernel can enforce nothing. Raises ``ToolError`` when the kernel refuses.
        """
        if self._confinement.kind == "none":
            return None
        key = tuple(_identity(folder) for folder in (*writable, self.scratch))
        known = self._rulesets.get(key)
        if known is not None:
            return known
        try:
            made = self._build([folder for folder, _, inode in key if inode])
        except OSError as error:
            raise ToolError(f"The sandbox could not be set up: {error.strerror}.") from error
        while len(self._rulesets) >= _KEPT_RULESETS:
            os.close(self._rulesets.pop(next(iter(self._rulesets))))
        self._rulesets[key] = made
        return made

    def close(self) -> None:
        """Release the rulesets and remove the private temporary folder."""
        self._close()

    def _build(self, folders: Sequence[str]) -> int:
        rights = _WRITES | (_IOCTL_DEV if self._abi >= 5 else 0)
        attributes = struct.pack("=QQQ", rights, 0, _SCOPES if self._abi >= 6 else 0)
        size = 24 if self._abi >= 6 else 16 if self._abi >= 4 else 8
        ruleset = _syscall(_CREATE_RULESET, attributes[:size], size, 0)
        try:
            for path in (*folders, *_DEVICES):
                _allow(ruleset, path, rights)
        except OSError:
            os.close(ruleset)
            raise
        return ruleset


def restrict(ruleset: int) -> None:
    """Hold the calling thread, and all it starts from now on, to a ruleset; there is no way back.

    Safe right after a fork: two system calls and no more. Raises OSError.
    """
    import ctypes

    word = ctypes.c_ulong
    if _libc().prctl(_SET_NO_NEW_PRIVS, word(1), word(0), word(0), word(0)):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    _syscall(_RESTRICT_SELF, ruleset, 0)


def unshare_descriptors() -> None:
    """Give the calling thread a descriptor table of its own, with the same entries. Raises OSError.

    By ``close_range`` over an empty range, because containers often refuse ``unshare``.
    """
    _syscall(_CLOSE_RANGE, _NO_DESCRIPTOR, _NO_DESCRIPTOR, _CLOSE_RANGE_UNSHARE)


def _identity(folder: str) -> tuple[str, int, int]:
    """Path, device and inode: a folder that was made anew needs a new rule."""
    try:
        found = os.stat(folder, follow_symlinks=False)
    except OSError:
        return folder, 0, 0
    return folder, found.st_dev, found.st_ino


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule for a path; one that is missing, or has become a link, gets none."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISLNK(kind):
            return
        allowed = rights if stat.S_ISDIR(kind) else rights & _ON_A_FILE
        _syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, handle), 0)
    finally:
        os.close(handle)


def _close_all(rulesets: dict[Any, int], closing: list[Callable[[], object]]) -> None:
    while rulesets:
        os.close(rulesets.popitem()[1])
    while closing:
        closing.pop()()
