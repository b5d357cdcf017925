"""A message that names a command or a skill, put in words: ``/release 1.2``."""

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sam_tui.core.ports.prompts import DefinitionListing, Skills

TOOL = "read_skill"
"""The tool that returns the text of a skill."""
OfferedSkills = Callable[[], "Skills | None"]
"""Returns the skills; None if there were no folders for them when the program started."""

_CALL = re.compile(r"/([A-Za-z0-9][\w:.-]*)(?:\s+(.*))?", re.DOTALL)
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS|([1-9]))")


def worded(
    text: str, offered: OfferedSkills, commands: "Callable[[], DefinitionListing] | None" = None
) -> str:
    """Return the message as the model reads it: with its command, else its skill, put in."""
    match = _CALL.fullmatch(text.strip())
    if match is None:
        return text
    name, arguments = match[1], (match[2] or "").strip()
    for command in commands().definitions if commands is not None else ():
        if command.name == name:
            return expanded(command.text, arguments)
    skills = offered()
    if skills is None or all(skill.name != name for skill in skills.listing().skills):
        return text
    words = f"\n\n{arguments}" if arguments else ""
    return f"Use the skill “{name}”: read it with {TOOL} first.{words}"


def expanded(template: str, arguments: str) -> str:
    """A command's text with ``$ARGUMENTS`` and ``$1`` to ``$9`` replaced, once and from left to right.

    Arguments that the text does not name stand below it.
    """
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    numbered = dict(enumerate(words, 1))

    def value(match: re.Match[str]) -> str:
        return numbered.get(int(match[1]), "") if match[1] else arguments

    text, count = _ARGUMENT.subn(value, template)
    return f"{text}\n\n{arguments}" if arguments and not count else text
