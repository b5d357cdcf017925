"""The holder of a session and its keys, as texts of the border."""

from typing import TYPE_CHECKING

from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import TerminalSession


def person_types(session: "TerminalSession | None") -> bool:
    """Whether the person types in a session of the agent now."""
    return (
        session is not None
        and session.conversation is not None
        and session.turns.holder == "person"
    )


def watched_only(session: "TerminalSession | None") -> bool:
    """Whether nobody may type in a session now."""
    return session is not None and session.running and session.turns.holder == "watch"


def ways_out(session: "TerminalSession", *, chord_held: bool) -> str:
    """The keys that change the holder, while the session has the focus."""
    again = f"Ctrl+] {'again' if chord_held else 'twice'}"
    if watched_only(session):
        return "Enter: you · a: agent"
    if person_types(session):
        return f"{again} hands back"
    if session.conversation is not None:
        return f"keys take it · {again} out"
    return f"{again} leaves"


def ways_in(session: "TerminalSession") -> str:
    """The keys of the workbench that change the holder of an agent's session."""
    if session.conversation is None or not session.running:
        return ""
    match session.turns.holder:
        case "agent":
            return "F8 takes it · F7 watch only"
        case "person":
            return "F8 hands it back"
        case "watch":
            return "F7 the agent · F8 you"


def holder_badge(session: "TerminalSession | None") -> tuple[str, str]:
    """Return text and style: who types into a session of the agent, and why the person should."""
    if session is None or session.conversation is None or not session.running:
        return "", ""
    match session.turns.holder:
        case "agent":
            return "agent", "$text-muted"
        case "watch":
            return "watch only", "$primary"
        case "person":
            words = f"you type: {session.turns.reason}" if session.turns.reason else "you type"
            return one_line(words, 60), "$warning"


def end_words(session: "TerminalSession") -> str:
    """Return how its program ended, in words."""
    return "ended: " + ("a signal" if session.exit_code is None else f"exit {session.exit_code}")
