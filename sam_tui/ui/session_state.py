"""What a terminal session is doing, in the few words that a status bar has room for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import CommandRecord, TerminalSession, TerminalState

LONG = 2.0
"""Seconds from which on a command is worth a word when it ended well."""
QUIET = (5, 10, 20, 30, 45, 60)
"""Seconds of silence that are told; then every minute."""
_SOON = 1.0
_COMMAND, _QUESTION = 24, 28
_PROMPTS = tuple(":?>]$#%)")
"""What questions end with."""

Weight = Literal[0, 1, 2, 3, 4]


@dataclass(frozen=True, slots=True)
class SessionNotice:
    """What is told of a session. The least ``weight`` is told first.

    ``again`` is in how many seconds it would read otherwise though nothing happens; None for never.
    """

    words: str
    weight: Weight
    style: str
    again: float | None = None


def told_of(session: "TerminalSession", name: str, *, watched: bool) -> SessionNotice | None:
    """What to tell of a session called ``name``; ``watched`` is one that has the keys."""
    agents = session.conversation is not None
    if not session.running or (watched and not agents):
        return None
    state = session.state
    commands = session.commands
    last = commands[-1] if commands else None
    running = last is not None and last.exit_code is None
    command = one_line(last.command, _COMMAND) if last is not None and running else "a program"
    match state.name:
        case "finished":
            return None if watched or last is None else _ended(last, name)
        case "waiting":
            if watched:
                return None
            wants = _wants(session, state)
            if wants:
                words = wants if wants.startswith("waits") else f"{command} waits for {wants}"
                style = "bold $warning" if agents else "$warning"
                joint = " " if words is wants else ": "
                return SessionNotice(f"{name}{joint}{words}", 0 if agents else 2, style)
            # One that draws now and then, such as top, waits and does not in turns: no word of it.
            left = QUIET[0] - state.seconds
            line = f"{name}: {command}" + (" waits for input" if left <= 0 else "")
            return SessionNotice(
                line, 1 if agents else 3, "$text-muted", left if left > 0 else None
            )
        case "running" | "quiet":
            silent, again = _silence(state.seconds)
            if state.name == "running":
                again = _SOON  # it may have begun to wait for somebody, which makes no sound
            quiet = f", quiet {_span(silent)}" if silent else ""
            weight: Weight = 1 if agents else 3
            return SessionNotice(f"{name}: {command}{quiet}", weight, "$text-muted", again)


def _ended(last: "CommandRecord", name: str) -> SessionNotice | None:
    """How its last command ended: where that went wrong, or took long."""
    code, seconds = last.exit_code, last.seconds or 0.0
    if code is None or (code == 0 and seconds < LONG):
        return None
    command = one_line(last.command, _COMMAND)
    if code == 0:
        return SessionNotice(f"{name}: {command} done in {_span(round(seconds))}", 4, "$success")
    return SessionNotice(f"{name}: {command} exit {code}", 4, "$text-muted")


def _wants(session: "TerminalSession", state: "TerminalState") -> str:
    """What is waited for: the person and why, hidden input, or the question before the cursor."""
    if session.holder == "person" and session.conversation is not None:
        reason = f": {one_line(session.reason, _QUESTION)}" if session.reason else ""
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
    """The silence to tell, 0 for none, and in how many seconds the next is due."""
    if seconds >= QUIET[-1]:
        minutes = int(seconds // 60)
        return 60 * minutes, 60.0 * (minutes + 1) - seconds
    passed = max((step for step in QUIET if step <= seconds), default=0)
    return passed, next(step for step in QUIET if step > seconds) - seconds


def _span(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"
