"""The state of the terminals for the status bar, computed after a change instead of at intervals."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.timers import after
from sam_tui.ui.widgets.terminal.view import TerminalView

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from sam_tui.core.ports.processes.terminals import CommandRecord, TerminalSession, TerminalState


LONG = 2.0
"""Seconds after which the end of a successful command is reported."""
QUIET = (5, 10, 20, 30, 45, 60)
"""Seconds without output after which the silence is reported, and again every minute."""
_SOON = 1.0
_COMMAND, _QUESTION = 24, 28
_PROMPTS = tuple(":?>]$#%)")
"""The last characters of a line with which programs ask something."""

Weight = Literal[0, 1, 2, 3, 4]


@dataclass(frozen=True, slots=True)
class SessionNotice:
    """A notice about a session. The least ``weight`` comes first.

    ``again`` is the number of seconds until its words change by time alone; None for never.
    """

    words: str
    weight: Weight
    style: str
    again: float | None = None


def session_notice(session: "TerminalSession", name: str, *, watched: bool) -> SessionNotice | None:
    """The notice about a session called ``name``; ``watched`` sessions have the keys."""
    agents = session.conversation is not None
    if not session.running or (watched and not agents):
        return None
    state = session.activity.state
    commands = session.commands
    if state.name == "finished":
        return None if watched or not commands else _ended(commands[-1], name)
    command = _running_command(commands)
    if state.name != "waiting":
        return _working(state, f"{name}: {command}", agents=agents)
    if watched:
        return None
    return _waiting(session, name, command, agents=agents)


def _waiting(session: "TerminalSession", name: str, command: str, *, agents: bool) -> SessionNotice:
    """Return the notice of a session whose program waits, with the reason."""
    wants = _wants(session, session.activity.state)
    if wants:
        asks = wants.startswith("waits")
        words = f"{name} {wants}" if asks else f"{name}: {command} waits for {wants}"
        style = "bold $warning" if agents else "$warning"
        return SessionNotice(words, 0 if agents else 2, style)
    # A program that draws now and then, such as top, alternates between both states: no notice.
    left = QUIET[0] - session.activity.state.seconds
    words = f"{name}: {command}" + (" waits for input" if left <= 0 else "")
    return SessionNotice(words, 1 if agents else 3, "$text-muted", left if left > 0 else None)


def _working(state: "TerminalState", words: str, *, agents: bool) -> SessionNotice:
    """The notice of a session whose program runs, with how long it has printed nothing."""
    silent, again = _silence(state.seconds)
    if state.name == "running":
        again = _SOON  # the program may begin to wait for input, which is no event
    quiet = f", quiet {_span(silent)}" if silent else ""
    return SessionNotice(f"{words}{quiet}", 1 if agents else 3, "$text-muted", again)


def _ended(last: "CommandRecord", name: str) -> SessionNotice | None:
    """The notice of how the last command ended; None for a short one without an error."""
    code, seconds = last.exit_code, last.seconds or 0.0
    if code is None or (code == 0 and seconds < LONG):
        return None
    command = one_line(last.command, _COMMAND)
    if code == 0:
        return SessionNotice(f"{name}: {command} done in {_span(round(seconds))}", 4, "$success")
    return SessionNotice(f"{name}: {command} exit {code}", 4, "$text-muted")


def _wants(session: "TerminalSession", state: "TerminalState") -> str:
    """Return what is waited for: the person and why, hidden input, or the question before the cursor."""
    if session.turns.holder == "person" and session.conversation is not None:
        reason = f": {one_line(session.turns.reason, _QUESTION)}" if session.turns.reason else ""
        return f"waits for you{reason}"
    if state.secret:
        return "hidden input"
    screen = session.screen
    if screen.alternate or screen.cursor is None:
        return ""
    column, row = screen.cursor
    line = screen.text().split("\n")[row : row + 1]
    question = one_line(line[0][:column], _QUESTION) if line else ""
    return f"waits: {question}" if question.endswith(_PROMPTS) else ""


def _silence(seconds: float) -> tuple[int, float]:
    """The seconds of silence to show, 0 for none, and the seconds until the next value."""
    if seconds >= QUIET[-1]:
        minutes = int(seconds // 60)
        return 60 * minutes, 60.0 * (minutes + 1) - seconds
    passed = max((step for step in QUIET if step <= seconds), default=0)
    return passed, next(step for step in QUIET if step > seconds) - seconds


def _span(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"


_PACE = 1.0
"""The least seconds between two updates of the status, however much the terminals print."""


class TerminalStatus:
    """Reads a session soon after it printed something, and when time alone changes its notice.

    While nothing happens in any session no timer runs.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._followed: dict[TerminalView, tuple[TerminalSession, Callable[[], None]]] = {}
        self._timer: TimerHandle | None = None
        self._due = 0.0
        self._looked = 0.0

    @property
    def at_rest(self) -> bool:
        """Whether no session will be read again before something happens."""
        return self._timer is None

    def follow(self, view: TerminalView) -> None:
        """A view shows another session now, or none."""
        old = self._followed.pop(view, None)
        if old is not None:
            old[1]()
        if view.session is not None:
            self._followed[view] = (view.session, view.session.watch(self.look_soon))
        self.look_soon()

    def look_soon(self) -> None:
        """Read the sessions again, at least a second after the last time."""
        self._look_in(max(0.05, self._looked + _PACE - time.monotonic()))

    def _look_in(self, seconds: float) -> None:
        if not self._screen.is_running:
            return  # sessions end after the screen does
        now = time.monotonic()
        due = now + seconds
        if self._timer is not None:
            if self._due <= due and now < self._due + _PACE:
                return
            self._timer.cancel()
        self._due = due
        self._timer = after(self._screen, seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        self._looked = time.monotonic()
        panel = self._screen.terminals
        states = [
            state
            for view, (session, _) in self._followed.items()
            if (state := session_notice(session, panel.name_of(view), watched=view.has_focus))
        ]
        self._show(sorted(states, key=lambda state: state.weight))
        again = [state.again for state in states if state.again is not None]
        if again:
            self._look_in(max(_PACE, min(again)))

    def _show(self, states: "list[SessionNotice]") -> None:
        standing = self._screen.status.standing
        more = f" +{len(states) - 1}" if len(states) > 1 else ""
        line = (f"{states[0].words}{more}", states[0].style) if states else ("", "")
        if line != standing.sessions:
            standing.sessions = line
            self._screen.status.show()


def _running_command(commands: "Sequence[CommandRecord]") -> str:
    """The last command, if the shell reported its start but not its end."""
    if commands and commands[-1].exit_code is None:
        return one_line(commands[-1].command, _COMMAND)
    return "a program"
