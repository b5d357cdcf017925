"""What a tool is: named operations, each with its arguments, its accesses and its hand."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import UnionType
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

from sam_tui.core.accesses import Access, Location
from sam_tui.core.display import Diff, Display
from sam_tui.core.ids import CallId, ConversationId

INLINE_LIMIT = 8192
"""Characters of a result the model gets at once; the rest is stored (seed 004, read_tool_result)."""


class Schedule(StrEnum):
    """What may run beside a call of the same message."""

    PARALLEL = "parallel"
    """Anything but a blocking call."""
    SERIAL = "serial"
    """As parallel, but never two calls of the same tool."""
    BLOCKING = "blocking"
    """Nothing: it starts after all calls before it, and those after it wait."""


class Arguments(BaseModel):
    """Base of every operation's arguments.

    Field names are the seed's and become the JSON schema. Unknown arguments are ignored, numbers are
    taken for strings and numeric strings for numbers, because models write both.
    """

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _accept_spellings(cls, data: Any) -> Any:
        """Take ``file_path`` for ``filePath`` and the reverse; a list or object given as JSON text."""
        if not isinstance(data, dict):
            return data
        given: dict[str, Any] = cast("dict[str, Any]", data)
        names = {_plain(name): name for name in cls.model_fields}
        fitted: dict[str, Any] = {}
        for key, value in given.items():
            name = key if key in cls.model_fields else names.get(_plain(key), key)
            if name in cls.model_fields and name not in fitted:
                fitted[name] = _unpacked(value, cls.model_fields[name].annotation)
        return fitted


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _unpacked(value: Any, annotation: Any) -> Any:
    """A list or object that the model sent as JSON text, where the argument is not text."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    takes_text = annotation is str or str in members
    if takes_text or not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


class NoArguments(Arguments):
    """For operations that take none."""


@dataclass(frozen=True, slots=True)
class Permit:
    """What the guard allowed: the only locations a tool may use, by the parameter that named them."""

    locations: Mapping[str, Location]
    confined: bool = True
    """Whether a command must run inside the kernel sandbox."""
    writable: tuple[str, ...] = ()
    """Real folders that a confined command may write to."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call is given. Cancellation is the task's own."""

    conversation: ConversationId
    call: CallId
    workspace: str
    """The real path of the workspace folder."""
    permit: Permit
    emit: Callable[[str], None]
    """Live progress: text for people, as it comes."""

    def location(self, parameter: str) -> Location:
        """Where the path given as ``parameter`` lies; KeyError for one that was not declared."""
        return self.permit.locations[parameter]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to: ``text`` for the model, ``display`` for people, ``data`` for programs."""

    text: str
    ok: bool = True
    display: tuple[Display, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mime_type: str = "text/plain"


A = TypeVar("A", bound=Arguments)


def _nothing(_: Any) -> Sequence[Access]:
    return ()


@dataclass(frozen=True, slots=True)
class Operation(Generic[A]):
    """One thing a tool can do.

    ``run`` raises ``errors.ToolError`` for what the model should read as a failure. ``summary`` is
    the line on the card, such as ``Reading: a.py``. ``preview`` shows the change that an approval
    is asked for; it may read what the permit would allow.
    """

    name: str
    about: str
    arguments: type[A]
    run: Callable[[A, ToolContext], Awaitable[ToolResult]]
    summary: Callable[[A], str]
    accesses: Callable[[A], Sequence[Access]] = _nothing
    schedule: Schedule = Schedule.PARALLEL
    inline_limit: int = INLINE_LIMIT
    preview: Callable[[A, Mapping[str, Location]], Sequence[Diff]] | None = None
    example: Mapping[str, Any] | None = None
    """The arguments of a correct call, where one made of the required ones alone would not be."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as registered. A consolidated one chooses by its ``operation`` argument (seed 004)."""

    name: str
    description: str
    operations: tuple[Operation[Any], ...]
    consolidated: bool = True
