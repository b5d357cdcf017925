"""Runs shell commands to their end: bounded output, deadlines for the whole process group."""

import asyncio
import contextlib
import math
import os
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sam_tui.adapters.terminal.confinement.limits import words
from sam_tui.adapters.terminal.confinement.processes import TrackedRun
from sam_tui.adapters.terminal.confinement.run import ConfinedRun, Wanted, refusals
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.processes.ends import ProcessEnd
from sam_tui.adapters.terminal.processes.environment import command_environment
from sam_tui.adapters.terminal.processes.groups import strike
from sam_tui.adapters.terminal.processes.launch import Launch, StartedCommand
from sam_tui.adapters.terminal.processes.output import BoundedOutput, LiveText
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult, Confinement

MOST_RUNS = 5
"""How often one call runs a command at most; the person approves each further run."""
_READ = 64 * 1024
_SETTLED = 0.02
"""Seconds after the start of a command when the sandbox of the next one is prepared."""
_STAGES = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0))
_GRACE = 0.1
"""Seconds that processes left behind may still print after the shell itself ended."""
_WRITES_NOTHING = {"GIT_OPTIONAL_LOCKS": "0"}
"""For commands that may write nothing: git then skips its optional writes."""
_LAST_READS = 32
"""More reads than a full pipe needs, so that all output of the shell itself is read."""


class ShellCommands:
    """The ``Commands`` port: ``bash -c`` in its own session, stdin empty, both streams in one pipe."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.leaders: set[int] = set()
        """The process ids of running confined commands; each leads its session."""

    @property
    def confinement(self) -> Confinement:
        """The confinement of confined commands."""
        return self._sandbox.confinement

    @property
    def expected(self) -> Confinement:
        """The confinement as far as it is known; no trial run is made."""
        return self._sandbox.expected

    @property
    def limits(self) -> Mapping[str, str]:
        """The limits of a command, in words, by the name of each limit."""
        return words(self._sandbox.tracking.limits)

    def warm(self) -> None:
        """Prepare what the first command would have to wait for."""
        self._sandbox.warm()

    async def run(self, request: CommandRequest) -> CommandResult:
        """Run and wait for the shell, but not for its background processes.

        At the timeout, and when cancelled, everything in its session gets TERM, a second later
        KILL. The time in which a person is asked something does not count. If nobody can be asked
        while it runs, the person may have it run again afterwards. Raises ``ToolError`` if it
        cannot be started.
        """
        live = self._sandbox.confinement.kind == "live"
        if request.confined and not live:
            return await self._run_and_ask(request)
        return await self._run_once(request)

    async def _run_and_ask(self, request: CommandRequest) -> CommandResult:
        """Run, and again with further writable folders as long as the person allows it."""
        request = replace(request, writable=(*request.writable, *request.granted))
        result = await self._run_once(request)
        while result.refused and request.again is not None and result.runs < MOST_RUNS:
            more = [p for p in await request.again(result.refused) if p not in request.writable]
            if not more:
                break
            request = replace(request, writable=(*request.writable, *more))
            runs = result.runs + 1
            result = replace(await self._run_once(request), runs=runs)
        return result

    async def _run_once(self, request: CommandRequest) -> CommandResult:
        confined_run = None
        if request.confined:
            terms = Wanted(request.writable, request.ask, request.network, request.readable)
            confined_run = self._sandbox.hold(terms)
            if confined_run is not None:
                # A moment later, because this command is starting and needs the supervisor's answers.
                loop = asyncio.get_running_loop()
                loop.call_later(_SETTLED, self._sandbox.prepare, terms, confined_run)
        try:
            return await self.run_held(request, confined_run)
        finally:
            if confined_run is not None:
                confined_run.close()

    async def run_held(
        self, request: CommandRequest, confined_run: ConfinedRun | None
    ) -> CommandResult:
        """``run`` for a command with the caller's own confinement; None leaves it unconfined."""
        run = self._sandbox.tracking.run(confined_run)
        began = time.monotonic()
        process, pipes = self._start(request, confined_run, run)
        if request.on_start is not None:
            request.on_start(process.pid)
        if confined_run is not None:
            self.leaders.add(process.pid)
            confined_run.handle.when_abandoned = run.kill
        execution = _Execution(process, pipes, confined_run, run)
        execution.unhurried = request.unhurried or _never
        try:
            timed_out = not await execution.wait(request.timeout)
            await run.settle()
            if confined_run is not None:
                await confined_run.finish()
            if exceeded := run.exceeded:
                # They were killed at once, and the first of them may be gone before the last.
                await run.end()
        finally:
            execution.close()
            self.leaders.discard(process.pid)
            if confined_run is not None:
                confined_run.handle.when_abandoned = None
                confined_run.close()
        output, dropped = pipes[0].output.text()
        errors = "".join(pipe.output.text()[0] for pipe in pipes[1:])
        code = process.returncode
        result = CommandResult(
            output=output,
            exit_code=_exit_code(code),
            signal=_signal_name(code),
            seconds=time.monotonic() - began,
            timed_out=timed_out,
            dropped=dropped,
            errors=errors,
            withheld=self._missed(request.command, output + errors) if code else (),
            exceeded=tuple(sorted(exceeded)),
            left=run.left(),
        )
        if confined_run is None:
            return result
        return replace(
            result,
            refused=refusals(confined_run, output + errors, code),
            abandoned=confined_run.handle.abandoned,
        )

    def _start(
        self, request: CommandRequest, confined_run: ConfinedRun | None, run: TrackedRun
    ) -> "tuple[StartedCommand, list[_Pipe]]":
        """Start the shell; also the pipes of its output and, if they are kept apart, its errors."""
        environment = self._environment(request, run, confined=confined_run is not None)
        with contextlib.ExitStack() as ends, contextlib.ExitStack() as failed:
            reading, writing = _pipe(ends, failed)
            wrong = _pipe(ends, failed) if request.apart else None
            process = run.start(
                Launch(
                    request.command,
                    request.cwd,
                    environment,
                    writing,
                    () if confined_run is None else confined_run.prefix,
                    () if confined_run is None else confined_run.passed,
                    None if wrong is None else wrong[1],
                    _input(request.stdin, ends) if request.stdin else None,
                )
            )
            failed.pop_all()
        pipes = [_Pipe(reading, LiveText(request.on_output))]
        if wrong is not None:
            pipes.append(_Pipe(wrong[0], LiveText(lambda _: None)))
        return process, pipes

    def _environment(
        self, request: CommandRequest, run: TrackedRun, *, confined: bool
    ) -> dict[str, str]:
        scratch = self._sandbox.scratch if confined else None
        return {
            **command_environment(scratch, self._sandbox.passed),
            **self._sandbox.variables(request.network, scratch),
            **({} if request.writable else _WRITES_NOTHING),
            **request.variables,
            **run.variables,
        }

    def _missed(self, command: str, output: str) -> tuple[str, ...]:
        return self._sandbox.misses.of(self._sandbox.passed, command, output)


def _exit_code(code: int | None) -> int | None:
    """The exit code; None while the process runs and if a signal ended it."""
    return code if code is not None and code >= 0 else None


class _Pipe:
    """One pipe of a command: stores a bounded amount of its output, and passes it on."""

    def __init__(self, reading: int, live: LiveText) -> None:
        self.output = BoundedOutput()
        self._reading = reading
        self._live = live
        self._loop = asyncio.get_running_loop()
        self.drained: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(reading, False)
        self._loop.add_reader(reading, self._read)

    def empty(self) -> None:
        """Read everything that is in the pipe now."""
        for _ in range(_LAST_READS):
            if self.drained.done() or not self._read():
                break

    def close(self) -> None:
        """Stop reading, and pass on the rest."""
        if not self.drained.done():
            self._loop.remove_reader(self._reading)
            self.drained.set_result(None)
        os.close(self._reading)
        self._live.close()

    def _read(self) -> bool:
        """Read one piece from the pipe. False if it has none now."""
        try:
            data = os.read(self._reading, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._reading)
            self.drained.set_result(None)
            return False
        self.output.add(data)
        self._live.add(data)
        return True


class _Execution:
    """One running command: its pipes, its time limit and its end."""

    def __init__(
        self,
        process: StartedCommand,
        pipes: Sequence[_Pipe],
        confined_run: ConfinedRun | None,
        run: TrackedRun,
    ) -> None:
        self.unhurried: Callable[[], bool] = _never
        self._run = run
        self._confined_run = confined_run
        self._process = process
        self._pipes = pipes
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        self._end = ProcessEnd(process.pid, self._on_exit)

    async def wait(self, seconds: float) -> bool:
        """Wait for the shell; False when the time was up and it was ended."""
        try:
            await self._last(seconds)
            if self._exited.done():
                await self._drain()
                return True
            await self._stop()
            return False
        except asyncio.CancelledError:
            await self._stop()
            raise

    async def _last(self, seconds: float) -> None:
        """Wait for the end or the time limit; time in which a person is asked does not count."""
        began = self._loop.time()
        while not self._exited.done():
            handle = None if self._confined_run is None else self._confined_run.handle
            paused = 0.0 if handle is None else handle.asked_seconds
            left = seconds + paused - (self._loop.time() - began)
            if handle is not None and handle.asking:
                answered = self._loop.create_task(handle.idle.wait())
                try:
                    await asyncio.wait(
                        [self._exited, answered], return_when=asyncio.FIRST_COMPLETED
                    )
                finally:
                    answered.cancel()
            elif left > 0:
                await asyncio.wait([self._exited], timeout=left)
            elif self.unhurried():
                seconds = math.inf
            else:
                return

    def close(self) -> None:
        """Reap the shell, close the pipes, pass on the last output."""
        for pipe in self._pipes:
            pipe.close()
        self._end.close()
        # Only a process stuck in the kernel is still there; the subprocess module reaps it later.
        self._process.poll()

    async def _drain(self) -> None:
        """Read the content of the pipes; wait briefly if another process keeps one open."""
        for pipe in self._pipes:
            pipe.empty()
        if waiting := [pipe.drained for pipe in self._pipes if not pipe.drained.done()]:
            await asyncio.wait(waiting, timeout=_GRACE)

    async def _stop(self) -> None:
        """End the session of the command. A cancellation meanwhile sends SIGKILL at once."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._end_all())
        hurried = False
        while not self._ending.done():
            try:
                if hurried:
                    table = await self._run.look()
                    if self._ending.done():
                        break  # the process is reaped, and its id may be reused
                    strike(self._process.pid, signal.SIGKILL, table=table)
                    hurried = False
                await asyncio.shield(self._ending)
            except asyncio.CancelledError:
                hurried = True
        await self._drain()

    async def _end_all(self) -> None:
        """End the session of the command, and the sessions that its processes began."""
        try:
            await self._run.terminate()
            await self._run.end_session(_STAGES)
        finally:
            await self._run.end(grace=0.0)

    def _on_exit(self) -> None:
        self._exited.set_result(None)


def _pipe(ends: contextlib.ExitStack, failed: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose writing end goes with ``ends``, and its reading end with ``failed``."""
    reading, writing = os.pipe()
    ends.callback(os.close, writing)
    failed.callback(os.close, reading)
    return reading, writing


def _input(data: bytes, ends: contextlib.ExitStack) -> int:
    """A nameless file that holds ``data``, so that no task has to write while the command reads."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    else:
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
    ends.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _never() -> bool:
    return False


def _signal_name(code: int | None) -> str:
    """The name of the signal behind a negative return code, else nothing."""
    if code is None or code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
