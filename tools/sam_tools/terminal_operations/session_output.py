"""A session's output as the model reads it: lines, or the screen of a full-screen program."""

import re
from typing import Any, cast

from sam_tools.terminal_operations.answers import json_result
from sam_tui.core.display import Display
from sam_tui.core.ports.processes.terminals import TerminalSession
from sam_tui.core.text.plain import escaped, plain
from sam_tui.core.tooling.contract import ToolResult

_SWITCH = re.compile(r"\x1b\[\?(?:1049|1047|47)([hl])")
_PLACED = re.compile(r"\x1b\[\d+;\d+[Hf]")
_MOST_PLACED = 2
"""How often ordinary output may move the cursor to a cell, as ``clear`` does."""
_OWN = frozenset(("session_id", "terminalId", "tty_name"))
FULL_SCREEN = "[a full-screen program]\n"
"""Replaces output on the alternate screen."""


def session_result(
    session: TerminalSession, data: dict[str, object], *display: Display, ok: bool = True
) -> ToolResult:
    """Data about a session as JSON, without anything that the person typed while holding it."""
    clean = {
        name: value if name in _OWN else _without(session, value) for name, value in data.items()
    }
    return json_result(clean, *display, ok=ok)


def lines(session: TerminalSession, printed: str) -> str:
    """Return printed text without control sequences, and without drawings on the alternate screen."""
    return session.turns.redacted(plain("".join(_ordinary(session, printed))))


def view_of(session: TerminalSession, printed: str) -> dict[str, Any]:
    """The output after keys: printed lines, or the screen of a full-screen program."""
    seen = session.turns.agent_screen
    ordinary = "".join(_ordinary(session, printed))
    if not seen.alternate and len(_PLACED.findall(ordinary)) <= _MOST_PLACED:
        return {"output": session.turns.redacted(plain(ordinary))}
    before = printed[: switch.start()] if (switch := _SWITCH.search(printed)) else ""
    return {
        "output": session.turns.redacted(plain(before)) if seen.alternate else "",
        "screen": screen_data(session),
    }


def screen_data(session: TerminalSession) -> dict[str, Any]:
    """The screen of a session: program, title, size, cursor and text."""
    seen = session.turns.agent_screen
    return {
        "program": escaped(session.activity.program),
        "title": seen.title,
        "columns": seen.columns,
        "rows": seen.rows,
        "cursor": seen.cursor,
        "text": escaped(seen.text).rstrip("\n"),
    }


def _ordinary(session: TerminalSession, printed: str) -> list[str]:
    """The pieces of output that were not drawn on the alternate screen."""
    switches = list(_SWITCH.finditer(printed))
    away = switches[0][1] == "l" if switches else session.turns.agent_screen.alternate
    pieces = [FULL_SCREEN] if away else []
    at = 0
    for switch in switches:
        if not away:
            pieces.append(printed[at : switch.start()])
        if switch[1] == "h" and not away:
            pieces.append(FULL_SCREEN)
        away, at = switch[1] == "h", switch.end()
    return pieces if away else [*pieces, printed[at:]]


def _without(session: TerminalSession, value: object) -> object:
    if isinstance(value, str):
        return session.turns.redacted(value)
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {name: _without(session, item) for name, item in named.items()}
    if isinstance(value, list):
        return [_without(session, item) for item in cast("list[Any]", value)]
    return value
