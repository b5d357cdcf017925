"""The status a model gives of itself in workflow mode; read from its own answer, never from results."""

import json
import re
from typing import Literal

Status = Literal["continue", "complete", "stop"]

_LINE = re.compile(r'^\s*(?:```\w*\s*)?(\{\s*"status"\s*:\s*"[a-z]+"\s*\})\s*(?:```)?\s*$', re.M)
_KNOWN: tuple[Status, ...] = ("continue", "complete", "stop")


def status_of(text: str) -> Status | None:
    """The last ``{"status": …}`` line of an answer, or None; other words mean nothing."""
    lines = _LINE.findall(text)
    if not lines:
        return None
    last = json.loads(lines[-1])["status"]
    return next((status for status in _KNOWN if status == last), None)
