"""Whether a terminal waits for somebody: what its processes do, and how much input is unread."""

import os
import re
import select
import signal
import termios
from collections.abc import Iterable
from dataclasses import dataclass
from fcntl import ioctl

from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields

_READS, _POLLS, _ON_PATHS = ({
    "x86_64": (
        {0, 19},
        {7, 23, 232, 270, 271, 281},
        {2, 4, 6, 21, 42, 59, *range(82, 91), 217, *range(257, 270), 332, 437, 439},
    ),
    "aarch64": (
        {63, 65},
        {22, 72, 73},
        {*range(33, 39), 48, 56, 61, 78, 79, 203, 221, 291, 437, 439},
    ),
}).get(os.uname().machine, (set[int](), set[int](), set[int]()))
"""Numbers of system calls by machine: those that read, those that wait for one of several descriptors, and
those with a path or an address. The latter wait for a disk, the network or the supervisor, which counts
as work."""
_NO_CALL = -1
_WORKS = {_NO_CALL, *_ON_PATHS}
_TASKS = 32
_PENDING = re.compile(rb"^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$", re.MULTILINE)
_PROMPT_ENDS = ":?>$#%)]"


@dataclass(frozen=True, slots=True)
class Modes:
    """The input modes of a terminal: ``echo`` shows it, ``lines`` hands it on line by line."""

    echo: bool
    lines: bool

    @property
    def secret(self) -> bool:
        """Whether input is hidden. Line editors echo by themselves, not line by line."""
        return self.lines and not self.echo


def modes(descriptor: int) -> Modes:
    """The modes of the terminal behind a descriptor, either side of it."""
    try:
        flags = termios.tcgetattr(descriptor)[3]
    except (termios.error, OSError):
        return Modes(echo=True, lines=True)
    return Modes(bool(flags & termios.ECHO), bool(flags & termios.ICANON))


def unread(terminal: str) -> bool:
    """Whether input waits in a terminal that its program has not read yet."""
    try:
        handle = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        # The kernel hands input over in its own time; looking whether some is there makes it do so.
        looking = select.poll()
        looking.register(handle, select.POLLIN)
        looking.poll(0)
        waiting = ioctl(handle, termios.FIONREAD, b"\0\0\0\0")
    except OSError:
        return False
    finally:
        os.close(handle)
    return waiting != b"\0\0\0\0"


@dataclass(frozen=True, slots=True)
class Blocked:
    """The waiting of processes: ``reading`` the terminal, or ``polling`` several things.

    A process does not poll while any thread of it works: a helper of a shell polls all the time. One that
    is stopped does neither, though its system call stays the same: its shell is about to take over.
    ``readable`` is false where the system does not tell, as without /proc.
    """

    reading: bool = False
    polling: bool = False
    readable: bool = True


def blocked(pids: Iterable[int], terminal: str) -> Blocked:
    """Return how the threads of some processes wait."""
    polling = readable = False
    for pid in pids:
        tasks = _tasks(pid)
        before = [_turns(pid, task) for task in tasks]
        calls = [call for task in tasks if (call := _call(pid, task)) is not None]
        readable |= bool(calls and _READS)
        reads = any(number in _READS and _is(pid, first, terminal) for number, first in calls)
        if reads and not _stopped(pid):
            return Blocked(reading=True)
        numbers = {number for number, _ in calls}
        works = not numbers.isdisjoint(_WORKS)
        if not works and not _POLLS.isdisjoint(numbers):
            # One may have run since it was looked at, and have left its work to another.
            polling |= before == [_turns(pid, task) for task in tasks] and not _stopped(pid)
    return Blocked(polling=polling, readable=readable)


def pending(pid: int, sent: signal.Signals) -> bool:
    """Whether a process has a pending signal."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            masks = _PENDING.findall(file.read())
    except OSError:
        return False
    return any(int(mask, 16) >> (sent - 1) & 1 for mask in masks)


def looks_like_prompt(line: str) -> bool:
    """Whether a last line without an end reads as a question."""
    text = line.rstrip()
    return bool(text) and text[-1] in _PROMPT_ENDS


def _stopped(pid: int) -> bool:
    fields = stat_fields(pid)
    return fields is not None and fields[0] == b"T"


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")[:_TASKS]
    except OSError:
        return []


def _call(pid: int, task: str) -> tuple[int, int] | None:
    """The number and the first argument of the system call a thread is blocked in.

    The number is ``_NO_CALL`` for a running thread; None if it may not be asked.
    """
    try:
        with open(f"/proc/{pid}/task/{task}/syscall", "rb") as file:
            words = file.read().split(None, 2)
    except OSError:
        return None
    try:
        return int(words[0]), int(words[1], 16)
    except (ValueError, IndexError):
        return _NO_CALL, -1


def _turns(pid: int, task: str) -> bytes:
    """Return how long and how often a thread ran; empty if the system does not report it."""
    try:
        with open(f"/proc/{pid}/task/{task}/schedstat", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _is(pid: int, descriptor: int, terminal: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}") in (terminal, "/dev/tty")
    except OSError:
        return False
