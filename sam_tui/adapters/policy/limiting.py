"""What policy files say about the limits of a turn: the table ``[limits]``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS

KEY = "limits"
"""Of a policy file."""
_MOST = 100_000
_LEAST: Mapping[str, int] = {"max_turns": 1, "raise_to": 0}
"""The settings, each with its least value."""

Fault = Callable[[str, tuple[str | int, ...], str], Exception]


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Model calls of one message, and up to how many the agent may raise the default by itself.

    None where nothing is said.
    """

    max_turns: int | None = None
    raise_to: int | None = None


NO_LIMITS = TurnLimits()


def read_limits(table: Mapping[str, Any], fault: Fault) -> TurnLimits:
    """What a file says. Raises what ``fault`` makes of a setting that cannot be used."""
    given = table.get(KEY, {})
    if not isinstance(given, dict):
        raise fault("limits are a table", (KEY,), "Write [limits] above them.")
    settings = cast("dict[str, Any]", given)
    for name, value in settings.items():
        if name not in _LEAST:
            known = f"Known: {', '.join(_LEAST)}."
            raise fault(f"unknown key “{name}” in [limits]", (KEY, name), known)
        if type(value) is not int or not _LEAST[name] <= value <= _MOST:
            wrong = f"“{name}” must be a whole number from {_LEAST[name]} to {_MOST}"
            raise fault(wrong, (KEY, name), "")
    return TurnLimits(**settings)


def tightened(user: TurnLimits, project: TurnLimits) -> TurnLimits:
    """What holds of both files: a project can only lower the limits."""
    turns, raised = user.max_turns, user.raise_to
    if project.max_turns is not None:
        turns = min(turns or DEFAULT_STEPS, project.max_turns)
    if project.raise_to is not None:
        raised = min(MOST_STEPS if raised is None else raised, project.raise_to)
    return TurnLimits(turns, raised)
