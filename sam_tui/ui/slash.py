"""Slash commands: telling them from prompts, and completing them."""

import re
from dataclasses import dataclass

from sam_tui.ui.actions import BY_SLASH, Action

_COMMAND = re.compile(r"/([a-zA-Z-]+)(?:[ \t]+(\S.*?))?[ \t]*")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A line that asks for an action. ``action`` is None for a name that does not exist."""

    name: str
    argument: str
    action: Action | None


def parse(text: str) -> SlashCommand | None:
    """The command a prompt asks for, or None when it is a prompt.

    Only one line that begins with ``/word`` counts; ``/etc/hosts`` is a path and thus a prompt.
    """
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    name = match[1].lower()
    return SlashCommand(name, match[2] or "", BY_SLASH.get(name))


def matching(text: str) -> list[Action]:
    """The actions whose command begins with what was typed so far; empty for anything else."""
    if not re.fullmatch(r"/[a-zA-Z-]*", text):
        return []
    typed = text[1:].lower()
    return [action for name, action in BY_SLASH.items() if name.startswith(typed)]


def completed(text: str) -> str:
    """The text with its command completed as far as it is certain."""
    names = [action.slash for action in matching(text)]
    if not names:
        return text
    if len(names) == 1:
        return f"/{names[0]} " if BY_SLASH[names[0]].argument else f"/{names[0]}"
    first, last = min(names), max(names)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return f"/{first[:same]}"
