"""The file of a fleet's tasks, and the limits of the fleet."""

import codecs
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sam_tui.adapters.fleet.messages import MOST_PROMPT, Mode
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded
from sam_tui.core.text.json_files import plain_json

MOST_BYTES = 200_000_000
MOST_TASKS = 100_000
_SHOWN_FAULTS = 20
_MOST_FAULTS = 1000
"""With more faults than this, reading of the file stops."""
_LONGEST_LINE = 8 * MOST_PROMPT
"""The most bytes of a line: in JSON, escapes can make a prompt several times as long."""
_LONGEST_NAME = 60


class FleetTask(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] = ""
    prompt: Annotated[str, Field(min_length=1, max_length=MOST_PROMPT)]
    model: Annotated[str, Field(max_length=300, pattern=r"^[^\s-]\S*$|^$")] = ""
    mode: Mode = "ask"
    max_turns: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    retries: Annotated[int, Field(ge=0, le=20)] | None = None
    clone: Annotated[str, Field(max_length=1000)] = ""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$|^$")] = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """The most tasks at once and the most begun in a minute; 0 is without a limit."""

    at_once: int = 0
    per_minute: float = 0


class FleetLimits(BaseModel):
    """The limits of the whole fleet."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    at_once: Annotated[int, Field(ge=1)] = 4
    per_minute: Annotated[float, Field(ge=0)] = 0
    models: dict[str, Rate] = {}
    retries: Annotated[int, Field(ge=0)] = 1
    max_cost: float | None = None
    max_tokens: int | None = None
    seconds: float = 3600
    answer_seconds: float = 900
    apply: bool = True


_RATE = re.compile(r"(?P<model>\S+?)=(?P<at_once>\d+)?(?:/(?P<per_minute>\d+(?:\.\d+)?))?")


def rates_of(texts: Sequence[str]) -> Mapping[str, Rate]:
    """``MODEL=AT_ONCE``, ``MODEL=/PER_MINUTE`` or both. Raises ``ConfigurationError``."""
    rates: dict[str, Rate] = {}
    for text in texts:
        match = _RATE.fullmatch(text)
        if match is None or not (match["at_once"] or match["per_minute"]):
            raise ConfigurationError(
                f"{text!r} is not a limit.", hint="It is MODEL=AT_ONCE/PER_MINUTE."
            )
        rates[match["model"]] = Rate(int(match["at_once"] or 0), float(match["per_minute"] or 0))
    return rates


def read_tasks(path: str) -> list[FleetTask]:
    """The tasks of a file, one JSON object a line. Raises ``ConfigurationError`` with all faults."""
    try:
        data = read_bounded(path, most=MOST_BYTES)
    except UnusableFile as error:
        raise ConfigurationError(f"{path} {error}.") from error
    tasks: list[FleetTask] = []
    faults: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), 1):
        if len(faults) > _MOST_FAULTS or len(tasks) > MOST_TASKS:
            break
        if not line.strip():
            continue
        try:
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"it is longer than {_LONGEST_LINE} bytes")
            task = FleetTask.model_validate(plain_json(line.decode()), strict=True)
        except ValueError as error:
            faults.append(f"line {number}: {_words(error)}")
            continue
        name = task.id or f"task-{len(tasks) + 1}"
        if name in seen:
            faults.append(f"line {number}: the id {name} appears twice")
        seen.add(name)
        tasks.append(task.model_copy(update={"id": name}))
    if len(tasks) > MOST_TASKS:
        faults.append(f"a fleet has at most {MOST_TASKS} tasks")
    if faults or not tasks:
        more = f"\nand {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
        listed = "\n".join(faults[:_SHOWN_FAULTS]) or "It contains no task."
        raise ConfigurationError(
            f"{path} is not a list of tasks:\n{listed}{more}",
            hint='Each line is an object such as {"prompt": "…"}; docs/fleet.md lists the '
            "other keys.",
        )
    return tasks


def _words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        from sam_tui.core.text.field_faults import fault_words

        first = error.errors()[0]
        where = ".".join(str(part)[:_LONGEST_NAME] for part in first["loc"])
        return f"{where}: {fault_words(first)}" if where else fault_words(first)
    return str(error) or type(error).__name__
