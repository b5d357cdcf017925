"""What a terminal session is doing, in the few words that a status bar has room for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.ports.terminals import CommandRecord, TerminalSession, TerminalState

LONG = 2.0
"""Seconds from which on a command is worth a word when it ended well."""
QUIET = (5, 10, 20, 30, 45, 60)
"""Seconds of silence that are told; then every minute."""
_COMMAND, _QUESTION = 24, 28
_LINE = 400

Weight = Literal[0, 1, 2, 3, 4]


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a session. The least ``weight`` is told first.

    ``again`` is in how many seconds it would read otherwise though nothing happens; None for never.
    """

    words: str
    weight: Weight
    style: str
    again: float | None = None


def told_of(session: "TerminalSession", name: str, *, watched: bool) -> Told | None:
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
            words = _waiting(session, state, name, command)
            return Told(words, 0 if agents else 2, "bold $warning" if agents else "$text-muted")
        case "running" | "quiet":
            silent, again = _silence(state.seconds)
            quiet = f", quiet {_span(silent)}" if silent else ""
            weight: Weight = 1 if agents else 3
            return Told(f"{name}: {command}{quiet}", weight, "$primary", again)


def _ended(last: "CommandRecord", name: str) -> Told | None:
    """How its last command ended: where that went wrong, or took long."""
    code, seconds = last.exit_code, last.seconds or 0.0
    if code is None or (code == 0 and seconds < LONG):
        return None
    command = one_line(last.command, _COMMAND)
    if code == 0:
        return Told(f"{name}: {command} done in {_span(round(seconds))}", 4, "$success")
    return Told(f"{name}: {command} exit {code}", 4, "$text-muted")


def _waiting(session: "TerminalSession", state: "TerminalState", name: str, command: str) -> str:
    """What is waited for: why the agent asks, hidden input, or the question on the last line."""
    if session.holder == "person" and session.conversation is not None:
        reason = f": {one_line(session.reason, _QUESTION)}" if session.reason else ""
        return f"{name} waits for you{reason}"
    if state.secret:
        return f"{name}: {command} waits for hidden input"
    if session.screen.alternate:
        return f"{name}: {command} waits"
    from sam_tui.core.plain import plain

    text = plain(session.output(session.end - _LINE).text).rstrip(" ")
    question = one_line(text.rpartition("\n")[2], _QUESTION)
    return f"{name} waits: {question}" if question else f"{name}: {command} waits for input"


def _silence(seconds: float) -> tuple[int, float]:
    """The silence to tell, 0 for none, and in how many seconds the next is due."""
    if seconds >= QUIET[-1]:
        minutes = int(seconds // 60)
        return 60 * minutes, 60.0 * (minutes + 1) - seconds
    passed = max((step for step in QUIET if step <= seconds), default=0)
    return passed, next(step for step in QUIET if step > seconds) - seconds


def _span(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"
