"""What policy says about how much a command may use up: the table ``[commands]``."""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from sam_tui.core.ports.processes.sandbox import CommandLimits

KEY = "commands"
"""Of a policy file."""
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)")
_LEAST = {
    "memory": 64 * 1024**2,
    "processes": 16,
    "file_size": 1024**2,
    "open_files": 64,
    "total_memory": 128 * 1024**2,
}
"""Less starts no program any more."""
_SIZES = frozenset({"memory", "file_size", "total_memory"})

Fault = Callable[[str, tuple[str | int, ...], str], Exception]


def read_limits(table: Mapping[str, Any], fault: Fault) -> Mapping[str, int]:
    """The limits in a file by name. Raises what ``fault`` makes for one that cannot stand there."""
    settings = table.get(KEY, {})
    if not isinstance(settings, dict):
        raise fault("commands is a table", (KEY,), f"Write [{KEY}], then {', '.join(_LEAST)}.")
    limits: dict[str, int] = {}
    for name, value in cast("dict[str, Any]", settings).items():
        if name not in _LEAST:
            raise fault(f"{name!r} is no limit", (KEY, name), f"Known: {', '.join(_LEAST)}.")
        number = _number(name, value)
        if number is None or number < _LEAST[name]:
            form = 'a size such as "8G"' if name in _SIZES else "a whole number"
            hint = f"Write {form}, at least {_LEAST[name]}."
            raise fault(f"{name} cannot be {value!r}", (KEY, name), hint)
        limits[name] = number
    return limits


def _number(name: str, value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    size = _SIZE.fullmatch(value) if isinstance(value, str) and name in _SIZES else None
    return int(size[1]) * _UNITS[size[2]] if size else None


def tightened(user: Mapping[str, int], project: Mapping[str, int]) -> CommandLimits:
    """The person's limits, or the usual ones; those of a project count where they are lower."""
    limits = CommandLimits(**user)
    lower = {name: value for name, value in project.items() if value < getattr(limits, name)}
    return CommandLimits(**{**user, **lower})
