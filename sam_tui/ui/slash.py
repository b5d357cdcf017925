"""Slash commands: parsing and completion."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sam_tui.ui.actions import ACTIONS, BY_SLASH, WorkbenchAction

_SHELL = re.compile(r"!(.*\S)?\s*")
_RUN_IN_SHELL = next(action for action in ACTIONS if action.name == "shell_command")
_COMMAND = re.compile(r"/([a-zA-Z-]+)(?:[ \t]+(\S.*?))?[ \t]*")
_ARGUMENT = re.compile(r"/([\w:./-]+)[ \t]+([^\n]*)")
_BEGUN = re.compile(r"/[\w-]*(?::[\w./-]*)?")
"""The beginning of a typed command; after a colon comes the name of a server's prompt."""

_MEMORY = re.compile(r"#[ \t]*([^\W\d][^\n]*)")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A line that asks for an action. ``action`` is None for a name that does not exist."""

    name: str
    argument: str
    action: WorkbenchAction | None


def parse(text: str) -> SlashCommand | None:
    """The command a prompt asks for, or None when it is a prompt.

    Only one line that begins with ``/word`` counts; ``/etc/hosts`` is a path and thus a prompt.
    One line that begins with ``!`` is for the shell.
    """
    if escape := _SHELL.fullmatch(text):
        return SlashCommand("!", (escape[1] or "").strip(), _RUN_IN_SHELL)
    match = _COMMAND.fullmatch(text)
    if match is None:
        return None
    name = match[1].lower()
    return SlashCommand(name, match[2] or "", BY_SLASH.get(name))


def memory(text: str) -> str:
    """The text to remember from a line behind a ``#``; empty for a prompt, such as ``#12 fails``."""
    match = _MEMORY.fullmatch(text.strip())
    return match[1] if match is not None else ""


def matching(text: str, more: Sequence[WorkbenchAction] = ()) -> list[WorkbenchAction]:
    """The actions whose command begins with the typed text; empty for any other text.

    An action whose command is complete comes first. ``more`` are further commands, such as skills; a
    built-in one of the same name replaces them.
    """
    if not _BEGUN.fullmatch(text):
        return []
    typed = text[1:].lower()
    offered = BY_SLASH | {action.slash: action for action in more if action.slash not in BY_SLASH}
    fitting = [action for name, action in offered.items() if name.lower().startswith(typed)]
    return sorted(fitting, key=lambda action: action.slash != typed)


def argument(text: str, more: Sequence[WorkbenchAction] = ()) -> tuple[WorkbenchAction, str] | None:
    """The command whose argument is being typed, and the argument so far; None for other text.

    ``more`` are further commands, such as skills.
    """
    typed = _ARGUMENT.fullmatch(text)
    if typed is None:
        return None
    named = (action for action in more if action.slash == typed[1])
    action = BY_SLASH.get(typed[1].lower()) or next(named, None)
    return (action, typed[2]) if action is not None and action.argument else None


def literal_values(action: WorkbenchAction) -> list[str]:
    """The fixed values of a command's argument, from the table: ``auto|show|hide|…``."""
    heads = [part.split()[0] for part in action.argument.split("|") if part]
    return [head for head in heads if head.islower()]


def nearest(name: str) -> list[str]:
    """Return the commands that a mistyped one may mean: the two nearest, or one that is less near."""
    from difflib import get_close_matches

    return get_close_matches(name, BY_SLASH, 2, 0.75) or get_close_matches(name, BY_SLASH, 1, 0.6)


def completed(text: str, more: Sequence[WorkbenchAction] = ()) -> str:
    """Return the text with its command completed as far as it is certain."""
    fitting = matching(text, more)
    names = [action.slash for action in fitting]
    if not names:
        return text
    if len(names) == 1:
        return f"/{names[0]} " if fitting[0].argument else f"/{names[0]}"
    first, last = min(names), max(names)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return f"/{first[:same]}"
