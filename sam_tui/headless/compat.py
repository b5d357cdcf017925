"""The contract as ``claude -p`` has it: its field names, its subtypes and its exit codes."""

import uuid
from typing import Any

from sam_tui.headless.outcome import Subtype
from sam_tui.headless.output import HeadlessOutput

_MODES = {
    "ask": "default",
    "accept-edits": "acceptEdits",
    "auto": "dontAsk",
    "bypass": "bypassPermissions",
}
_SUBTYPES: dict[Subtype, str] = {
    "success": "success",
    "error_blocked": "success",
    "error_max_turns": "error_max_turns",
    "error_max_cost": "error_max_budget_usd",
    "error_max_structured_output_retries": "error_max_structured_output_retries",
}
_CODES: dict[Subtype, int] = {
    "success": 0,
    "error_blocked": 0,
    "cancelled": 130,
    "terminated": 143,
}


def claude_code(subtype: Subtype) -> int:
    """The exit code: a run that was refused something and answered ends with 0, a failed one with 1."""
    return _CODES.get(subtype, 1)


def claude_line(line: dict[str, Any]) -> dict[str, Any]:
    """A line with the other names beside ours; what its readers judge by has their values."""
    named = {**line, "uuid": str(uuid.uuid4())}
    match line["type"]:
        case "assistant":
            identity = {"id": f"msg_{uuid.uuid4().hex}", "type": "message"}
            named["message"] = {**identity, **line["message"]}
        case "system" if line["subtype"] == "init":
            mode = line["permission_mode"]
            named["permissionMode"] = _MODES.get(mode, mode)
        case "result":
            code = claude_code(line["subtype"])
            subtype = _SUBTYPES.get(line["subtype"], "error_during_execution")
            named |= {"subtype": subtype, "is_error": code != 0, "exit_code": code}
        case _:
            pass
    return named


class ClaudeOutput(HeadlessOutput):
    """Standard output, each line so."""

    def line(self, value: dict[str, Any]) -> None:
        """Write one object."""
        super().line(claude_line(value))
