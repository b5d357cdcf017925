"""The limits of a turn and of an answer in policy files: the table ``[limits]``."""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, cast

from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS
from sam_tui.core.ports.model import AnswerLimits
from sam_tui.core.text.nesting import DEEPEST

KEY = "limits"
"""The table of turn limits in a policy file."""
_RANGES: Mapping[str, tuple[int, int]] = {
    "max_turns": (1, 100_000),
    "raise_to": (0, 100_000),
    "answer_bytes": (64 * 1024, 1024**3),
    "answer_calls": (1, 10_000),
    "argument_bytes": (16 * 1024, 1024**3),
    "argument_depth": (8, DEEPEST),
    "checkpoint_days": (1, 3650),
    "checkpoint_megabytes": (10, 1_000_000),
    "checkpoint_file_megabytes": (1, 10_000),
}
"""The least and the greatest value of each setting."""

_ANSWERS = astuple(AnswerLimits())
_DEFAULTS: Mapping[str, int] = {name: most for name, (_, most) in _RANGES.items()} | dict(
    zip(_RANGES, (DEFAULT_STEPS, MOST_STEPS, *_ANSWERS), strict=False)
)
"""The values of settings that no policy file sets."""

Fault = Callable[[str, tuple[str | int, ...], str], Exception]


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Limits of policy files: model calls of one message, the number to which the agent may raise the
    default itself, the size of one answer, and the age and size of checkpoints.

    None where a file sets no limit.
    """

    max_turns: int | None = None
    raise_to: int | None = None
    answer_bytes: int | None = None
    answer_calls: int | None = None
    argument_bytes: int | None = None
    argument_depth: int | None = None
    checkpoint_days: int | None = None
    checkpoint_megabytes: int | None = None
    checkpoint_file_megabytes: int | None = None

    @property
    def answers(self) -> AnswerLimits:
        """The limits of one answer."""
        values = (self.answer_bytes, self.answer_calls, self.argument_bytes, self.argument_depth)
        return AnswerLimits(
            *(
                value if value is not None else default
                for value, default in zip(values, _ANSWERS, strict=True)
            )
        )


NO_LIMITS = TurnLimits()


def read_limits(table: Mapping[str, Any], fault: Fault) -> TurnLimits:
    """The limits of a file. Raises the error that ``fault`` makes for an unusable value."""
    settings_value = table.get(KEY, {})
    if not isinstance(settings_value, dict):
        raise fault("limits are a table", (KEY,), "Write [limits] above them.")
    settings = cast("dict[str, Any]", settings_value)
    for name, value in settings.items():
        if name not in _RANGES:
            names = f"Known: {', '.join(_RANGES)}."
            raise fault(f"unknown key “{name}” in [limits]", (KEY, name), names)
        least, most = _RANGES[name]
        if type(value) is not int or not least <= value <= most:
            wrong = f"“{name}” must be a whole number from {least} to {most}"
            raise fault(wrong, (KEY, name), "")
    return TurnLimits(**settings)


def tightened(base: TurnLimits, other: TurnLimits) -> TurnLimits:
    """The limits of both files: the second, a project's or the administrator's, can only lower them."""
    lowest: dict[str, int | None] = {}
    for name, default in _DEFAULTS.items():
        limit, its = getattr(base, name), getattr(other, name)
        lowest[name] = limit if its is None else min(default if limit is None else limit, its)
    return TurnLimits(**lowest)
