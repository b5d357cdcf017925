"""Runs shell commands to their end: bounded output, deadlines for the whole process group."""

import asyncio
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace

from sam_tui.adapters.terminal.confinement import Sandbox, Wanted
from sam_tui.adapters.terminal.endings import ProcessEnd, end_session
from sam_tui.adapters.terminal.environment import command_environment
from sam_tui.adapters.terminal.groups import strike
from sam_tui.adapters.terminal.holding import Holding
from sam_tui.adapters.terminal.output import BoundedOutput, LiveText
from sam_tui.adapters.terminal.processes import Launch, start
from sam_tui.adapters.terminal.refusals import refusals
from sam_tui.core.ports.terminals import CommandRequest, CommandResult, Confinement

MOST_RUNS = 5
"""How often one call runs a command, the person willing."""
_READ = 64 * 1024
_SETTLED = 0.02
"""Seconds after which a command has started, and a way in for the next one is made ready."""
_STAGES = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0))
_GRACE = 0.1
"""Seconds that processes left behind may still print after the shell itself ended."""
_LAST_READS = 32
"""More than any pipe holds, so that what the shell itself printed is whole."""


class ShellCommands:
    """The ``Commands`` port: ``bash -c`` in its own session, stdin empty, both streams in one pipe."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @property
    def confinement(self) -> Confinement:
        """What confined commands are held by."""
        return self._sandbox.confinement

    def warm(self) -> None:
        """Start ahead of the first command what it would have to wait for."""
        self._sandbox.warm()

    async def run(self, request: CommandRequest) -> CommandResult:
        """Run and wait for the shell; what it left in the background is not waited for.

        At the timeout, and when cancelled, everything in its session gets TERM, a second later KILL.
        The time in which a person is asked something does not count. Where nobody can be asked while
        it runs, the person may have it run again afterwards. Raises ``ToolError`` when it cannot be
        started.
        """
        live = self._sandbox.confinement.kind == "live"
        if request.confined and not live:
            return await self._run_and_ask(request)
        return await self._run_once(request)

    async def _run_and_ask(self, request: CommandRequest) -> CommandResult:
        """Run, and again with more to write to for as long as the person says so."""
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
        holding = None
        if request.confined:
            wanted = Wanted(request.writable, request.ask, request.network)
            holding = self._sandbox.hold(wanted)
            # Not at once, when this one is starting and wants answers of the supervisor.
            asyncio.get_running_loop().call_later(_SETTLED, self._sandbox.prepare, wanted)
        try:
            return await self.run_held(request, holding)
        finally:
            if holding is not None:
                holding.close()

    async def run_held(self, request: CommandRequest, holding: Holding | None) -> CommandResult:
        """``run`` for a command that is held in a way of the caller's; None leaves it free."""
        scratch = self._sandbox.scratch if holding is not None else None
        began = time.monotonic()
        reading, writing = os.pipe()
        try:
            process = start(
                Launch(
                    request.command,
                    request.cwd,
                    command_environment(scratch),
                    writing,
                    () if holding is None else holding.prefix,
                    () if holding is None else holding.passed,
                ),
                None if holding is None else holding.entrance(),
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        if request.on_start is not None:
            request.on_start(process.pid)
        execution = _Execution(process, reading, LiveText(request.on_output), holding)
        execution.unhurried = request.unhurried or _never
        try:
            timed_out = not await execution.wait(request.timeout)
        finally:
            execution.close()
            if holding is not None:
                holding.close()
        output, dropped = execution.output.text()
        code = process.returncode
        return CommandResult(
            output=output,
            exit_code=code if code is not None and code >= 0 else None,
            signal=_signal_name(code),
            seconds=time.monotonic() - began,
            timed_out=timed_out,
            dropped=dropped,
            refused=() if holding is None else refusals(holding, output, code),
        )


class _Execution:
    """One running command: its pipe, its end, and how it is made to end."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reading: int,
        live: LiveText,
        holding: Holding | None,
    ) -> None:
        self.output = BoundedOutput()
        self.unhurried: Callable[[], bool] = _never
        self._holding = holding
        self._process = process
        self._reading = reading
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        os.set_blocking(reading, False)
        self._loop.add_reader(reading, self._read)
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
        """Wait until it ended, or until its time is up; while a person is asked, time stands still."""
        began = self._loop.time()
        while not self._exited.done():
            held = None if self._holding is None else self._holding.held
            asked = 0.0 if held is None else held.asked_seconds
            left = seconds + asked - (self._loop.time() - began)
            if held is not None and held.asking:
                answered = self._loop.create_task(held.answered())
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
        """Reap the shell, close the pipe, pass on the last output."""
        if not self._drained.done():
            self._loop.remove_reader(self._reading)
            self._drained.set_result(None)
        os.close(self._reading)
        self._end.close()
        self._live.close()
        # Only a process stuck in the kernel is still there; the subprocess module reaps it later.
        self._process.poll()

    async def _drain(self) -> None:
        """Read what the pipe holds; wait a moment longer where somebody else keeps it open."""
        for _ in range(_LAST_READS):
            if self._drained.done() or not self._read():
                break
        if not self._drained.done():
            await asyncio.wait([self._drained], timeout=_GRACE)

    async def _stop(self) -> None:
        """End all of its session. A cancellation on the way makes it immediate, and never skips it."""
        if self._ending is None:
            self._ending = self._loop.create_task(end_session(self._process.pid, _STAGES))
        while not self._ending.done():
            try:
                await asyncio.shield(self._ending)
            except asyncio.CancelledError:
                strike(self._process.pid, signal.SIGKILL)
        await self._drain()

    def _on_exit(self) -> None:
        self._exited.set_result(None)

    def _read(self) -> bool:
        """Take one piece from the pipe; False when there is none now."""
        try:
            data = os.read(self._reading, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._reading)
            self._drained.set_result(None)
            return False
        self.output.add(data)
        self._live.add(data)
        return True


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
