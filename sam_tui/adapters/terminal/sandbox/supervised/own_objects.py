"""The objects that a run made outside of its folders: pseudo-terminals, shared memory, System V objects.

The first two are in folders that all programs share, so Landlock allows neither: the supervisor opens them.
"""

import fcntl
import os
import stat
import struct
from contextlib import suppress

from sam_tui.adapters.terminal.sandbox.kernel.calls import call
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target, stat_fields

TERMINAL_MAKERS = ("/dev/ptmx", "/dev/pts/ptmx")
TERMINALS = "/dev/pts/"
_SHARED = "/dev/shm/"
_REMOVE = 0
"""IPC_RMID."""
_GET_NUMBER = 0x80045430
"""TIOCGPTN: returns the number of the terminal that belongs to a PTY master."""
_FIRST_MAJOR, _LAST_MAJOR = 136, 143
"""The major device numbers of pseudo-terminals (Linux devices.txt)."""


class Own:
    """The terminals and shared memory of one run."""

    def __init__(self) -> None:
        self._terminals: set[str] = set()
        self._shared: dict[str, tuple[int, int]] = {}
        """The run's shared memory by path; an object with another device and inode is not the run's."""
        self.numbered: set[tuple[str, int]] = set()
        """The System V objects that the run made: kind (``shm``, ``sem``, ``msg``) and number."""

    def holds(self, target: Target, real: str) -> bool:
        """Whether an object belongs to this run, or is the caller's own terminal."""
        if real.startswith(_SHARED):
            return real in self._shared or self._below(real)
        if real.startswith(TERMINALS):
            return real in self._terminals or real == controlling(target)
        return False

    def may_make(self, real: str) -> bool:
        """Whether it would be new shared memory."""
        above = os.path.dirname(real)
        free = f"{above}/" == _SHARED or self._below(real)
        return real.startswith(_SHARED) and free and not os.path.lexists(real)

    def add_shared(self, real: str) -> None:
        """Note shared memory that the run has just made."""
        if real.startswith(_SHARED):
            with suppress(OSError):
                status = os.lstat(real)
                self._shared[real] = (status.st_dev, status.st_ino)

    def removed(self, real: str) -> None:
        """Forget removed shared memory: any program may make it again."""
        self._shared.pop(real, None)

    @property
    def left(self) -> bool:
        """Whether there may be shared memory or System V objects of the run."""
        return bool(self._shared or self.numbered)

    def remove_left(self) -> None:
        """Remove the residue of the run in shared memory, and its System V objects."""
        for kind, number in self.numbered:
            with suppress(OSError):
                call(f"{kind}ctl", number, _REMOVE, _REMOVE)  # semctl takes the command last
        for real, (device, inode) in sorted(self._shared.items(), reverse=True):
            with suppress(OSError):
                status = os.lstat(real)
                if (status.st_dev, status.st_ino) == (device, inode):
                    if stat.S_ISDIR(status.st_mode):
                        os.rmdir(real)
                    else:
                        os.unlink(real)

    def opened_master(self, master: int) -> None:
        """Note the terminal of a master that the run has just opened."""
        number = struct.unpack("=I", fcntl.ioctl(master, _GET_NUMBER, b"\0" * 4))[0]
        self._terminals.add(f"{TERMINALS}{number}")

    def _below(self, real: str) -> bool:
        while len(real := os.path.dirname(real)) > len(_SHARED):
            if real in self._shared:
                return True
        return False


def is_shared(real: str) -> bool:
    """Whether a real path is that of shared memory."""
    return real.startswith(_SHARED)


def controlling(target: Target) -> str:
    """The path of the pseudo-terminal that controls a target; empty without one."""
    fields = stat_fields(target.thread)
    if fields is None:
        return ""
    device = int(fields[4])
    major, minor = os.major(device & 0xFFFFFFFF), os.minor(device & 0xFFFFFFFF)
    if not _FIRST_MAJOR <= major <= _LAST_MAJOR:
        return ""
    return f"{TERMINALS}{(major - _FIRST_MAJOR) * 256 + minor}"
