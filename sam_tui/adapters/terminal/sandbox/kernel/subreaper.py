"""A process that becomes the parent of every orphan below it (PR_SET_CHILD_SUBREAPER), and ends them.

No ``setsid``, second fork or changed environment takes a process out of its descendants: while this
process has no child, it has no descendant. Uses only the standard library.
"""

import ctypes
import fcntl
import os
import select
import signal
import time
from collections.abc import Collection, Iterable
from contextlib import suppress

from sam_tui import signals
from sam_tui.adapters.terminal.sandbox.kernel.calls import libc

_SET_CHILD_SUBREAPER = 36
_SHORTEST, _LONGEST = 0.001, 0.5
"""The least and the most seconds between two checks whether killed processes have ended."""
_DRAIN = 4096


class Subreaper:
    """This process, from now on the parent of orphans unless the kernel refuses. For the main thread."""

    def __init__(self, lowest: int = 0) -> None:
        """Its descriptors are not below ``lowest``."""
        word = ctypes.c_ulong
        libc().prctl(_SET_CHILD_SUBREAPER, word(1), word(0), word(0), word(0))
        pipe = os.pipe2(os.O_NONBLOCK)
        self._ends, self._wakes = (fcntl.fcntl(p, fcntl.F_DUPFD_CLOEXEC, lowest) for p in pipe)
        for descriptor in pipe:
            os.close(descriptor)
        signals.ignore(signal.SIGCHLD)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def fileno(self) -> int:
        """Readable when a child has ended."""
        return self._ends

    def reap(self, besides: Collection[int] = ()) -> None:
        """Reap every child that has ended, but for some."""
        with suppress(BlockingIOError):
            os.read(self._ends, _DRAIN)
        for child in children(os.getpid()):
            if child not in besides:
                _reap(child)

    def end(self, besides: Collection[int] = (), *, grace: float = 0.0) -> None:
        """End all descendants but some children and those below them; returns once they have ended.

        They get SIGTERM and ``grace`` seconds first. Who runs as a user out of reach is left.
        """
        deadline = time.monotonic() + grace
        if grace:
            _send(descendants(os.getpid(), besides), signal.SIGTERM)
        pause, earlier = _SHORTEST, list[int]()
        while True:
            self.reap(besides)
            living = descendants(os.getpid(), besides)
            if not living:
                return
            if time.monotonic() >= deadline and not _send(living, signal.SIGKILL):
                return
            # No pause before the next signal while processes go on starting others.
            pause = min(2 * pause, _LONGEST) if living == earlier else _SHORTEST
            if living == earlier or time.monotonic() < deadline:
                select.select([self._ends], [], [], pause)
            earlier = living

    def close(self) -> None:
        """Stop listening for ended children, right after a fork: the parent goes on with that."""
        signal.set_wakeup_fd(-1)
        os.close(self._ends)
        os.close(self._wakes)


def children(pid: int) -> list[int]:
    """The children of a process, those among them that ended and were not reaped."""
    numbers = list[int]()
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as listed:
                numbers += map(int, listed.readall().split())
    return numbers


def descendants(pid: int, besides: Collection[int] = ()) -> list[int]:
    """Return children, their children and so on, parents first; without those ``besides`` and theirs."""
    numbers = [child for child in children(pid) if child not in besides]
    for number in numbers:
        numbers += children(number)
    return numbers


def _reap(child: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def _send(pids: Iterable[int], number: signal.Signals) -> bool:
    """Signal each; False if all of them refuse."""
    refusals = list[bool]()
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            refusals.append(False)
        except PermissionError:
            refusals.append(True)
        else:
            refusals.append(False)
    return not all(refusals)
