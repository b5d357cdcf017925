"""One terminal session: a shell, its output and commands, and an emulator made on demand."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.adapters.terminal.holders.client import HeldProcess, SessionOrigin
from sam_tui.adapters.terminal.person_input.decoder import QUESTION
from sam_tui.adapters.terminal.person_input.redaction import PLACEHOLDER
from sam_tui.adapters.terminal.person_input.session_holder import Hold
from sam_tui.adapters.terminal.processes.output import OutputHistory
from sam_tui.adapters.terminal.pty.parented_shell import ParentedShell
from sam_tui.adapters.terminal.pty.pty import Child, Pty
from sam_tui.adapters.terminal.sandbox.supervised.processes import folder_of
from sam_tui.adapters.terminal.sessions.activity import Activity, Watchers
from sam_tui.adapters.terminal.sessions.turns import TurnParts, Turns
from sam_tui.adapters.terminal.shell_integration.log import ShellLog
from sam_tui.adapters.terminal.shell_integration.marks import Integration, Mark, MarkStream
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.ports.processes.terminals import (
    CommandRecord,
    Screen,
    SessionOutput,
    SessionSpec,
)

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
    from sam_tui.adapters.terminal.sessions.recorder import SessionRecording

Size = tuple[int, int]
"""Columns and rows."""

LARGEST_SIDE = 1000
_LONGEST_HOLD = 0.2
"""The most seconds for which a program can suspend drawing (mode 2026)."""


class PtySession(Watchers):
    """The ``TerminalSession`` port on a real pseudo-terminal."""

    def __init__(
        self,
        origin: SessionOrigin,
        process: Child | ParentedShell | HeldProcess,
        integration: Integration,
        *,
        size: Size,
    ) -> None:
        super().__init__()
        self._origin = origin
        self._process = process
        self._conversation = (
            None if origin.conversation is None else ConversationId(origin.conversation)
        )
        self._size = size
        self._history = OutputHistory()
        self._integration = integration
        self._marks = MarkStream(origin.nonce)
        self._log = ShellLog(self._history.since, time.monotonic, shell=origin.shell)
        self._screen: EmulatedScreen | None = None
        self._recorder: SessionRecording | None = None
        self._release: asyncio.TimerHandle | None = None
        self.resumed = False
        """Whether it comes from an earlier run of the program."""
        self.selection = ""
        """The text of it that the person has selected in the workbench."""
        self.pty = Pty(process, self._heard, self._ended)
        self.pid = self.pty.pid
        """The process id of the shell, which leads its session."""
        self.activity = Activity(self.pty, self._log, self._history)
        parts = TurnParts(
            origin, process, self.pty, self._log, self.activity, self._history,
            self._emulator, self._type, self._tell,
        )  # fmt: skip
        self.turns = Turns(parts)
        if isinstance(process, HeldProcess):
            self._recall(process)

    @property
    def id(self) -> SessionId:
        """The id, unguessable and without meaning."""
        return SessionId(self._origin.id)

    @property
    def conversation(self) -> ConversationId | None:
        """The conversation of the session; None for the person's own shell."""
        return self._conversation

    @property
    def confined(self) -> bool:
        """Whether it runs in the sandbox."""
        return self._origin.confined

    @property
    def tty_name(self) -> str:
        """The path of its terminal device."""
        return self.pty.tty_name

    @property
    def cwd(self) -> str:
        """The real path of the folder it was started in."""
        return self._origin.cwd

    @property
    def directory(self) -> str:
        """The shell's present folder: as it reported, else as the system reports, else where it started."""
        return self._log.directory or (self.running and folder_of(self.pid)) or self._origin.cwd

    @property
    def starts(self) -> bool:
        """Whether the shell has not reported its first prompt yet."""
        return not self._log.integrated

    @property
    def running(self) -> bool:
        """Whether its shell has not ended."""
        return self.pty.running

    @property
    def exit_code(self) -> int | None:
        """The shell's exit code, 128 plus the number of a fatal signal; None while it runs."""
        return self.pty.exit_code

    @property
    def commands(self) -> Sequence[CommandRecord]:
        """The newest commands of its shell, oldest first; the last one may still run."""
        hide = self.turns.redacted
        records = self._log.records
        return tuple(replace(r, command=hide(r.command), cwd=hide(r.cwd)) for r in records)

    @property
    def end(self) -> int:
        """The index behind everything printed so far, in characters since the session began."""
        return self._history.end

    @property
    def screen(self) -> Screen:
        """The emulator, made at the first use from the stored output."""
        return self._emulator()

    def write(self, data: bytes) -> None:
        """The agent types. Raises ``ToolError`` when it may not, it ended or does not read."""
        if self._conversation is not None and self.turns.holder != "agent":
            raise ToolError("It is not the agent's turn in this terminal.")
        if self._conversation is None or self.turns.wrote(data):
            self._type(data)

    def type(self, data: bytes) -> None:
        """Type as the person, who becomes the holder. Raises ``ToolError`` if nobody may type."""
        if self.turns.holder == "watch":
            raise ToolError("This terminal is watched only.")
        if self.turns.holder == "agent":
            self.turns.pass_to("person")
        if self.turns.withheld:
            self.pty.catch_up()
            self.turns.typed(data)
        self._type(data)

    def report(self, data: bytes) -> None:
        """Report mouse or focus to the program while the person is the holder."""
        if self.turns.holder == "person":
            self._type(data)

    def record(self, path: str, *, typed: bool = False) -> Callable[[], None]:
        """Record to a new asciicast v2 file, from its screen on; returns how to stop. ``ToolError``
        when it cannot.
        Keys only if ``typed``, never while they are hidden. Another recording ends the first."""
        from sam_tui.adapters.terminal.sessions.recorder import SessionRecording

        recorder = SessionRecording(path, self.turns, self._emulator, typed=typed)
        self._stop_recording()
        self._recorder = recorder
        return recorder.close

    def output(self, start: int, end: int | None = None) -> SessionOutput:
        """Return the kept output from ``start`` on, in characters since the session began."""
        output = self._history.since(start, end)
        return replace(output, text=self.turns.printed(output.start, output.end))

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program its new size."""
        columns, rows = side(columns), side(rows)
        if (columns, rows) == self._size:
            return
        self._size = (columns, rows)
        self.pty.resize(columns, rows)
        for screen in (self._screen, self.turns.view and self.turns.view.screen):
            if screen is not None:
                screen.resize(columns, rows)
        if self._recorder is not None:
            self._recorder.resized(columns, rows)

    def serves(self, spec: SessionSpec) -> bool:
        """Whether it fits a spec: alive, in that folder, and confined if the spec asks for it."""
        return self.running and self._origin.serves(spec) and self.cwd == start_folder(spec)

    def looser(self, spec: SessionSpec, network: str) -> bool:
        """Whether one of an earlier run may do more than a spec, and a network in words, allow now."""
        return self.resumed and self._origin.looser(spec, network)

    def attend(self, spec: SessionSpec) -> None:
        """Have the function of a spec answer its programs' questions, if nobody does yet."""
        supervision = self._process.supervision if isinstance(self._process, HeldProcess) else None
        if supervision is not None and not supervision.attended:
            supervision.attend(spec.ask)

    def leave(self) -> bool:
        """Detach, so that the holder keeps the session; false without a holder or after the end."""
        if not self.running or not isinstance(self._process, HeldProcess):
            return False
        self.pty.leave()
        self.turns.close()
        self._process.leave()
        self._stop_recording()
        return True

    # ---- what comes from the program

    def _recall(self, process: HeldProcess) -> None:
        """Process the output and the holder from before this process attached."""
        self._log.past = True
        for part in self._marks.split(process.ring.content()):
            if isinstance(part, Mark):
                self._marked(part)
            else:
                self._take(part)
        self._log.past = False
        if process.earlier_hold.holder == "person":
            # Nobody stored the output, so the program has to redraw its screen.
            self._log.lost(self._history.end)
            self.pty.redraw(*self._size)
        if process.earlier_hold != Hold():
            self.turns.resume(process.earlier_hold)

    def _heard(self, data: bytes) -> None:
        self.activity.on_output()
        if not self.turns.private:
            self._process.on_output(data)
        for part in self._marks.split(data):
            if isinstance(part, Mark):
                self._marked(part)
            else:
                self._take(part)
        self._tell()

    def _take(self, data: bytes) -> None:
        if self._screen is None and QUESTION.search(data):
            # Without an emulator, queries would get no answer, and the program would wait.
            self._emulator()
        if self._recorder is not None:
            self._recorder.output(data)
        self.turns.on_output(data)
        if not self.turns.private:
            self._history.add(data)
        if self._screen is not None:
            self._screen.feed(data)
            if self._screen.drawing and self._release is None:
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
        if not self._log.trusted:
            self._integration.discard()
        private = self.turns.private
        if private and mark.kind == "C":
            self._log.began(PLACEHOLDER, self._history.end)
        elif mark.kind != "S":
            self._log.marked(mark, self._history.end)
        self.turns.marked(mark)

    def _ended(self) -> None:
        if tail := self._marks.remainder():
            self._take(tail)
        self._history.add(b"", final=True)
        self._log.ended(self._history.end, self.exit_code)
        self._integration.discard()
        self.turns.close()
        self._stop_recording()
        if self._release is not None:
            self._release.cancel()
        self._tell()

    def _tell(self) -> None:
        self.activity.wake()
        self.notify()

    # ---- the screen

    def _emulator(self) -> "EmulatedScreen":
        if self._screen is None:
            # The library takes a tenth of a second to load, and headless runs never look.
            from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen

            self._screen = EmulatedScreen(*self._size)
            self._screen.feed(self._history.since(0).text.encode(errors="replace"))
            # Only from now on: past questions wait for no answer.
            self._screen.reply = self._answer
        return self._screen

    def _type(self, data: bytes) -> None:
        if self._recorder is not None:
            self._recorder.input(data, secret=self.pty.modes.secret)
        self.pty.write(data)

    def _answer(self, data: bytes) -> None:
        if self.running:
            self.pty.write(data)


def start_folder(spec: SessionSpec) -> str:
    """Return the folder in which a session starts: two spellings of one folder give one path."""
    return os.path.realpath(spec.cwd)


def side(cells: int) -> int:
    """A width or height that terminals can have."""
    return max(1, min(cells, LARGEST_SIDE))
