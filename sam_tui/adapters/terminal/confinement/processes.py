"""The processes that commands started: limited from the start, listed when their command ends, and
ended with the program."""

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakSet

from sam_tui.adapters.terminal.confinement.limits import group_of, restrain
from sam_tui.adapters.terminal.confinement.run import ConfinedRun
from sam_tui.adapters.terminal.processes import launch
from sam_tui.adapters.terminal.processes.ends import SharedLook, Stages, all_ended, end_session
from sam_tui.adapters.terminal.sandbox.detached import start_detached
from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE, READY
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import (
    forks_of_the_system,
    numbers_rise,
)
from sam_tui.adapters.terminal.sandbox.supervised.caller import name_of, stat_fields
from sam_tui.adapters.terminal.sandbox.supervised.processes import (
    GRACE,
    MARK,
    STARTED,
    ProcessTable,
    ProcessTracker,
    send,
)
from sam_tui.core.ports.processes.sandbox import CommandLimits, RunningProcess

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.processes.parented import Parent, ParentedProcess, ParentPool

_TRACKINGS: "WeakSet[Tracking]" = WeakSet()
_Seen = TypeVar("_Seen")
_MOST_LOOKS = 50
_MODULE = "sam_tui.adapters.terminal.sandbox.reaper"
_SECONDS_TO_START = 5.0


def commands_run() -> bool:
    """Whether any process of this program's commands, terminals or servers may be running now."""
    return any(tracking.running for tracking in tuple(_TRACKINGS))


class Tracking:
    """All runs of a sandbox. Processes that outlive the program and have no supervisor are ended by a
    small process, which starts with the first such run."""

    def __init__(self, limits: CommandLimits) -> None:
        self.limits = limits
        self.apart = False
        """Whether the supervisor outlives the program."""
        self.look = SharedLook().take
        """Reads the process table once for all callers at the same time."""
        self._mark = secrets.token_hex(8)
        self._runs = 0
        self._control: socket.socket | None = None
        self._exceeded: dict[int, set[str]] = {}
        self.open: set[TrackedRun] = set()
        """The runs whose end has not been noticed yet."""
        self._terminals = False
        self._pool: ParentPool | None = None
        _TRACKINGS.add(self)

    @property
    def running(self) -> bool:
        """Whether a process of a run exists; after a terminal was opened, always true."""
        return self._terminals or any(run.processes() for run in tuple(self.open))

    def run(self, confined_run: ConfinedRun | None) -> "TrackedRun":
        """Prepare to start a command."""
        self._runs += 1
        return TrackedRun(self, confined_run, f"{self._mark}-{self._runs}")

    def watches(self, confined_run: ConfinedRun | None) -> bool:
        """Whether the small process has to end runs that are confined like that."""
        return confined_run is None or not confined_run.supervised or not self.apart

    def report_session(
        self, session: int, since: int, run: Mapping[str, object] | None = None
    ) -> None:
        """Report a session and the start time of its leader (0: it is over) to the process that ends
        sessions after us.

        ``run`` has the mark, the control group and the ``limits`` of its processes together, if
        nobody else counts them. Never raises.
        """
        message = {"session": session, "since": since, **(run or {})}
        for _ in range(2):
            try:
                self._started().send(json.dumps(message).encode())
            except (OSError, subprocess.SubprocessError):
                self._let_go()  # it died, and another one is started
            else:
                return

    def parent(self) -> "Parent | None":
        """A process that starts a command and adopts its orphans; None if there can be none."""
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            return None  # a kernel that does not list children: it would know of none
        from sam_tui.adapters.terminal.processes.parented import ParentPool

        if self._pool is None:
            self._pool = ParentPool()
        parent = self._pool.free()
        if parent is not None:
            if (last := parent.process) is not None and not last.released:
                self.report_session(last.pid, 0)
            return parent
        for _ in range(2):
            try:
                return self._pool.fork(self._started())
            except (ConnectionError, TimeoutError, subprocess.SubprocessError):
                self._let_go()  # it died, or a command stopped it
                self._pool = ParentPool()  # its parents end with it
            except OSError:
                break  # nothing can be forked now, and what runs goes on
        return None

    def _started(self) -> socket.socket:
        """The socket to that process, started if there is none. Raises OSError and SubprocessError."""
        if self._control is None:
            self._control = self._start()
        return self._control

    def report_group(self, leader: int, group: ControlGroup | None) -> None:
        """Report a terminal's shell to the reaper, so that it ends its control group's processes too."""
        self._terminals = True
        fields = stat_fields(leader) if group is not None else None
        if group is not None and fields is not None:
            self.report_session(leader, int(fields[STARTED]), {"group": group.path})

    def _start(self) -> socket.socket:
        """Start that process and wait for it: a command that multiplies at once would leave it no time."""
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            start_detached(_MODULE, theirs)
        try:
            control.send(json.dumps({"mark": self._mark}).encode())
            control.settimeout(_SECONDS_TO_START)
            control.recv(len(READY))
            control.settimeout(None)
        except OSError:
            control.close()
            raise
        return control

    def exceeded(self, session: int) -> set[str]:
        """The limits for which the run whose shell led that session was ended."""
        with suppress(OSError):
            while self._control and (data := self._control.recv(MESSAGE, socket.MSG_DONTWAIT)):
                message = cast("dict[str, Any]", json.loads(data))
                self._exceeded.setdefault(message["session"], set()).add(message["limit"])
        return self._exceeded.pop(session, set())

    def close(self) -> None:
        """Start no more commands, and end all running ones."""
        self.open.clear()
        self._terminals = False
        if self._pool is not None:
            self._pool.close()
        self._let_go()

    def _let_go(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None


class TrackedRun:
    """A command and all processes that descend from it."""

    def __init__(self, tracking: Tracking, confined_run: ConfinedRun | None, mark: str) -> None:
        self._tracking = tracking
        self._confined_run = confined_run
        self.look = tracking.look
        self._marked = confined_run is None or not confined_run.supervised
        self._ends_whole = confined_run is not None and confined_run.ends_whole
        self._mark = mark if self._marked else ""
        self._tracker = ProcessTracker(mark=self._mark)
        self._group: ControlGroup | None = None
        self._process: ParentedProcess | None = None
        self._reported_sessions: set[int] = set()
        self._leader = 0
        self._forks = 0
        """How many processes the system had started when the command began."""
        self.variables: Mapping[str, str] = {MARK: mark} if self._marked else {}
        """Variables that the command's environment must contain."""

    def start(self, described: launch.Launch) -> launch.StartedCommand:
        """Start the command. Raises ``ToolError`` when it cannot be started."""
        confined = self._confined_run
        alone = self._marked and not self._ends_whole and sys.platform == "linux"
        parent = self._tracking.parent() if alone else None
        if parent is None:
            held_start = None if confined is None else confined.held_start()
            return launch.start(described, held_start, self.started)
        entry = None if confined is None else confined.descriptor
        try:
            return launch.start_by(partial(parent.start, entry), described, self._begun)
        except BaseException:
            if self._process is None:
                parent.control.close()
            raise

    def _begun(self, process: "ParentedProcess") -> None:
        self._process = process
        self.started(process.pid)

    def started(self, pid: int) -> None:
        """Note the command's shell, which waits and has started nothing yet."""
        self._leader, self._forks = pid, forks_of_the_system()
        self._tracking.open.add(self)
        self._tracking.exceeded(pid)  # of another that had this number
        if self._marked and not self._ends_whole:
            self._group = group_of(pid, self._tracking.limits)
        restrain(pid, self._tracking.limits, counted=not self._marked or self._group is not None)
        parent = None if self._process is None else self._process.parent.identity
        since = self._tracker.add(pid, group=self._group, parent=parent)
        if self._confined_run is not None:
            self._confined_run.begin(pid)
        self._watch(pid, since)

    async def settle(self) -> None:
        """Once its shell has ended, wait until it is known how."""
        if self._process is not None:
            await self._process.settle()

    @property
    def exceeded(self) -> set[str]:
        """The limits for which the run was ended; each is reported once."""
        supervised = (
            set[str]() if self._confined_run is None else self._confined_run.handle.exceeded
        )
        return supervised | (self._tracking.exceeded(self._leader) if self._marked else set())

    def left(self) -> "TrackedRun | None":
        """The run itself if any of its processes is still running after its shell ended, else None."""
        if not self._ends_whole and not self._is_over() and self.processes():
            return self
        self._over()
        return None

    def processes(self) -> tuple[RunningProcess, ...]:
        """The running processes of the command."""
        self._is_over()
        living = self._looked(lambda: self._tracker.living(self._candidates()))
        return tuple(RunningProcess(pid, name_of(pid)) for pid in living)

    def _is_over(self) -> bool:
        """Whether its parent reported that no process is left; the parent may have another command now."""
        if self._process is None or not self._process.idle:
            return False
        self._tracker.drop(self._leader)
        return True

    def _candidates(self) -> ProcessTable:
        """The processes that may belong to the run, because a system has hundreds of others.

        These are the processes that started after its shell, those of its control group and those below its
        parent. If the process numbers of the system may have wrapped, these are all processes.
        """
        if not numbers_rise(self._leader, self._forks):
            return ProcessTable()
        named = self._tracker.in_groups() | self._tracker.below_parents()
        return ProcessTable(after=self._leader, besides=named)

    async def terminate(self) -> None:
        """Send SIGTERM to every process of the run."""
        send(await self._living(), signal.SIGTERM)

    def kill(self) -> None:
        """Kill every process of the run, and return once they have ended."""
        self._looked(self._tracker.end)
        self._over()

    async def end(self, *, grace: float = GRACE) -> None:
        """Kill the remaining processes: at once, or after SIGTERM and ``grace`` seconds.

        Cancelling kills it.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        try:
            living = await self._living()
            if grace:
                send(living, signal.SIGTERM)
            while living and (left := deadline - loop.time()) > 0:
                await all_ended(living, left)
                living = await self._living()
            await self._kill_all(living)
        except asyncio.CancelledError:
            try:
                await self._kill_all(await self._living())
            except asyncio.CancelledError:
                self._looked(self._tracker.end)
            raise
        finally:
            self._over()

    async def _kill_all(self, living: Sequence[int]) -> None:
        self._tracker.end_groups()
        for _ in range(_MOST_LOOKS):
            if not living:
                break
            send(living, signal.SIGKILL)
            living = await self._living()

    async def _living(self) -> list[int]:
        """The running processes; looked up again as long as some move to other sessions."""
        living: list[int] = []
        for _ in range(_MOST_LOOKS):
            count = len(self._reported_sessions)
            table = await self._tracking.look()
            self._is_over()
            living = self._tracker.living(table)
            self._learn()
            if len(self._reported_sessions) == count:
                break
        return living

    async def end_session(self, stages: Stages) -> None:
        """Signal the session of the unreaped shell until it has no process left."""
        await end_session(self._leader, stages, look=self._tracking.look)

    def _over(self) -> None:
        self._tracking.open.discard(self)
        if self._group is not None:
            self._group.end()
            self._group.remove()
        if self._process is not None:
            self._process.release()
        if self._tracking.watches(self._confined_run):
            for session in self._reported_sessions:
                self._tracking.report_session(session, 0)

    def _looked(self, look: Callable[[], _Seen]) -> _Seen:
        """The result of ``look``, repeated as long as some processes move to other sessions."""
        seen = look()
        for _ in range(_MOST_LOOKS):
            count = len(self._reported_sessions)
            self._learn()
            if len(self._reported_sessions) == count:
                break
            seen = look()
        return seen

    def _learn(self) -> None:
        """Add the sessions that the supervisor reports."""
        if self._confined_run is not None:
            self._confined_run.handle.receive()
            for session, since in self._confined_run.handle.sessions.items():
                self._tracker.add(session, since)
                self._watch(session, since)

    def _watch(self, session: int, since: int) -> None:
        if session not in self._reported_sessions:
            self._reported_sessions.add(session)
            if self._tracking.watches(self._confined_run):
                self._tracking.report_session(
                    session, since, self._described() if self._marked else None
                )

    def _described(self) -> dict[str, object]:
        group = "" if self._group is None else self._group.path
        parent = None if self._process is None else self._process.parent.identity
        limits = self._tracking.limits.together
        return {"run": self._mark, "limits": limits, "group": group, "parent": parent}
