"""Turns of agent and person in a session: the output that the agent sees, and the hand-over."""

import asyncio
import os
import re
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sam_tui.adapters.terminal.person_input.decoder import characters
from sam_tui.adapters.terminal.person_input.redaction import uncovered
from sam_tui.adapters.terminal.person_input.session_holder import (
    NOT_RECORDED,
    PASTE_OVER,
    Hold,
    SessionHolder,
)
from sam_tui.adapters.terminal.processes.output import OutputHistory
from sam_tui.adapters.terminal.pty.pty import Process, Pty
from sam_tui.adapters.terminal.sessions.activity import Activity
from sam_tui.adapters.terminal.shell_integration.log import ShellLog, told_command
from sam_tui.adapters.terminal.shell_integration.marks import SET_ASIDE, Mark, lost_mark
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import AgentScreen, Holder

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
    from sam_tui.adapters.terminal.holders.client import SessionOrigin
    from sam_tui.adapters.terminal.sessions.agent_view import AgentView

_INTERRUPT = b"\x03"
_READ_SECONDS = 10.0
"""The most seconds for a shell to read typed input, and for a program to read more."""
_REPORT_SECONDS = 10.0
"""The most seconds for a shell to report its line, and then its next prompt."""
_PAUSE = 0.05
_AROUND = 4096
_ENTERS = re.compile(rb"[\r\n]")
_KEY_AS_TEXT = re.compile(r"\x1b?\[7717~")
"""The rest of ``SET_ASIDE`` in a line if a search or another incomplete key took its beginning."""
_DRAWS = ("bash", "zsh")
"""Shells that report the end of their prompts, before which typed text is not drawn."""
_LEFT = "The person left a line unfinished in this terminal, so nothing was typed."
_WAYS = "Ask them to finish it (hand_over), or send \\u0003 alone, which drops it."


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The parts of a session. ``write`` types, ``notify`` says that something changed."""

    origin: "SessionOrigin"
    process: Process
    pty: Pty
    log: ShellLog
    activity: Activity
    history: OutputHistory
    emulator: Callable[[], "EmulatedScreen"]
    write: Callable[[bytes], None]
    notify: Callable[[], None]


class Turns(SessionHolder):
    """The person's turns in one session of an agent.

    During a turn, and while unfinished input of it precedes the agent's keys, the session is
    ``private``: only the screen gets the output. The agent's view then has characters only where
    they surely belong to a prompt, or to a command during which nothing was typed.
    """

    def __init__(self, parts: "TurnParts") -> None:
        origin = parts.origin
        super().__init__(personal=origin.conversation is None)
        self.view: AgentView | None = None
        self.blocked = ""
        """Why the agent may not type: the person left an unfinished line. Empty if it may."""
        self._parts = parts
        self._pty, self._log, self._activity = parts.pty, parts.log, parts.activity
        self._draws = os.path.basename(origin.shell) in _DRAWS
        self._tidying: asyncio.Task[None] | None = None
        self._queued = b""
        self._mark_arrived = asyncio.Event()
        self._marks: dict[str, Mark] = {}
        """The newest mark of each kind since a key was typed."""
        self._untouched = True
        self._stray = self._entered = self._drawing = self._running = False

    @property
    def private(self) -> bool:
        """Whether the output of this moment is stored nowhere."""
        return self.withheld or self._tidying is not None

    @property
    def agent_screen(self) -> AgentScreen:
        """The agent's view of the screen: all of it, until the person has been the holder."""
        screen = self._parts.emulator() if self.view is None else self.view.screen
        return AgentScreen(
            self.redacted(screen.title),
            screen.columns,
            screen.rows,
            screen.cursor,
            screen.alternate,
            self.redacted(uncovered(screen.scrollback.visible())),
        )

    def printed(self, start: int, end: int) -> str:
        """Return output between two indexes without the person's input, even input that an index cuts."""
        around = self._parts.history.since(start - _AROUND, end + _AROUND)
        return self.redacted(around.text, (start - around.start, end - around.start))

    def resume(self, hold: Hold) -> None:
        """Restore the state of an earlier program."""
        super().resume(hold)
        if self.withheld:
            self._begin()
        elif self.touched:
            self._tidy()

    def pass_to(self, holder: Holder, reason: str = "") -> None:
        """Change the holder, or the reason shown to the person; does nothing in their own session."""
        if self._personal or (holder == self.holder and not reason):
            return
        # Output until now belongs to the previous holder.
        self._pty.catch_up()
        process = self._parts.process
        # Make the view now at the latest: the person's output will be on the screen only.
        screen = self._parts.emulator()
        tidy = False
        if holder == "person":
            if not self.withheld:
                self._begin()
                self._parts.history.append(NOT_RECORDED)
                process.on_output(NOT_RECORDED.encode())
            self.take(reason, self._parts.history.since(0).text)
        else:
            if self.withheld:
                process.on_output(lost_mark(self._parts.origin.nonce))
                tidy = self.touched
            self.hand_back(self._changed(screen))
        if holder == "watch":
            self.watch_only()
        if tidy:
            self._tidy()
        else:
            process.hold(self.hold)
        if holder == "person":
            self._give_back(screen)
        self._parts.notify()

    def _begin(self) -> None:
        """Begin a turn of the person."""
        self.close()
        if self.view is None:
            # The library takes a tenth of a second to load: see the session's emulator.
            from sam_tui.adapters.terminal.sessions.agent_view import AgentView

            screen = self._parts.emulator()
            printed = self._parts.history.since(0).text
            self.view = AgentView((screen.columns, screen.rows), printed)
        self.view.begin()
        self.blocked = ""
        self._marks.clear()
        self._stray = not self._log.at_prompt
        self._entered = self._drawing = self._running = False

    def _give_back(self, screen: "EmulatedScreen") -> None:
        """Type the person's unfinished line again for them, if the shell's line is empty."""
        line = self.aside
        if not line or not self._untouched or not self._activity.at_line():
            return
        keys = screen.input.paste(line)
        if "\n" not in line or keys.startswith(b"\x1b"):
            self.aside = ""
            self.typed(keys)
            self._pty.write(keys)

    def wrote(self, data: bytes) -> bool:
        """The agent types this; False if it will be typed later. Raises ``ToolError`` if it may not."""
        if self.blocked and data != _INTERRUPT:
            raise ToolError(self.blocked, hint=_WAYS)
        self.blocked = ""
        self._untouched = False
        self._redaction.reveal(data.decode(errors="replace"))
        if self._tidying is not None:
            self._queued += data
        return self._tidying is None

    def typed(self, data: bytes) -> None:
        """The person types this."""
        screen = self._parts.emulator()
        enters = len(_ENTERS.findall(characters(data)))
        if enters and screen.cursor is not None:
            # The line on the screen may have been recalled or completed.
            span = screen.scrollback.line_at(
                screen.scrollback.total - screen.rows + screen.cursor[1]
            )
            self.saw(screen.scrollback.text(span.start, span.end))
        super().typed(data)
        if not self._log.at_prompt or self._entered or enters > 1:
            self._stray = True
        self._entered = self._log.at_prompt and not self.open
        self._marks.clear()
        self._drawing = self._running = False
        self._parts.process.hold(self.hold)

    def on_output(self, data: bytes) -> None:
        """Add output to the agent's view, hidden while the person's part is private."""
        if self.view is not None:
            self.view.feed(data, visible=not self.private or self._drawing or self._running)

    def marked(self, mark: Mark) -> None:
        """Take a mark of the shell: a prompt, a command's start, or its end."""
        self._marks[mark.kind] = mark
        if mark.kind == "D":
            self._untouched = True
        if not self.private:
            return
        if mark.kind == "C":
            self.saw(told_command(mark.text))
            self._running = self._entered and not self._stray
        elif mark.kind == "D":
            if not self.open and not self._pty.unread:
                self._stray = False
            self._entered = self._running = False
            self._drawing = not self._stray and self._draws
        elif mark.kind == "S":
            self.saw(mark.text)
            self.aside = _KEY_AS_TEXT.sub("", mark.text)
        else:
            self._drawing = False
        self._mark_arrived.set()

    def _changed(self, real: "EmulatedScreen") -> str:
        """The lines of the screen that are new to the agent; the others are redacted from then on."""
        if self.view is None:
            return ""
        for line in self.view.covered_lines(real):
            self.saw(line)
        return self.view.changed()

    # ---- the line that was left unfinished

    def _tidy(self) -> None:
        """Set the person's unfinished line aside, then type the agent's keys."""
        self.blocked = ""
        self._tidying = task = asyncio.get_running_loop().create_task(self._tidied())
        task.add_done_callback(self._tidy_over)

    def _tidy_over(self, task: "asyncio.Task[None]") -> None:
        if self._tidying is not task:
            return
        self._tidying = None
        queued, self._queued = self._queued, b""
        if self._pty.running:
            self._parts.process.hold(self.hold)
            if queued and not self.blocked:
                self._parts.write(queued)
        self._parts.notify()

    async def _tidied(self) -> None:
        with suppress(ToolError):
            await self._set_aside()
        self.touched = self.open = bool(self.blocked)

    async def tidied(self) -> None:
        """Wait until the line is set aside. Raises ``ToolError`` if an unfinished one remains."""
        if self._tidying is not None:
            await asyncio.wait([self._tidying])
        if self.blocked:
            raise ToolError(self.blocked, hint=_WAYS)

    def close(self) -> None:
        """Stop: the session has ended, or another program has it now."""
        task, self._tidying = self._tidying, None
        self._queued = b""
        if task is not None:
            task.cancel()

    async def _set_aside(self) -> None:
        # A stopped terminal reports nothing, and in an unfinished paste every key is text.
        self._pty.start_output()
        if self.end_paste():
            self._pty.write(PASTE_OVER)
        deadline = time.monotonic() + _READ_SECONDS
        while self._pty.running and time.monotonic() < deadline:
            runs = self._log.trusted and not self._log.at_prompt
            if not self._log.integrated or runs or self._pty.foreground() != self._pty.pid:
                if self._stray:  # a program's answer to the person's keys is the person's, too
                    await self._activity.settled(within=deadline - time.monotonic())
                break
            if self._activity.at_line():
                self.blocked = "" if await self._empty_line() else _LEFT
                return
            await asyncio.sleep(_PAUSE)
        if self._pty.running and self.open:
            self.blocked = "" if self._erase() else _LEFT

    async def _empty_line(self) -> bool:
        """Have the shell set its line aside; True once it has reported an empty one.

        A search, a menu or the beginning of another key consumes the key, and ends with it or with an
        interrupt: then the shell can report its line.
        """
        if not self.open and "D" in self._marks:
            return True
        for asks in (True, True, False, True, False):
            if asks:
                reply = await self._answers(SET_ASIDE, "S")
                if reply is None:
                    continue
                if reply.code == 1:
                    return True
            if await self._answers(self._pty.control(termios.VINTR), "D") is not None:
                return True
        return False

    async def _answers(self, keys: bytes, kind: str) -> Mark | None:
        """The shell's mark of a kind after these keys; None if it waits for more, or time is up."""
        self._marks.clear()
        if not keys or not self._pty.running:
            return None
        self._pty.write(keys)
        deadline = time.monotonic() + _REPORT_SECONDS
        while time.monotonic() < deadline:
            if kind in self._marks:
                return self._marks[kind]
            self._mark_arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE):
                    await self._mark_arrived.wait()
            if self._activity.at_line():
                self._pty.catch_up()
                break
        return self._marks.get(kind)

    def _erase(self) -> bool:
        """Erase the unread line by the terminal's kill character; whether no line is left."""
        screen = self.view.screen if self.view is not None else None
        if not self._pty.modes.lines:
            # A full-screen program has no line that a command could be joined to.
            return screen is not None and screen.alternate
        keys = self._pty.control(termios.VKILL)
        if keys:
            self._pty.write(keys)
        return bool(keys)
