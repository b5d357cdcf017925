"""A message that names a skill, put in words: ``/release 1.2`` asks for the skill ``release``."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sam_tui.core.ports.prompts import Skills

TOOL = "read_skill"
"""What hands out the text of a skill."""
OfferedSkills = Callable[[], "Skills | None"]
"""The skills; None where there were no folders for them at the start."""

_CALL = re.compile(r"/([a-z0-9][a-z0-9-]*)(?:\s+(.*))?", re.DOTALL)


def worded(text: str, offered: OfferedSkills) -> str:
    """The message as the model reads it; any other stays as it is."""
    match = _CALL.fullmatch(text.strip())
    skills = offered() if match is not None else None
    if match is None or skills is None:
        return text
    if all(skill.name != match[1] for skill in skills.listing().skills):
        return text
    words = f"\n\n{match[2].strip()}" if match[2] else ""
    return f"Use the skill “{match[1]}”: read it with {TOOL} first.{words}"
