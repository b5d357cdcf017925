"""The shapes of what terminal operations answer with."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sam_tui.core.display import Display
from sam_tui.core.plain import escaped
from sam_tui.core.ports.sandbox import OutsideAccess
from sam_tui.core.ports.terminals import TerminalSession
from sam_tui.core.tooling.contract import ToolContext, ToolResult

_MOST_REFUSALS = 10


def json_result(data: dict[str, Any], *display: Display, ok: bool = True) -> ToolResult:
    """Data as the model reads it: JSON."""
    text = json.dumps(data, ensure_ascii=False)
    return ToolResult(text, ok, display=display, data=data, mime_type="application/json")


def status(session: TerminalSession) -> str:
    """Whether its shell runs, in a word or two."""
    return "running" if session.running else f"exited({session.exit_code})"


def holder_data(session: TerminalSession) -> dict[str, Any]:
    """Who types into it, where that is not the agent."""
    return {} if session.holder == "agent" else {"holder": session.holder}


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


def refused_notes(refused: Sequence[OutsideAccess]) -> list[str]:
    """What the sandbox refused and to which process, a line each."""
    lines = [f"[refused by the sandbox: {escaped(access.words)}]" for access in refused]
    if len(lines) > _MOST_REFUSALS:
        rest = len(lines) - _MOST_REFUSALS
        lines = [*lines[:_MOST_REFUSALS], f"[refused by the sandbox: {rest} more]"]
    return lines


def refused_data(refused: Sequence[OutsideAccess]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [asdict(access) for access in refused]


def working_directory(given: str | None, context: ToolContext) -> str:
    """The real path of the folder that was named, else of the workspace."""
    return context.workspace if given is None else context.location("working_directory").real


def short(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, nothing in it hidden."""
    line = escaped(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
