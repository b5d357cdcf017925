"""The meta-prompt language of seed 000: ``(ROLE: x) (CONTEXT: y) (PROMPT: z) (OUTPUT: w)``.

A value runs to the parenthesis that closes it: parentheses within it are balanced, and ``\\(``,
``\\)`` and ``\\\\`` stand for the characters themselves. Keys are of any case and order; text around
them is allowed. Of a key that comes twice the first counts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sam_tools.iron_manus.phases.roles import no_role, role_named

OUTPUT = "comprehensive_deliverable"
"""The default of ``OUTPUT`` (seed 001)."""
KEYS = ("ROLE", "CONTEXT", "PROMPT", "OUTPUT")
_OPENING = re.compile(r"\(([A-Za-z_]{2,30}):")
_LONGEST = 40_000


class MetaPromptError(ValueError):
    """A text that is meant as a meta-prompt and is none. ``position`` counts code points from 0."""

    def __init__(self, code: str, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.position = position


@dataclass(frozen=True, slots=True)
class MetaPrompt:
    """A task for a separate agent. ``context`` may be empty; ``warnings`` name the parts left out."""

    role: str
    prompt: str
    context: str = ""
    output: str = OUTPUT
    extras: Mapping[str, str] = field(default_factory=dict[str, str])
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """The same meta-prompt in its language: reading it again gives the same fields."""
        parts = [("ROLE", self.role), ("CONTEXT", self.context), ("PROMPT", self.prompt)]
        parts += [("OUTPUT", self.output), *self.extras.items()]
        return " ".join(f"({key}: {_escaped(value)})" for key, value in parts if value)


def is_meta_prompt(text: str) -> bool:
    """Whether a text asks for delegation: it holds ``(ROLE:``."""
    return any(match[1].upper() == "ROLE" for match in _OPENING.finditer(text))


def read_meta_prompt(text: str) -> MetaPrompt | None:
    """The meta-prompt in a text; None where it has no role or no prompt.

    Raises ``MetaPromptError``: ``unbalanced``, ``role_unknown`` (with the nearest names),
    ``too_long``.
    """
    if len(text) > _LONGEST:
        raise MetaPromptError("too_long", f"a meta-prompt has at most {_LONGEST} characters")
    if not is_meta_prompt(text):
        return None
    values, extras, warnings = _read(text)
    if not values.get("ROLE") or not values.get("PROMPT"):
        return None
    role = role_named(values["ROLE"])
    if role is None:
        raise MetaPromptError("role_unknown", no_role(values["ROLE"]))
    return MetaPrompt(
        role.name,
        values["PROMPT"],
        values.get("CONTEXT", ""),
        values.get("OUTPUT") or OUTPUT,
        extras,
        tuple(warnings),
    )


def _read(text: str) -> tuple[dict[str, str], dict[str, str], list[str]]:
    values: dict[str, str] = {}
    extras: dict[str, str] = {}
    warnings: list[str] = []
    outside: list[str] = []
    position = 0
    while (match := _OPENING.search(text, position)) is not None:
        outside.append(text[position : match.start()])
        value, position = _value(text, match.end())
        key = match[1].upper()
        into = values if key in KEYS else extras
        if key in into:
            warnings.append(f"{key} is given twice; the first counts")
        else:
            into[key] = value
            if key not in KEYS:
                warnings.append(f"{key} is no key of a meta-prompt; it is kept as it is")
    outside.append(text[position:])
    _require_balance("".join(outside))
    return values, extras, warnings


def _value(text: str, start: int) -> tuple[str, int]:
    """The value that begins at ``start`` and the position behind the parenthesis that closes it."""
    depth, at, characters = 0, start, list[str]()
    while at < len(text):
        character = text[at]
        if character == "\\" and text[at + 1 : at + 2] in ("(", ")", "\\"):
            characters.append(text[at + 1])
            at += 2
            continue
        if character == "(":
            depth += 1
        elif character == ")":
            if depth == 0:
                return "".join(characters).strip(), at + 1
            depth -= 1
        characters.append(character)
        at += 1
    raise MetaPromptError(
        "unbalanced", f"the parenthesis opened before character {start} is never closed", start
    )


def _require_balance(outside: str) -> None:
    """A lone ``)`` outside of all values ended one of them too early."""
    depth = 0
    for match in re.finditer(r"\\.|[()]", outside, re.DOTALL):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth < 0:
            raise MetaPromptError(
                "unbalanced",
                "a parenthesis is closed that was not opened; write \\) for a lone one",
            )


def _escaped(value: str) -> str:
    """The value so that it is read back the same."""
    return re.sub(r"[\\()]", lambda m: f"\\{m[0]}", value)
