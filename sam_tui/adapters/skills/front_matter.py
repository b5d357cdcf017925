"""The top of a SKILL.md: its name and its description, whatever else stands there."""

import re

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
"""Characters: the Agent Skills specification."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_BLOCK = re.compile(r"[|>][+-]?[0-9]?[+-]?")


class UnusableSkill(Exception):
    """A file that is no skill; ``str`` is why."""


def read_skill(text: str) -> tuple[str, str, str]:
    """Name, description and body. Raises ``UnusableSkill``."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise UnusableSkill("does not begin with ---")
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise UnusableSkill("opens with --- and has no second ---")
    values = _values(lines[1:end])
    name, description = values.get("name", ""), values.get("description", "")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UnusableSkill("needs a name of small letters, digits and dashes")
    if not description or len(description) > LONGEST_DESCRIPTION:
        raise UnusableSkill(f"needs a description of at most {LONGEST_DESCRIPTION} characters")
    body = "\n".join(lines[end + 1 :]).replace("\0", "").strip()
    if not body:
        raise UnusableSkill("says nothing below its front matter")
    return name, description, body


def _values(lines: list[str]) -> dict[str, str]:
    """Texts by the keys that stand at the margin; what is indented belongs to the one above."""
    blocks: dict[str, list[str]] = {}
    last: list[str] = []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t-":
            last.append(line.strip())
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise UnusableSkill("has a line without a key at its top")
        first = (match[2] or "").strip()
        last = blocks[match[1].lower()] = [] if _BLOCK.fullmatch(first) else [first]
    return {key: _unquoted(" ".join(filter(None, parts))) for key, parts in blocks.items()}


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace('\\"', '"').replace("''", "'")
    return text
