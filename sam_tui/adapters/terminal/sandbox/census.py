"""The processes of a run: the sessions that they are in, how many there are, and the end of them all."""

import os
import re
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sam_tui.adapters.terminal.sandbox.targets import stat_fields

MARK = "SAM_TUI_RUN"
"""The variable that marks what a run starts, where no filter tells which sessions it begins."""
_STATE, _SESSION, _STARTED = 0, 3, 19
"""Where these stand among the fields of ``stat_fields``."""
_MOST_ROUNDS = 50
GRACE = 1.0
"""Seconds that processes have to end by themselves."""
_MOMENT = 0.02
_HELD = re.compile(rb"\nNoNewPrivs:\t1\nSeccomp:\t2\n")


class Census:
    """The processes of one run, of which there may be ``most`` at once; 0 does not count them.

    A process leaves its session only by ``setsid``. Where that waits for the supervisor the sessions of
    a run are known, and with them every process, whoever its parent is. Elsewhere the processes carry
    ``mark`` in their environment, which one can take off; with ``held`` only those under a filter count.
    """

    def __init__(self, most: int = 0, *, mark: str = "", held: bool = False) -> None:
        self._most = most
        self._mark = f"{MARK}={mark}".encode() if mark else b""
        self._held = held
        self._sessions: dict[int, int] = {}
        self._forks = 0

    def add(self, session: int, since: int = 0) -> int:
        """The process of that number leads a session of this run; gives the time when it started.

        ``since`` is that time where the process may be gone already; 0 looks.
        """
        found = stat_fields(session) if session > 0 and not since else None
        since = since if found is None else int(found[_STARTED])
        if since:
            self._sessions[session] = since
        return since

    def drop(self, session: int) -> None:
        """Nothing of that session is left."""
        self._sessions.pop(session, None)

    def allows_another(self) -> bool:
        """Whether one more process may be started. Ends are not counted, so that they are looked for
        when there could be too many."""
        self._forks += 1
        if not self._most or self._forks < self._most:
            return True
        self._forks = sum(1 for _ in self._members(0))
        return self._forks < self._most

    def living(self, *, after: int = 0) -> list[int]:
        """The processes that have not ended, of those with a greater number than ``after``."""
        return [pid for pid, state in self._members(after) if state not in b"ZX"]

    def terminate(self) -> list[int]:
        """Ask them all to end; gives who was there."""
        living = self.living()
        _signal(living, signal.SIGTERM)
        return living

    def end(self, *, grace: float = 0.0) -> None:
        """End them all: at once, or first asked to and killed after ``grace`` seconds."""
        living = self.terminate() if grace else self.living()
        deadline = time.monotonic() + grace
        while living and time.monotonic() < deadline:
            select.select([], [], [], _MOMENT)
            living = self.living()
        for _ in range(_MOST_ROUNDS):
            if not living:
                return
            _signal(living, signal.SIGKILL)
            living = self.living()

    def _members(self, after: int) -> Iterator[tuple[int, bytes]]:
        """Number and state of each."""
        own = os.getpid()
        for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
            pid = int(entry) if entry.isdecimal() else 0
            if pid > after and pid != own and (found := stat_fields(pid)) is not None:
                began = self._sessions.get(int(found[_SESSION]))
                # The number of a session is given anew only once nobody is in it; whoever came before
                # the session was known is none of it.
                mine = began is not None and int(found[_STARTED]) >= began
                if (mine and (not self._held or is_held(pid))) or self._marked(pid):
                    yield pid, found[_STATE]

    def _marked(self, pid: int) -> bool:
        if not self._mark:
            return False
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as environ:
                return any(v.startswith(self._mark) for v in environ.read().split(b"\0"))
        except OSError:
            return False


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
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


def name_of(process: int) -> str:
    """What a process calls itself; empty when it is gone."""
    try:
        with open(f"/proc/{process}/comm", "rb") as comm:
            return os.fsdecode(comm.read().rstrip(b"\n"))
    except OSError:
        return ""
