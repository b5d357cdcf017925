"""The processes of a run: finds them by their sessions, counts them, and ends them all."""

import functools
import itertools
import os
import re
import select
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import Bound, memory_of
from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields

MARK = "SAM_TUI_RUN"
"""The variable that identifies a run's processes if no filter reports the sessions that they begin."""
_MARKED = f"{MARK}=".encode()
_STATE, _PARENT, _GROUP, _SESSION, _FLAGS, STARTED = 0, 1, 2, 3, 6, 19
"""Indexes in ``stat_fields``."""
_KERNEL_THREAD = 0x00200000
_MOST_ROUNDS = 50
GRACE = 1.0
"""Seconds that processes have to end by themselves."""
_MOMENT = 0.02
_EXECUTION = 0.001
"""Seconds between two checks of a process that is being replaced by another program."""
_EMPTY = 8
"""A process whose variables are missing so often, although it has arguments, has none."""
_HELD = re.compile(rb"\nNoNewPrivs:\t1\nSeccomp:\t2\n")


class ProcessTable:
    """The processes at one moment, or only the ``besides`` and those with a number above ``after``.

    Their sessions cost one system call each, without opening a file: a system has hundreds of processes,
    and most are of no interest. The fields of one are read when they are first needed. One table serves
    any number of runs. A hasty one does not wait for the marks of processes that are just becoming
    another program.
    """

    def __init__(
        self, *, after: int = 0, besides: Collection[int] = (), hasty: bool = False
    ) -> None:
        self._rounds = 1 if hasty else _MOST_ROUNDS
        self._fields: dict[int, list[bytes] | None] = {}
        self.sessions: dict[int, list[int]] = {}
        """The processes of each session."""
        for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
            pid = int(entry) if entry.isdecimal() else 0
            if (pid > after or pid in besides) and (session := _session(pid)) is not None:
                self.sessions.setdefault(session, []).append(pid)

    def fields(self, pid: int) -> list[bytes] | None:
        """The ``stat_fields`` of a process, read once; None if it is gone."""
        if pid not in self._fields:
            self._fields[pid] = stat_fields(pid)
        return self._fields[pid]

    @functools.cached_property
    def marked(self) -> dict[str, list[int]]:
        """The processes that carry each mark."""
        marked: dict[str, list[int]] = {}
        kernel_threads = {pid for pid in self.sessions.get(0, ()) if not _has_memory(pid)}
        for pid in set(self._numbers()) - kernel_threads:
            for mark in _marks(pid, self._rounds):
                marked.setdefault(mark, []).append(pid)
        return marked

    def descendants(self, pid: int) -> list[int]:
        """The children of a process, their children and so on."""
        numbers = list(self._children.get(pid, ()))
        for number in numbers:
            numbers += self._children.get(number, ())
        return numbers

    @functools.cached_property
    def _children(self) -> dict[int, list[int]]:
        processes: dict[int, list[int]] = {}
        for pid in self._numbers():
            if fields := self.fields(pid):
                processes.setdefault(int(fields[_PARENT]), []).append(pid)
        return processes

    def _numbers(self) -> Iterator[int]:
        return itertools.chain(*self.sessions.values())

    def members(self, session: int) -> dict[int, int]:
        """The living processes of a session: pid to process group."""
        return {
            pid: int(fields[_GROUP])
            for pid in self.sessions.get(session, ())
            if (fields := self.fields(pid))
            and int(fields[_SESSION]) == session
            and fields[_STATE] not in b"ZX"
        }


class ProcessTracker:
    """The processes of one run. ``limits`` are the most that they may have together, by the names in
    the policy file; without an entry nothing is counted.

    A process leaves its session only by ``setsid``. Where that waits for the supervisor, the sessions
    of a run are known, and with them every process, with any parent. Elsewhere they are known by
    ``mark`` in their environment (or it with ``-`` and more), which a process can remove; with
    ``filtered`` only processes under a filter count. ``usual`` is the system's number of threads before
    the run. Processes in a control group of the run always belong to it, and the kernel counts them; so
    do the descendants of a subreaper of the run.
    """

    def __init__(
        self,
        limits: Mapping[str, int] | None = None,
        *,
        mark: str = "",
        filtered: bool = False,
        usual: int | None = None,
    ) -> None:
        self._limits = dict(limits or {})
        self._usual = usual
        self._bounds = {name: Bound(most) for name, most in self._limits.items()}
        self._mark = mark
        self._held = filtered
        self._sessions: dict[int, int] = {}
        self._groups: dict[int, ControlGroup] = {}
        self._parents: dict[int, tuple[int, int]] = {}

    @classmethod
    def joined(cls, parts: "Iterable[ProcessTracker]") -> "ProcessTracker":
        """The processes of several runs, so that one reading of the table serves all."""
        whole = cls(filtered=True)
        for part in parts:
            for session, since in part._sessions.items():
                whole._sessions[session] = max(since, whole._sessions.get(session, 0))
        return whole

    def add(
        self,
        session: int,
        since: int = 0,
        group: ControlGroup | None = None,
        parent: tuple[int, int] | None = None,
    ) -> int:
        """Add a session by the process that leads it; returns the time when that started.

        ``since`` is that time if the process may have ended; 0 looks it up. All processes in ``group``
        belong to this run, and all descendants of ``parent``, a process id with its start time.
        """
        if group is not None:
            self._groups[session] = group
        if parent is not None:
            self._parents[session] = parent
        fields = stat_fields(session) if session > 0 and not since else None
        since = since if fields is None else int(fields[STARTED])
        if since:
            self._sessions[session] = since
        return since

    def drop(self, session: int) -> None:
        """Drop a session that has no process left."""
        self._sessions.pop(session, None)
        self._groups.pop(session, None)
        self._parents.pop(session, None)

    def in_groups(self) -> set[int]:
        """The ids of the processes in the control groups."""
        return set[int]().union(*(group.processes() for group in self._groups.values()))

    def below_parents(self) -> set[int]:
        """The process ids of the subreapers, and of their present descendants."""
        if not self._parents:
            return set()
        from sam_tui.adapters.terminal.sandbox.kernel.subreaper import descendants

        parents = {pid for pid, _ in self._parents.values()}
        return parents.union(*map(descendants, parents))

    def _descendants(self, table: ProcessTable) -> set[int]:
        """The descendants of the subreapers; their start times exclude reused process ids."""
        below = set[int]()
        for pid, since in self._parents.values():
            fields = table.fields(pid)
            if fields is not None and int(fields[STARTED]) == since:
                below.update(table.descendants(pid))
        return below

    @property
    def limited(self) -> bool:
        """Whether there is anything to count."""
        return bool(self._bounds)

    def exceeded(self, system: Mapping[str, int]) -> str:
        """The first exceeded limit, empty for none; ``system`` has the counts of the whole system."""
        for name, bound in self._bounds.items():
            if bound.is_exceeded(system[name], functools.partial(self._amount, name, system[name])):
                return name
        return ""

    def _amount(self, limit: str, whole: int) -> int:
        most = self._limits[limit]
        if limit != "processes":
            return memory_of(self._numbers(), most)
        if self._groups:
            return most + any(group.overflowed for group in self._groups.values())
        if self._usual is None or whole - self._usual <= most // 2:
            return len(self._numbers())
        # A run that multiplies leaves no time to count it, so it is stopped meanwhile. Others are not
        # stopped: a program notices that, and it interrupts some of its system calls.
        self._signal_sessions(signal.SIGSTOP)
        count = len(self._numbers())
        if count <= most:
            self._signal_sessions(signal.SIGCONT)
        return count

    def _numbers(self) -> list[int]:
        return [pid for pid, _ in self._members(ProcessTable(hasty=True))]

    def _signal_sessions(self, number: signal.Signals) -> None:
        """Signal the first process group of each session in one step, and no other of that number."""
        for session, since in self._sessions.items():
            fields = stat_fields(session)
            if session != os.getsid(0) and (fields is None or int(fields[STARTED]) == since):
                with suppress(OSError):
                    os.killpg(session, number)

    def living(self, table: ProcessTable | None = None) -> list[int]:
        """The processes that have not ended, of ``table`` or of a new reading."""
        if not (self._mark or self._sessions or self._groups or self._parents):
            return []  # every process of the system would be read in vain
        members = self._members(table or ProcessTable())
        return [pid for pid, state in members if state not in b"ZX"]

    def terminate(self) -> list[int]:
        """Send SIGTERM to all running processes; returns their ids."""
        living = self.living()
        send(living, signal.SIGTERM)
        return living

    def end(self, *, grace: float = 0.0) -> None:
        """End them all: at once, or first asked to and killed after ``grace`` seconds."""
        living = self.terminate() if grace else self.living()
        deadline = time.monotonic() + grace
        while living and time.monotonic() < deadline:
            select.select([], [], [], _MOMENT)
            living = self.living()
        self.end_groups()
        for _ in range(_MOST_ROUNDS):
            if not living:
                return
            send(living, signal.SIGKILL)
            living = self.living()

    def end_at_once(self) -> None:
        """Kill all by whole process groups, while they cannot begin sessions.

        A group gets a signal in one step, its newest processes too: however fast they multiply, none
        is left out.
        """
        self.end_groups()
        for _ in range(_MOST_ROUNDS):
            members = self._members(ProcessTable(hasty=True))
            groups = {pid: self._group(pid) for pid, state in members if state not in b"ZX"}
            if not groups:
                break
            for group in {group for group in groups.values() if group > 1}:
                with suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            send([pid for pid, group in groups.items() if group < 2], signal.SIGKILL)
            select.select([], [], [], _MOMENT)
        self.end()

    def end_groups(self) -> None:
        """Kill the processes in the control groups."""
        for group in self._groups.values():
            group.end()

    def remove_groups(self) -> None:
        """Remove the control groups in which nothing is left."""
        for group in self._groups.values():
            group.remove()

    def _group(self, pid: int) -> int:
        """The process group of a member; all its processes are in one session, and so of this run."""
        fields = stat_fields(pid)
        if fields is None:
            return 0
        mine = int(fields[_SESSION]) in self._sessions
        mine = mine or (bool(self._mark) and self._mark in _marks(pid, 1))
        return int(fields[_GROUP]) if mine else 0

    def _members(self, table: ProcessTable) -> Iterator[tuple[int, bytes]]:
        """The id and state of each process of the run."""
        marked = set(table.marked.get(self._mark, ())) if self._mark else set[int]()
        inside = {pid for session in self._sessions for pid in table.sessions.get(session, ())}
        marked |= self.in_groups() | self._descendants(table)
        for pid in (marked | inside) - {os.getpid()}:
            fields = table.fields(pid)
            if fields is not None and (pid in marked or self._is_inside(pid, fields)):
                yield pid, fields[_STATE]

    def state_of(self, pid: int) -> bytes:
        """The state of one of the run's processes; empty for any other process."""
        fields = stat_fields(pid)
        if fields is None:
            return b""
        member = self._is_inside(pid, fields) or (self._mark and self._mark in _marks(pid))
        return fields[_STATE] if member else b""

    def _is_inside(self, pid: int, fields: Sequence[bytes]) -> bool:
        """Whether a process is in a session of this run."""
        began = self._sessions.get(int(fields[_SESSION]))
        # A session's number is reused only once it is empty; a process that started before the session
        # was known does not belong to it.
        mine = began is not None and int(fields[STARTED]) >= began
        return mine and (not self._held or is_held(pid))


def _session(pid: int) -> int | None:
    """The session of a process; None if it is gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
    except OSError:  # a security module may refuse the call
        return int(fields[_SESSION]) if (fields := stat_fields(pid)) else None


def _marks(pid: int, rounds: int = _MOST_ROUNDS) -> Iterator[str]:
    """Yield the marks of a process: each mark, and its beginning that all runs of a program share."""
    for value in _environment(pid, rounds):
        if value.startswith(_MARKED):
            mark = os.fsdecode(value.removeprefix(_MARKED))
            yield from {mark, mark.partition("-")[0]}


def _has_memory(pid: int) -> bool:
    """Whether a process runs a program: a kernel thread does not, nor does one that has ended."""
    fields = stat_fields(pid)
    return bool(fields) and fields[_STATE] not in b"ZX" and not int(fields[_FLAGS]) & _KERNEL_THREAD


def _environment(pid: int, rounds: int) -> list[bytes]:
    """The variables of a process. While it becomes another program it has none, and first no arguments."""
    named = 0
    try:
        for _ in range(rounds):
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as environ:
                if values := environ.read():
                    return values.split(b"\0")
            if not _has_memory(pid):
                break
            with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as arguments:
                named += bool(arguments.read(1))
            if named == _EMPTY or rounds == 1:
                break
            select.select([], [], [], _EXECUTION)
    except OSError:
        pass  # the process ended or belongs to another user
    return []


def send(pids: Sequence[int], number: signal.Signals) -> None:
    """Signal each process; those that are gone are skipped."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def is_held(process: int) -> bool:
    """Whether a process is under a filter and can gain no rights."""
    try:
        with open(f"/proc/{process}/status", "rb", buffering=0) as status:
            return _HELD.search(status.read()) is not None
    except OSError:
        return False


def folder_of(process: int) -> str:
    """The working directory of a process; empty when it has ended."""
    try:
        return os.readlink(f"/proc/{process}/cwd")
    except OSError:
        return ""
