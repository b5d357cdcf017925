"""The state of a session: whether a command runs in it, and whether a program waits for keys; watchers
learn of changes."""

import asyncio
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.adapters.terminal.processes.groups import members
from sam_tui.adapters.terminal.processes.output import OutputHistory
from sam_tui.adapters.terminal.pty.input_wait import Blocked, blocked, looks_like_prompt, pending
from sam_tui.adapters.terminal.pty.pty import Pty
from sam_tui.adapters.terminal.sandbox.supervised.caller import name_of
from sam_tui.adapters.terminal.shell_integration.log import ShellLog
from sam_tui.core.ports.processes.terminals import TerminalState


class Watchers:
    """Callables, called in order; a callable that was added twice is called twice."""

    def __init__(self) -> None:
        self._watchers: list[_Watcher] = []

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after output or the end from now on; returns how to stop."""
        watcher = _Watcher(changed)
        self._watchers.append(watcher)

        def stop() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return stop

    def notify(self) -> None:
        """Call every watcher."""
        for watcher in tuple(self._watchers):
            watcher.changed()


class _Watcher:
    """One registration of a callable."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed


_STEPS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(slots=True)
class _Job:
    """A process group that had the terminal: its program, its last signal, and the time of that."""

    image: str
    stage: int
    signalled_at: float


class TerminationEscalation:
    """Signals the process group that has the terminal, each group from the first step on.

    A shell's own loop gives the terminal to one short job after another. The loop ends only when a job is
    interrupted, and bash loses an interrupt that comes while it starts a job, so every new group gets an
    interrupt of its own. The shell gets only interrupts, which end its own loops.
    """

    def __init__(
        self, shell: int, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shell = shell
        self._patience = patience
        self._clock = clock
        self._jobs: dict[int, _Job] = {}
        self._late = False

    def strike(self, group: int) -> str:
        """Signal the group that has the terminal, if its next signal is due; 0 means no group.

        Returns the name of the signal, such as ``TERM``; empty if none was sent.
        """
        if group <= 0:
            return ""
        now, image = self._clock(), _image(group)
        job = self._jobs.get(group)
        if job is None or (image and image != job.image):
            # After an exec the new program may ignore the earlier signals: begin the escalation again.
            job = self._jobs[group] = _Job(image, 0, now)
        elif group == self._shell:
            pass
        elif now - job.signalled_at >= self._patience and job.stage + 1 < len(_STEPS):
            job.stage, job.signalled_at = job.stage + 1, now
        else:
            return ""
        self._late = self._late or group == self._shell
        try:
            os.killpg(group, _STEPS[job.stage])
        except (ProcessLookupError, PermissionError):
            return ""
        return _STEPS[job.stage].name.removeprefix("SIG")

    def confirm(self) -> bool:
        """Interrupt the waiting shell once more; False if it got no interrupt since the last call.

        An interrupt that comes while bash returns to its prompt takes effect on the next line, whose first
        key is lost. Another interrupt at the prompt clears that.
        """
        late, self._late = self._late, False
        if late:
            os.kill(self._shell, signal.SIGINT)
        return late


def _image(pid: int) -> str:
    """The path of a process's program; empty if unknown."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


_PAUSE = 0.05
"""Seconds without output after which the state of the processes is read."""
_SHARE, _LONGEST_PAUSE = 0.05, 0.25
"""The time between two reads as a share of the silence so far, and the most seconds of it."""
_LONG_PAUSE = 0.3
"""The same for a program that waits for several descriptors and whose last line looks like a question."""
_POLL_PAUSE = 1.0
"""The same for a program that reads single keys, or does not echo them."""
_QUIET = 2.0
_LINE = 400
_STEP = 1.0
"""Seconds to wait after each signal to a job."""
_ESCALATION = 10.0
"""Seconds after which a command that does not end is given up."""


class Activity:
    """Determines states by output, marks and processes, and waits for them."""

    def __init__(self, pty: Pty, log: ShellLog, history: OutputHistory) -> None:
        self._pty = pty
        self._log = log
        self._history = history
        self._sound = asyncio.Event()
        self._last_output = time.monotonic()

    def on_output(self) -> None:
        """Note that output came."""
        self._last_output = time.monotonic()

    def wake(self) -> None:
        """Wake the waiting tasks after a change."""
        self._sound.set()

    @property
    def state(self) -> TerminalState:
        """The present state, from the shell's marks and the system."""
        seconds = time.monotonic() - self._last_output
        secret = self._pty.modes.secret
        if not self._pty.running or (self._log.at_prompt and not self._pty.unread):
            return TerminalState("finished", seconds)
        if self._needs_somebody(seconds):
            in_foreground = not self._log.trusted and self._pty.foreground() == self._pty.pid
            return TerminalState(
                "finished" if in_foreground and not secret else "waiting", seconds, secret
            )
        return TerminalState("quiet" if seconds >= _QUIET else "running", seconds, secret)

    @property
    def program(self) -> str:
        """The name of the program that has the terminal: of a pipeline the first that still runs."""
        group = self._pty.foreground()
        others = (pid for pid, its in sorted(members(self._pty.pid).items()) if its == group)
        return next((name for pid in (group, *others) if (name := name_of(pid))), "")

    async def end_command(self, signalled: Callable[[str], None] | None = None) -> TerminalState:
        """End the foreground command: INT, TERM, KILL, a little time for each; the shell stays.

        ``signalled`` hears each signal by its name.
        Returns the state once the shell is back, or when nothing helped: a job that ignores even
        KILL is stuck in the kernel, and a loop of the shell's own that traps INT goes on.
        """
        escalation = TerminationEscalation(self._pty.pid, _STEP)
        deadline = time.monotonic() + _ESCALATION
        while time.monotonic() < deadline:
            if self._is_back():
                if not (self._pty.running and escalation.confirm()):
                    return TerminalState("finished", time.monotonic() - self._last_output)
            elif not self._log.at_prompt:
                name = escalation.strike(self._pty.foreground())
                if name and signalled is not None:
                    signalled(name)
            await self._sounds(_PAUSE)
        return self.state

    async def quiet(self, *, silence: float, within: float) -> None:
        """Return once nothing was printed for ``silence`` seconds, it ended, or ``within`` is up."""
        deadline = time.monotonic() + within
        while self._pty.running and (left := deadline - time.monotonic()) > 0:
            if not await self._sounds(min(silence, left)):
                return

    async def settled(self, *, within: float) -> TerminalState:
        """Wait until a command finished, a program waits for keys, the session ended, or time is up.

        A command has finished when the shell has reported it and has read all typed keys.
        """
        began = time.monotonic()
        while self._pty.running and (left := began + within - time.monotonic()) > 0:
            # Neither the kernel nor another process has an event for a program that starts to wait.
            silence = time.monotonic() - max(self._last_output, began)
            pause = min(max(_PAUSE, silence * _SHARE), _LONGEST_PAUSE)
            if await self._sounds(min(pause, left)):
                continue
            silence = time.monotonic() - max(self._last_output, began)
            if self._needs_somebody(silence) and not self._lagged():
                break
        return self.state

    def _lagged(self) -> bool:
        """Whether there is unread output from before the program began to wait."""
        self._sound.clear()
        self._pty.catch_up()
        return self._sound.is_set()

    async def _sounds(self, within: float) -> bool:
        """Whether the session prints something or ends within so many seconds."""
        self._sound.clear()
        try:
            async with asyncio.timeout(within):
                await self._sound.wait()
        except TimeoutError:
            return False
        return True

    def at_line(self) -> bool:
        """Whether the shell itself waits for keys, and has read all that were typed."""
        shell = self._pty.pid
        if not self._pty.running or self._pty.unread or self._pty.foreground() != shell:
            return False
        if self._log.trusted and not self._log.at_prompt:
            return False
        waiting = blocked([shell], self._pty.tty_name)
        if not waiting.readable:
            return time.monotonic() - self._last_output >= _LONG_PAUSE
        return (waiting.reading or waiting.polling) and not pending(shell, signal.SIGINT)

    def _is_back(self) -> bool:
        """Whether the shell waits for the next command, with no interrupt still on its way to it.

        The shell would apply a late interrupt to the next typed line.
        """
        if not self._pty.running:
            return True
        shell, integrated = self._pty.pid, self._log.trusted
        if (integrated and not self._log.at_prompt) or self._pty.foreground() != shell:
            return False
        waiting = blocked([shell], self._pty.tty_name)
        if not waiting.readable:
            return integrated or time.monotonic() - self._last_output >= _LONG_PAUSE
        waits = waiting.reading or (integrated and waiting.polling)
        return waits and not pending(shell, signal.SIGINT)

    def _needs_somebody(self, silence: float) -> bool:
        """Whether a session that was silent for so long does nothing but wait for keys."""
        if silence < _PAUSE or self._pty.unread:
            return False
        waiting = self._waits()
        if not waiting.readable:
            # Without access to the process only silence and the prompt can show that.
            return silence >= (_LONG_PAUSE if self._log.at_prompt else self._patience())
        if waiting.reading or (waiting.polling and self._log.at_prompt):
            return True
        return waiting.polling and silence >= self._patience()

    def _waits(self) -> Blocked:
        """Return how the processes that have the terminal wait; at its prompt a shell alone, not its
        helpers.

        fish starts one that shares its group and its input: it reads the manual for completions.
        """
        group, shell = self._pty.foreground(), self._pty.pid
        pids = [pid for pid, its in members(shell).items() if its == group]
        at_prompt = self._log.at_prompt and group == shell
        return blocked([shell] if at_prompt else pids, self._pty.tty_name)

    def _patience(self) -> float:
        """The seconds of silence after which it counts as waiting, depending on its last line."""
        line = self._history.since(self._history.end - _LINE).text.rpartition("\n")[2]
        if looks_like_prompt(line):
            return _LONG_PAUSE
        now = self._pty.modes
        return math.inf if now.echo and now.lines else _POLL_PAUSE
