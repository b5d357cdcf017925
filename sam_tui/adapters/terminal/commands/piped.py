"""Programs with a pipe for each standard stream, confined like commands: MCP servers run in them."""

import asyncio
import codecs
import functools
import os
import shlex
import signal
from collections.abc import Callable, Sequence

from sam_tui.adapters.terminal.confinement.processes import TrackedRun
from sam_tui.adapters.terminal.confinement.run import ConfinedRun, Wanted
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.processes.ends import ProcessEnd
from sam_tui.adapters.terminal.processes.environment import command_environment
from sam_tui.adapters.terminal.processes.groups import strike
from sam_tui.adapters.terminal.processes.launch import Launch, StartedCommand
from sam_tui.adapters.terminal.processes.parented import ParentedProcess
from sam_tui.core.ports.processes.piped import PipedRequest
from sam_tui.core.ports.processes.sandbox import OutsideAccess

_READ = 64 * 1024
_PAUSE = 0.05
"""Seconds between two reads of standard error while it is flooded."""
_GRACE = 1.0
"""Seconds that a program has to end by itself after its input was closed."""
_STAGES = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0))


class RunningProgram:
    """The ``PipedProgram`` port."""

    def __init__(
        self,
        process: StartedCommand,
        ends: tuple[int, int, int],
        confined_run: ConfinedRun | None,
        run: TrackedRun,
        on_error: Callable[[str], None],
    ) -> None:
        self._process = process
        self._run = run
        self._input, self._output, self._errors = ends
        self._confined_run = confined_run
        self._on_error = on_error
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None
        for end in ends:
            os.set_blocking(end, False)
        self._pause: asyncio.TimerHandle | None = None
        self._listen()
        self._end = ProcessEnd(process.pid, self._over.set)

    @property
    def pid(self) -> int:
        """The process id of the program."""
        return self._process.pid

    @property
    def ended(self) -> str:
        """How the program ended, in words; empty while it runs."""
        if not self._over.is_set():
            return ""
        code = _code_of(self._process)
        if code is None:
            return "ended"
        return f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"

    @property
    def refused(self) -> Sequence[OutsideAccess]:
        """The accesses that the sandbox has refused so far."""
        return () if self._confined_run is None else tuple(self._confined_run.handle.refused)

    async def read(self) -> bytes:
        """The next piece of its standard output; empty when it and its pipe have ended."""
        while self._output >= 0:
            try:
                return os.read(self._output, _READ)
            except BlockingIOError:
                if self._over.is_set():
                    break  # somebody else may hold the pipe open, but it is not the program
            except OSError:
                break
            await self._first(self._loop.add_reader, self._loop.remove_reader, self._output)
        return b""

    async def write(self, data: bytes) -> None:
        """Pass something to its standard input. Raises ``OSError`` when that is closed."""
        remaining = memoryview(data)
        while remaining:
            if self._input < 0 or self._over.is_set():
                raise BrokenPipeError("the program has ended")
            try:
                remaining = remaining[os.write(self._input, remaining) :]
            except BlockingIOError:
                await self._first(self._loop.add_writer, self._loop.remove_writer, self._input)

    async def overdue(self, seconds: float) -> None:
        """Return after so many seconds; time in which a person is asked does not count."""
        began = self._loop.time()
        while True:
            handle = None if self._confined_run is None else self._confined_run.handle
            paused = 0.0 if handle is None else handle.asked_seconds
            if handle is not None and handle.asking:
                await handle.idle.wait()
                continue
            left = seconds + paused - (self._loop.time() - began)
            if left <= 0:
                return
            await asyncio.sleep(left)

    async def stop(self) -> None:
        """Close the program's input, wait a moment, then end its session. Can be called again."""
        if self._stopping is None:
            self._stopping = self._loop.create_task(self._stop())
        while not self._stopping.done():
            try:
                await asyncio.shield(self._stopping)
            except asyncio.CancelledError:
                if self._process.returncode is None:
                    strike(self._process.pid, signal.SIGKILL)

    async def _stop(self) -> None:
        self._close_input()
        try:
            async with asyncio.timeout(_GRACE):
                await self._over.wait()
        except TimeoutError:
            pass
        # Until the process is reaped its id is not reused, so its descendants are found by it.
        await self._run.end_session(_STAGES)
        await self._run.end()
        self._hear()
        if self._pause is not None:
            self._pause.cancel()
        self._end.close()
        self._over.set()
        for end in (self._output, self._errors):
            self._loop.remove_reader(end)
            os.close(end)
        self._output = self._errors = -1
        await self._run.settle()
        # Only a process stuck in the kernel is still there; the subprocess module reaps it later.
        self._process.poll()
        if self._confined_run is not None:
            self._confined_run.close()

    def _close_input(self) -> None:
        if self._input >= 0:
            self._loop.remove_writer(self._input)
            os.close(self._input)
            self._input = -1

    async def _first(
        self,
        watch: Callable[[int, Callable[[], None]], object],
        unwatch: Callable[[int], object],
        end: int,
    ) -> None:
        """Wait until a pipe is ready, or the program has ended."""
        ready = asyncio.Event()
        watch(end, ready.set)
        tasks = [self._loop.create_task(event.wait()) for event in (ready, self._over)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            if end in (self._input, self._output):
                unwatch(end)

    def _listen(self) -> None:
        if self._errors >= 0:
            self._loop.add_reader(self._errors, self._hear)

    def _hear(self) -> None:
        """Read one piece of standard error."""
        try:
            data = os.read(self._errors, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if len(data) in (0, _READ):
            self._loop.remove_reader(self._errors)
        if len(data) == _READ:
            # A program that floods the pipe waits when it is full, and delays no other task.
            self._pause = self._loop.call_later(_PAUSE, self._listen)
        if text := self._decoder.decode(data, final=not data):
            self._on_error(text)


class PipedCommands:
    """The ``PipedPrograms`` port."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def start(self, request: PipedRequest) -> RunningProgram:
        """Start a program with the confinement of the request. Raises ``ToolError`` if that fails."""
        confined_run = None
        if request.confined:
            terms = Wanted(request.writable, request.ask, request.network, request.readable)
            confined_run = self._sandbox.hold(terms)
        try:
            return self._start(request, confined_run)
        except BaseException:
            if confined_run is not None:
                confined_run.close()
            raise

    def _start(self, request: PipedRequest, confined_run: ConfinedRun | None) -> RunningProgram:
        scratch = self._sandbox.scratch if confined_run is not None else None
        run = self._sandbox.tracking.run(confined_run)
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        ours_err, theirs_err = os.pipe()
        theirs, ends = (theirs_in, theirs_out, theirs_err), (ours_in, ours_out, ours_err)
        launch = Launch(
            f"exec {shlex.join(request.words)}",
            request.cwd,
            {
                **command_environment(scratch, self._sandbox.passed),
                **self._sandbox.variables(request.network, scratch),
                **request.environment,
                **run.variables,
            },
            theirs_out,
            () if confined_run is None else confined_run.prefix,
            () if confined_run is None else confined_run.passed,
            errors=theirs_err,
            stdin=theirs_in,
        )
        try:
            process = run.start(launch)
        except BaseException:
            for end in ends:
                os.close(end)
            raise
        finally:
            for end in theirs:
                os.close(end)
        return RunningProgram(process, ends, confined_run, run, request.on_error)


@functools.cache
def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _code_of(process: StartedCommand) -> int | None:
    """The exit code of an ended process; it is left to be reaped."""
    if isinstance(process, ParentedProcess):
        return process.code()
    if process.returncode is not None:
        return process.returncode
    if not hasattr(os, "waitid"):
        return None  # macOS: known once it is reaped
    status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if status is None:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
