"""Resource usage of processes and of the whole system; a run is counted only near its limit."""

import os
import re
from collections.abc import Callable, Iterable

COUNT_SECONDS = 0.1
"""Seconds between two counts of processes, shorter than the time in which a thousand can start."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_COUNTED_FOR = 50
"""How often a count is relied on before the next one, while the use of the system does not rise."""
_FORKS = re.compile(rb"^processes (\d+)$", re.MULTILINE)
_SKIPPED = 2000
"""Process numbers that the kernel may skip because they are in use."""
_SYSTEM = re.compile(rb"^(AnonPages|Shmem|SwapTotal|SwapFree): +(\d+) kB$", re.MULTILINE)
_SHARE = re.compile(rb"^(?:Pss_Anon|Pss_Shmem): +(\d+) kB$", re.MULTILINE)
_SWAPPED = re.compile(rb"^SwapPss: +(\d+) kB$", re.MULTILINE)
_WHOLE_SHARE = re.compile(rb"^Pss: +(\d+) kB$", re.MULTILINE)


class Bound:
    """The limit of a run for one resource; the run is counted only when it may have exceeded the limit.

    The system's use includes the run's. So the run is within its limit while the system is (0: unknown),
    and after a count until the system's use has grown by the room that was left.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._room = 0
        self._unlooked = 0

    def is_exceeded(self, system: int, count: Callable[[], int]) -> bool:
        """Whether the run has more than its limit; ``system`` is the count of the whole system."""
        self._unlooked += 1
        relied_on = system < self._room and self._unlooked < _COUNTED_FOR
        if relied_on or 0 < system <= self._most:
            return False
        self._unlooked = 0
        number = count()
        self._room = max(self._most, system + self._most - number)
        return number > self._most


def system_amounts() -> dict[str, int]:
    """Return the whole system's use of everything that a run is counted for, by the limit's name."""
    return {"processes": tasks_of_the_system(), "total_memory": _memory_of_the_system()}


def tasks_of_the_system() -> int:
    """Return the system's number of threads: the kernel counts by person, and these are no fewer."""
    try:
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (ValueError, IndexError):
        return 0


def forks_of_the_system() -> int:
    """Return how many processes and threads the system has started so far; 0 if it does not tell."""
    match = _FORKS.search(_read("/proc/stat"))
    return int(match[1]) if match else 0


def numbers_rise(process: int, forks: int) -> bool:
    """Whether all that began after a process have greater numbers than it.

    The kernel gives them in turn, and begins with the lowest again after the greatest. ``forks`` is what
    ``forks_of_the_system`` told when the process had begun.
    """
    try:
        greatest = int(_read("/proc/sys/kernel/pid_max"))
    except ValueError:
        return False
    # A start that fails uses up a number, too, and is not counted.
    since = 2 * (forks_of_the_system() - forks) + _SKIPPED
    return forks > 0 and process + since < greatest


def memory_of(processes: Iterable[int], most: int) -> int:
    """Bytes of private and shared memory that these processes wrote; shared pages count once.

    Files that the system can read again are left out. Where even all that is resident is no more than
    ``most``, that larger number is the answer, because it costs little.
    """
    pids = tuple(processes)
    resident = sum(map(_resident, pids))
    return resident if resident <= most else sum(map(_written, pids))


def _memory_of_the_system() -> int:
    """Return the bytes of memory and swap that programs wrote, without the content of files."""
    sizes = {name: int(size) for name, size in _SYSTEM.findall(_read("/proc/meminfo"))}
    swapped = sizes.get(b"SwapTotal", 0) - sizes.get(b"SwapFree", 0)
    return (sizes.get(b"AnonPages", 0) + sizes.get(b"Shmem", 0) + swapped) * 1024


def _resident(process: int) -> int:
    fields = _read(f"/proc/{process}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _written(process: int) -> int:
    rollup = _read(f"/proc/{process}/smaps_rollup")
    # Linux before 5.9 does not distinguish kinds; a process that hides its memory counts with all of it.
    sizes = _SHARE.findall(rollup) or _WHOLE_SHARE.findall(rollup)
    if not sizes:
        return _resident(process)
    return sum(map(int, sizes + _SWAPPED.findall(rollup))) * 1024


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
