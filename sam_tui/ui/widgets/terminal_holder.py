"""Who types into a session, as its border says it."""

from typing import TYPE_CHECKING

from sam_tui.ui.plain import one_line

if TYPE_CHECKING:
    from sam_tui.core.ports.terminals import TerminalSession


def held(session: "TerminalSession | None") -> bool:
    """Whether the person types in a session of the agent now."""
    return session is not None and session.conversation is not None and session.holder == "person"


def holder_badge(session: "TerminalSession | None") -> tuple[str, str]:
    """Text and style: who types into a session of the agent, and why the person should."""
    if session is None or session.conversation is None or not session.running:
        return "", ""
    match session.holder:
        case "agent":
            return "agent", "$text-muted"
        case "watch":
            return "watch only", "$text-muted"
        case "person":
            words = f"you type: {session.reason}" if session.reason else "you type"
            return one_line(words, 60), "$warning"
