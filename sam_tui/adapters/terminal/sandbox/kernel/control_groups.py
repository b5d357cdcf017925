"""A control group for each run (cgroups(7)): the kernel counts its processes, and ``setsid`` leaves none.

Used where no supervisor watches a run and it has no process namespace of its own. Standard library alone.
"""

import fcntl
import functools
import os
import select
import signal
from collections.abc import Iterator
from contextlib import suppress

_NAME = "sam-tui-run-"
_MOST_ROUNDS = 200
_MOMENT = 0.02
_MOST_TRIES = 3
_UNLIMITED = {
    "memory.max": "max",
    "memory.high": "max",
    "memory.swap.max": "max",
    "cpu.max": "max",
    "io.max": "",
    "cpuset.cpus": "",
}
"""The beginning of these files of a group if they limit nothing (control groups version 2)."""

_USABLE: dict[str, str] = {}
"""The folder in which a group was created, by the content of ``/proc/self/cgroup``."""


class ControlGroup:
    """A group of processes, as a folder in a hierarchy that counts processes.

    The program that made the folder locks it; if it was killed, the next program removes the folder.
    """

    def __init__(self, path: str, lock: int = -1) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls, most: int) -> "ControlGroup | None":
        """A new group for at most so many processes and threads; None where none can be made."""
        membership = _read("/proc/self/cgroup")
        remembered = _USABLE.get(membership)
        for parent in (
            parents(_read("/proc/self/mountinfo"), membership)
            if remembered is None
            else [remembered]
        ):
            _sweep(parent)
            for _ in range(_MOST_TRIES):
                try:
                    group = cls._create_in(parent, most)
                except OSError:
                    break
                if group is not None:
                    _USABLE[membership] = parent
                    return group
        return None

    @classmethod
    def _create_in(cls, parent: str, most: int) -> "ControlGroup | None":
        """A group there; None if another program's sweep came before the lock. Raises OSError."""
        path = f"{parent}/{_NAME}{os.urandom(8).hex()}"
        os.mkdir(path, 0o700)
        group = cls(path)
        try:
            group._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(group._lock, fcntl.LOCK_EX)
            _write(f"{path}/pids.max", most)
        except OSError:
            swept = not os.path.isdir(path)
            group.remove()
            if swept:
                return None
            raise
        return group

    def admit(self, pid: int) -> bool:
        """Add a process that has started no other yet. If that is refused, remove the group; False."""
        try:
            _write(f"{self.path}/cgroup.procs", pid)
        except OSError:
            self.remove()
            return False
        return True

    def admit_self(self) -> None:
        """Enter the group, right after a fork. Where that is refused, the process is not counted."""
        with suppress(OSError):
            _write(f"{self.path}/cgroup.procs", os.getpid())

    def processes(self) -> set[int]:
        """The processes in the group, except those of other process namespaces."""
        return {int(word) for word in _read(f"{self.path}/cgroup.procs").split()} - {0}

    @property
    def overflowed(self) -> bool:
        """Whether a process could not start because the group was full."""
        events = _read(f"{self.path}/pids.events").split()
        if len(events) < 2 or events[1] == "0":
            return False
        # Earlier kernels count refusals of a group further up here, too.
        peak, most = _read(f"{self.path}/pids.peak"), _read(f"{self.path}/pids.max")
        return (
            not peak.strip().isdecimal() or not most.strip().isdecimal() or int(peak) >= int(most)
        )

    def end(self) -> None:
        """Kill all that is in it: none can start another meanwhile."""
        for _ in range(_MOST_ROUNDS):
            with suppress(OSError):
                _write(f"{self.path}/pids.max", 0)
            with suppress(OSError):
                _write(f"{self.path}/cgroup.kill", 1)
            if not (processes := self.processes() - {os.getpid()}):
                return
            for pid in sorted(processes):  # a shell before what it waits for
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            select.select([], [], [], _MOMENT)

    def remove(self) -> None:
        """Remove its folder if nothing is in it; else it is swept later. Can be called again."""
        with suppress(OSError):
            os.rmdir(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def probe() -> str:
    """Return where a group could be made for a process just now; empty if none could."""
    group = ControlGroup.create(1)
    if group is None:
        return ""
    child = os.fork()
    if not child:
        signal.pause()
    try:
        return os.path.dirname(group.path) if group.admit(child) else ""
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        group.remove()


def parents(mounts: str, membership: str) -> Iterator[str]:
    """The folders where groups could be made, best first; the texts are those of ``/proc/self``.

    In version 2 a group that has processes cannot pass on the count, so a group beside our own is made
    as long as our own has no limits that would be left by that.
    """
    memberships = {line.split(":", 2)[1]: line.split(":", 2)[2] for line in membership.splitlines()}
    for kind, controllers in (("cgroup2", ""), ("cgroup", "pids")):
        path = next(
            (memberships[names] for names in memberships if controllers in names.split(",")), None
        )
        for root, mounted in _mounted(mounts, kind, controllers) if path else ():
            relative = os.path.relpath(path or "/", root)
            if relative.startswith(".."):
                continue
            folder = os.path.normpath(os.path.join(mounted, relative))
            if kind == "cgroup":
                yield folder
            else:
                yield from _passing_on(folder, mounted)


def _passing_on(folder: str, top: str) -> Iterator[str]:
    """The nearest folder that counts the processes of each of its groups (version 2)."""
    while not _counts(folder):
        if folder == top or not _unlimited(folder):
            return
        folder = os.path.dirname(folder)
    yield folder


def _counts(folder: str) -> bool:
    return "pids" in _read(f"{folder}/cgroup.subtree_control").split()


def _unlimited(folder: str) -> bool:
    return all(
        _read(f"{folder}/{name}").split()[:1] == free.split()
        or not os.path.exists(f"{folder}/{name}")
        for name, free in _UNLIMITED.items()
    )


def _mounted(mounts: str, kind: str, controller: str) -> Iterator[tuple[str, str]]:
    """Root and parent of each mount of that kind."""
    for line in mounts.splitlines():
        fields, _, filesystem = line.partition(" - ")
        described = filesystem.split()
        if not described or described[0] != kind:
            continue
        if controller and controller not in described[-1].split(","):
            continue
        words = fields.split()
        yield words[3], words[4]


@functools.cache
def _sweep(parent: str) -> None:
    """End and remove, once, the groups of this person's programs that are gone. Never raises."""
    with suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(_NAME):
                _end_abandoned(f"{parent}/{name}")


def _end_abandoned(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(handle).st_uid == os.geteuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                group = ControlGroup(path)
                group.end()
                group.remove()
        finally:
            os.close(handle)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, number: int) -> None:
    """Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, b"%d" % number)
    finally:
        os.close(handle)
