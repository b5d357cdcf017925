"""The end of processes: knowing when one ended, and ending everything of a session in time."""

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence

from sam_tui.adapters.terminal.processes.groups import members, strike
from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields
from sam_tui.adapters.terminal.sandbox.supervised.processes import ProcessTable

Stages = Sequence[tuple[signal.Signals, float]]
"""Signals in order, each with the seconds to wait before the next."""
_MOMENT = 0.02
_REST = 4
"""The wait between two checks, as a multiple of the last check's duration."""


class SharedLook:
    """One reading of the process table for all who want one at the same time.

    Many commands that end together cost a number of looks that does not grow with them.
    """

    def __init__(self) -> None:
        self._next: asyncio.Future[ProcessTable] | None = None
        self._rests_until = 0.0

    async def take(self) -> ProcessTable:
        """The processes at a moment after this call."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            loop.call_at(max(loop.time(), self._rests_until), self._look, loop, self._next)
        return await asyncio.shield(self._next)

    def _look(
        self, loop: asyncio.AbstractEventLoop, promise: "asyncio.Future[ProcessTable]"
    ) -> None:
        self._next = None
        began = loop.time()
        table = ProcessTable()
        self._rests_until = loop.time() + _REST * (loop.time() - began)
        promise.set_result(table)


async def _look_alone() -> ProcessTable:
    return ProcessTable()


def end_descriptor(pid: int) -> int:
    """A descriptor that becomes readable once the process ended; it reaps nothing.

    Raises ProcessLookupError when there is no such process.
    """
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError:
            return _watched(pid)  # some containers refuse it
    queue = select.kqueue()
    event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, fflags=select.KQ_NOTE_EXIT)
    queue.control([event], 0)
    handle = os.dup(queue.fileno())
    queue.close()
    return handle


def _watched(pid: int) -> int:
    """The same by a thread: it waits for a child of this program, and looks for any other process."""
    os.kill(pid, 0)
    reading, writing = os.pipe()

    def wait() -> None:
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            # Its parent may leave it unreaped.
            while (fields := stat_fields(pid)) is not None and fields[0] not in b"ZX":
                select.select([], [], [], _MOMENT)
        os.close(writing)

    threading.Thread(target=wait, name="process-end", daemon=True).start()
    return reading


class ProcessEnd:
    """Calls ``ended`` once on the loop when a process is over. The process is left to be reaped."""

    def __init__(self, pid: int, ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = ended
        self._handle, self._soon = -1, None
        try:
            self._handle = end_descriptor(pid)
        except (
            ProcessLookupError
        ):  # reaped already: it killed its parent, and another one took over
            self._soon = self._loop.call_soon(ended)
        else:
            self._loop.add_reader(self._handle, self._over)

    def close(self) -> None:
        """Stop watching."""
        if self._soon is not None:
            self._soon.cancel()
        if self._handle >= 0:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _over(self) -> None:
        self.close()
        self._ended()


async def end_session(
    leader: int,
    stages: Stages,
    foreground: int = 0,
    *,
    look: Callable[[], Awaitable[ProcessTable]] = _look_alone,
) -> None:
    """Signal all groups of a session, stage after stage, until no process is left.

    ``look`` returns the present processes. Cancelling kills at once. Processes that moved to a
    session of their own are not reached.
    """
    try:
        for sent, seconds in stages:
            if not await all_ended(strike(leader, sent, foreground, await look()), seconds):
                continue
            if not members(leader, await look()) or sys.platform != "linux":
                return
    except asyncio.CancelledError:
        strike(leader, signal.SIGKILL, foreground)
        raise


async def all_ended(pids: Collection[int], seconds: float) -> bool:
    """Wait until all processes ended; False when the time was too short."""
    left = len(pids)
    done = asyncio.Event()

    def count() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            done.set()

    watches: list[ProcessEnd] = []
    try:
        for pid in pids:
            try:
                watches.append(ProcessEnd(pid, count))
            except OSError:
                count()
        if left <= 0:
            return True
        async with asyncio.timeout(seconds):
            await done.wait()
        return True
    except TimeoutError:
        return False
    finally:
        for watch in watches:
            watch.close()
