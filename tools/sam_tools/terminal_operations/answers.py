"""The shapes of what terminal operations answer with."""

import json
from typing import Any

from sam_tools.terminal_operations.plain import escaped
from sam_tui.core.display import Display
from sam_tui.core.ports.terminals import TerminalSession
from sam_tui.core.tooling.contract import ToolContext, ToolResult


def json_result(data: dict[str, Any], *display: Display, ok: bool = True) -> ToolResult:
    """Data as the model reads it: JSON."""
    text = json.dumps(data, ensure_ascii=False)
    return ToolResult(text, ok, display=display, data=data, mime_type="application/json")


def status(session: TerminalSession) -> str:
    """Whether its shell runs, in a word or two."""
    return "running" if session.running else f"exited({session.exit_code})"


def state_words(session: TerminalSession) -> str:
    """What it is doing, in words."""
    if not session.running:
        return f"exited({session.exit_code})"
    state = session.state
    match state.name:
        case "finished":
            return "finished: at the prompt"
        case "waiting":
            return "waiting for hidden input" if state.secret else "waiting for input"
        case "quiet":
            return f"running, quiet for {state.seconds:.0f} s"
        case "running":
            return "running"


def working_directory(given: str | None, context: ToolContext) -> str:
    """The real path of the folder that was named, else of the workspace."""
    return context.workspace if given is None else context.location("working_directory").real


def short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, nothing in it hidden."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
