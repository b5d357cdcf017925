"""One terminal session: a shell, what it printed and ran, and its emulator once somebody looks."""

import asyncio
import math
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sam_tui.adapters.terminal.attention import (
    Blocked,
    blocked,
    looks_like_prompt,
    pending,
)
from sam_tui.adapters.terminal.endings import members
from sam_tui.adapters.terminal.history import History
from sam_tui.adapters.terminal.ladder import Ladder
from sam_tui.adapters.terminal.pty import Pty, PtyLaunch
from sam_tui.adapters.terminal.shell_integration import Integration, Mark, MarkStream
from sam_tui.adapters.terminal.shell_log import ShellLog
from sam_tui.core.ids import ConversationId, SessionId, mint
from sam_tui.core.ports.terminals import (
    CommandRecord,
    Screen,
    SessionOutput,
    SessionSpec,
    TerminalState,
)

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.recording import Recorder
    from sam_tui.adapters.terminal.screen import EmulatedScreen

LARGEST_SIDE = 1000
# What makes a program wait for an answer (ECMA-48, xterm, kitty): attributes, status and cursor
# reports, sizes, modes, version, keyboard, colours, settings, capabilities.
_QUESTION = re.compile(
    rb"\x1b(?:\[(?:[>=]?0?c|\??[56]n|1[13468]t|2[01]t|\?u|>0?q|\??\d+\$p)"
    rb"|\](?:1[0-2]|4;\d+);\?|P[$+]q)"
)
_PAUSE = 0.05
"""Seconds without output after which it is worth asking what the processes do."""
_LONG_PAUSE = 0.3
"""The same for a program that waits for several things, and whose last line reads as a question."""
_POLL_PAUSE = 1.0
"""The same for one that has set the terminal up for single keys, or hides them."""
_LONGEST_HOLD = 0.2
"""Seconds after which a program that keeps the screen from being drawn (mode 2026) is not heeded."""
_QUIET = 2.0
_LINE = 400
_RUNG = 1.0
"""Seconds that a job is given to end after each signal."""
_LADDER = 10.0
"""Seconds after which a command that does not end is left alone."""


class PtySession:
    """The ``TerminalSession`` port on a real pseudo-terminal."""

    def __init__(self, spec: SessionSpec, launch: PtyLaunch, integration: Integration) -> None:
        self._id = SessionId(mint("term"))
        self._conversation = spec.conversation
        self._cwd = launch.cwd
        self._confined = spec.confined
        self._size = (launch.columns, launch.rows)
        self._history = History()
        self._integration = integration
        self._marks = MarkStream(integration.nonce)
        self._log = ShellLog(
            self._history.since,
            time.monotonic,
            shell=os.path.basename(launch.argv[0]),
        )
        self._screen: EmulatedScreen | None = None
        self._watchers: list[Callable[[], None]] = []
        self._activity = asyncio.Event()
        self._recorder: Recorder | None = None
        self._record_typed = False
        self._release: asyncio.TimerHandle | None = None
        self._last_output = time.monotonic()
        self.selection = ""
        """What the person has selected of it in the workbench."""
        self._pty = Pty(launch, self._heard, self._ended)

    @property
    def id(self) -> SessionId:
        """Opaque and unguessable."""
        return self._id

    @property
    def conversation(self) -> ConversationId | None:
        """Whose session this is; None for the person's own shell."""
        return self._conversation

    @property
    def tty_name(self) -> str:
        """The path of its terminal device."""
        return self._pty.tty_name

    @property
    def cwd(self) -> str:
        """The real path of the folder it was started in."""
        return self._cwd

    @property
    def directory(self) -> str:
        """Where its shell is now: as it told, else as the system knows, else where it started."""
        if self._log.directory:
            return self._log.directory
        if self.running:
            try:
                return os.readlink(f"/proc/{self._pty.pid}/cwd")
            except OSError:
                pass
        return self._cwd

    @property
    def running(self) -> bool:
        """Whether its shell has not ended."""
        return self._pty.running

    @property
    def exit_code(self) -> int | None:
        """The shell's code, 128 plus the signal that killed it, None while it runs."""
        return self._pty.exit_code

    @property
    def commands(self) -> Sequence[CommandRecord]:
        """The newest commands of its shell, oldest first; the last one may still run."""
        return self._log.records

    @property
    def end(self) -> int:
        """The index behind everything printed so far, in characters since the session began."""
        return self._history.end

    @property
    def screen(self) -> Screen:
        """The emulator, made at the first look from the output that is kept."""
        return self._emulator()

    @property
    def state(self) -> TerminalState:
        """What it is doing now, as far as its shell and the system tell."""
        seconds = time.monotonic() - self._last_output
        secret = self._pty.modes.secret
        if not self.running or (self._log.at_prompt and not self._pty.unread):
            return TerminalState("finished", seconds)
        if self._needs_somebody(seconds):
            own = not self._log.told and self._pty.foreground() == self._pty.pid
            return TerminalState("finished" if own and not secret else "waiting", seconds, secret)
        return TerminalState("quiet" if seconds >= _QUIET else "running", seconds, secret)

    def write(self, data: bytes) -> None:
        """Type into it. Raises ``ToolError`` when it ended or does not read."""
        recorder = self._recorder
        if recorder is not None and self._record_typed:
            recorder.input(data, secret=self._pty.modes.secret)
        self._pty.write(data)

    async def end_command(self) -> TerminalState:
        """End what runs in the foreground: INT, TERM, KILL, a little time for each; the shell stays.

        Returns the state once the shell is back, or when nothing helped: a job that ignores even
        KILL is stuck in the kernel, and a loop of the shell's own that traps INT goes on.
        """
        ladder = Ladder(self._pty.pid, _RUNG)
        deadline = time.monotonic() + _LADDER
        while time.monotonic() < deadline:
            if self._is_back():
                if not (self.running and ladder.confirm()):
                    return TerminalState("finished", time.monotonic() - self._last_output)
            elif not self._log.at_prompt:
                ladder.strike(self._pty.foreground())
            await self._sounds(_PAUSE)
        return self.state

    def record(self, path: str, *, typed: bool = False) -> Callable[[], None]:
        """Record from now on to an asciicast v2 file that must not exist; returns how to stop.

        What is typed is recorded only if ``typed``, and never while the terminal hides it. One
        recording at a time: another one ends the first. Raises ``ToolError`` when it cannot.
        """
        from sam_tui.adapters.terminal.recording import Recorder

        recorder = Recorder(path, self._size)
        self._stop_recording()
        self._recorder, self._record_typed = recorder, typed
        return recorder.close

    def output(self, start: int, end: int | None = None) -> SessionOutput:
        """Everything kept from ``start`` on, in characters since the session began."""
        return self._history.since(start, end)

    async def quiet(self, *, silence: float, within: float) -> None:
        """Return once nothing was printed for ``silence`` seconds, it ended, or ``within`` is up."""
        deadline = time.monotonic() + within
        while self.running and (left := deadline - time.monotonic()) > 0:
            if not await self._sounds(min(silence, left)):
                return

    async def settled(self, *, within: float) -> TerminalState:
        """Wait until a command finished, a program waits for keys, it ended, or time is up.

        The end of a command is what the shell told, and that all that was typed has been read.
        """
        began = time.monotonic()
        while self.running and (left := began + within - time.monotonic()) > 0:
            # Neither the kernel nor another process has an event for a program that starts to wait.
            if await self._sounds(min(_PAUSE, left)):
                continue
            now = time.monotonic()
            if self._needs_somebody(now - max(self._last_output, began)):
                break
        return self.state

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program its new size."""
        columns, rows = side(columns), side(rows)
        if (columns, rows) == self._size:
            return
        self._size = (columns, rows)
        self._pty.resize(columns, rows)
        if self._screen is not None:
            self._screen.resize(columns, rows)
        if self._recorder is not None:
            self._recorder.resized(columns, rows)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after output or the end; returns how to stop."""
        # Wrapped, so that the same callable given twice is two watchers.
        watcher = _Watcher(changed)
        self._watchers.append(watcher)

        def stop() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return stop

    def serves(self, spec: SessionSpec) -> bool:
        """Whether it is what a spec asks for: alive, in that folder, and no less confined."""
        held = self._confined or not spec.confined
        return self.running and held and self._cwd == place(spec)

    async def close(self) -> None:
        """End it with all that runs in it."""
        await self._pty.close()

    # ---- what comes from the program

    def _heard(self, data: bytes) -> None:
        self._last_output = time.monotonic()
        for part in self._marks.split(data):
            if isinstance(part, Mark):
                self._marked(part)
            else:
                self._take(part)
        self._tell()

    def _take(self, data: bytes) -> None:
        if self._screen is None and _QUESTION.search(data):
            # Without an emulator nobody would answer, and the program would wait.
            self._emulator()
        self._history.add(data)
        if self._recorder is not None:
            self._recorder.output(data)
        if self._screen is not None:
            self._screen.feed(data)
            if self._screen.held and self._release is None:
                # Nobody may come to draw again, if the program never says that it is done.
                self._release = asyncio.get_running_loop().call_later(_LONGEST_HOLD, self._released)

    def _released(self) -> None:
        self._release = None
        self._tell()

    def _stop_recording(self) -> None:
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    def _marked(self, mark: Mark) -> None:
        if not self._log.told:
            self._integration.discard()
        self._log.marked(mark, self._history.end)

    def _ended(self) -> None:
        if rest := self._marks.rest():
            self._take(rest)
        self._history.add(b"", final=True)
        self._log.ended(self._history.end, self.exit_code)
        self._integration.discard()
        self._stop_recording()
        if self._release is not None:
            self._release.cancel()
        self._tell()

    def _tell(self) -> None:
        self._activity.set()
        for watcher in tuple(self._watchers):
            watcher()

    async def _sounds(self, within: float) -> bool:
        """Whether something is printed, or it ends, within some seconds."""
        self._activity.clear()
        try:
            async with asyncio.timeout(within):
                await self._activity.wait()
        except TimeoutError:
            return False
        return True

    # ---- whom it waits for

    def _is_back(self) -> bool:
        """Whether the shell itself waits for the next command, and no interrupt is on its way to it.

        What is typed then is not lost to an interrupt that the shell takes late.
        """
        if not self.running:
            return True
        shell, told = self._pty.pid, self._log.told
        if (told and not self._log.at_prompt) or self._pty.foreground() != shell:
            return False
        found = blocked([shell], self.tty_name)
        if not found.known:
            return told or time.monotonic() - self._last_output >= _LONG_PAUSE
        waits = found.reading or (told and found.polling)
        return waits and not pending(shell, signal.SIGINT)

    def _needs_somebody(self, silence: float) -> bool:
        """Whether, silent for so long, it does nothing but wait for keys."""
        if silence < _PAUSE or self._pty.unread:
            return False
        found = self._waits()
        if not found.known:
            # All that is left is what it looks like.
            return silence >= (_LONG_PAUSE if self._log.at_prompt else self._patience())
        if found.reading or (found.polling and self._log.at_prompt):
            return True
        return found.polling and silence >= self._patience()

    def _waits(self) -> Blocked:
        """How the processes that have the terminal wait."""
        group = self._pty.foreground()
        pids = [pid for pid, its in members(self._pty.pid).items() if its == group]
        return blocked(pids, self.tty_name)

    def _patience(self) -> float:
        """How long it must be silent to be taken for waiting, by what it looks like."""
        line = self._history.since(self._history.end - _LINE).text.rpartition("\n")[2]
        if looks_like_prompt(line):
            return _LONG_PAUSE
        now = self._pty.modes
        return math.inf if now.echo and now.lines else _POLL_PAUSE

    # ---- what it looks like

    def _emulator(self) -> "EmulatedScreen":
        if self._screen is None:
            # The library takes a tenth of a second to load, and headless runs never look.
            from sam_tui.adapters.terminal.screen import EmulatedScreen

            self._screen = EmulatedScreen(*self._size)
            self._screen.feed(self._history.since(0).text.encode(errors="replace"))
            # Only from now on: what was asked in the past waits for no answer.
            self._screen.reply = self._answer
        return self._screen

    def _answer(self, data: bytes) -> None:
        if self.running:
            self._pty.write(data)


class _Watcher:
    """One registration of a callback."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def __call__(self) -> None:
        self._changed()


def place(spec: SessionSpec) -> str:
    """Where a session starts: two spellings of one folder are one place."""
    return os.path.realpath(spec.cwd)


def side(cells: int) -> int:
    """A width or height that terminals can have."""
    return max(1, min(cells, LARGEST_SIDE))
