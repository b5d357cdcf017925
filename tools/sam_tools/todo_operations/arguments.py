"""The model's arguments: one model per kind of item gives both the schema and the parser.

Items are parsed one by one, so that one bad item is told by its place and does not hide the others.
"""

import json
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from sam_tui.core.text.field_faults import fault_words
from sam_tui.core.todos.item import (
    TODO_PRIORITIES,
    TODO_STATUSES,
    TodoPriority,
    TodoStatus,
    one_line,
    visible_text,
)
from sam_tui.core.todos.rules import MAX_TITLE
from sam_tui.core.tooling.arguments import Arguments

_OWN = "todo"
"""The type of errors whose messages are our own and follow the name of the field."""
_LISTED: Mapping[str, tuple[str, ...]] = {"status": TODO_STATUSES, "priority": TODO_PRIORITIES}


@dataclass(frozen=True, slots=True)
class Rejected:
    """An invalid item: its id, if readable, and all its faults."""

    id: int | None
    problems: tuple[str, ...]


def _word(value: object) -> object:
    """Forgive the form of a status or priority: case, and underscore or space for the hyphen."""
    return re.sub(r"[\s_]+", "-", value.strip().lower()) if isinstance(value, str) else value


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError(_OWN, "must be a number")
    return value


def _share(value: object) -> object:
    """A progress may come as 0.6, "0.6" or "60%"."""
    if not isinstance(value, str) or not value.strip().endswith("%"):
        return _no_boolean(value)
    try:
        return float(value.strip()[:-1]) / 100
    except ValueError:
        return value


def _title(text: str) -> str:
    line = one_line(text)
    if not line:
        raise PydanticCustomError(_OWN, "is empty")
    if len(line) > MAX_TITLE:
        raise PydanticCustomError(
            _OWN,
            "has {length} characters, at most {limit}: put the rest into the description",
            {"length": len(line), "limit": MAX_TITLE},
        )
    return line


def _decoded(value: object) -> object:
    """The value of a JSON text; any other value, and invalid JSON, unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _unique(ids: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(ids))


def _lines(value: object) -> object:
    """A list of texts, its JSON text, or one text alone."""
    decoded = _decoded(value)
    return (
        (value,)
        if isinstance(value, str) and not isinstance(decoded, list)
        else cast("Any", decoded)
    )


def _distinct(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry for entry in entries if entry))


Id = Annotated[int, BeforeValidator(_no_boolean)]
Title = Annotated[str, AfterValidator(_title)]
Prose = Annotated[str, AfterValidator(visible_text)]
Line = Annotated[str, AfterValidator(one_line)]
Status = Annotated[TodoStatus, BeforeValidator(_word)]
Priority = Annotated[TodoPriority, BeforeValidator(_word)]
Ids = Annotated[tuple[Id, ...], BeforeValidator(_decoded), AfterValidator(_unique)]
Progress = Annotated[float, BeforeValidator(_share)]
Minutes = Annotated[float, BeforeValidator(_no_boolean)]
Lines = Annotated[tuple[Line, ...], BeforeValidator(_lines), AfterValidator(_distinct)]


class Numbered(Arguments):
    """The id comes first in the model's input and output."""

    id: Id


class Part(Arguments):
    """A subtask. Without an id it is a new one; a field that was not given stays or has its default."""

    id: Id = 0
    title: Title = ""
    status: Annotated[Status, WithJsonSchema({"type": "string"})] = "not-started"
    """The schema does not list its values, because those of an item do."""


def _part(raw: object) -> object:
    """The fields of a subtask from an object, its JSON text, or a bare title."""
    raw = _decoded(raw)
    if not isinstance(raw, Mapping):
        return {"title": raw} if isinstance(raw, str) else raw
    fields = {str(n): v for n, v in cast("Mapping[Any, Any]", raw).items() if v is not None}
    if fields.get("subtasks"):
        raise PydanticCustomError(_OWN, "has subtasks of its own: they go one level deep")
    return fields


Parts = Annotated[tuple[Annotated[Part, BeforeValidator(_part)], ...], BeforeValidator(_decoded)]


class Item(Arguments):
    """The fields of an item. A null counts as not given."""

    title: Title = ""
    description: Prose = ""
    status: Status = "not-started"
    priority: Priority = "medium"
    dependencies: Ids = ()
    canRunParallel: bool = False
    parallelGroup: Line = ""
    progress: Progress = 0.0
    blockedReason: Line = ""
    subtasks: Parts = ()
    estimateMinutes: Minutes = 0.0
    evidence: Lines = ()

    def gives(self, field: str) -> bool:
        """Whether the model wrote this field."""
        return field in self.model_fields_set


class TodoDraft(Item, Numbered):
    """A whole item, as ``write`` takes it. Its fields are described here, for all three models."""

    title: Title = Field(description="3 to 7 words")
    status: Status = Field()
    dependencies: Ids = Field(default=(), description="ids to be completed before")
    progress: Progress = Field(default=0.0, description="0 to 1")
    blockedReason: Line = Field(default="", description="required when blocked")
    evidence: Lines = Field(default=(), description="what proves it: call ids, files, commands")


class TodoUpdate(Item, Numbered):
    """The changes of one item; fields that are not passed are unchanged."""


class NewTodo(Item):
    """An item to append; its id comes from the list."""

    title: Title = Field()


ItemT = TypeVar("ItemT", bound=Item)


def read_item(model: type[ItemT], raw: object, context: object = None) -> ItemT | Rejected:
    """One item from the model's input (an object, or JSON text), or why it is invalid.

    ``context`` is that of the call's own parser.
    """
    raw = _decoded(raw)
    if not isinstance(raw, Mapping):
        return Rejected(None, ("is not an object",))
    fields = {
        _camel(str(name)): value
        for name, value in cast("Mapping[Any, Any]", raw).items()
        if value is not None
    }
    try:
        return model.model_validate(fields, context=context)
    except ValidationError as error:
        return Rejected(_id_of(fields), tuple(_problem(e) for e in error.errors()))


def _camel(name: str) -> str:
    """``blocked_reason`` is understood as ``blockedReason``."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def _id_of(fields: Mapping[str, object]) -> int | None:
    try:
        return Numbered.model_validate({"id": fields.get("id")}).id
    except ValidationError:
        return None


def _problem(error: ErrorDetails) -> str:
    """One finding of the parser as the model reads it."""
    field, last = _place(error["loc"]), str(error["loc"][-1])
    if error["type"] == "missing":
        return f"{field} is missing"
    if error["type"] == _OWN:
        return f"{field} {error['msg']}"
    if last in _LISTED:
        return f'{field} "{_short(error["input"])}" is none of {", ".join(_LISTED[last])}'
    return f'{field} "{_short(error["input"])}" {fault_words(error)}'


def _place(loc: tuple[int | str, ...]) -> str:
    """``subtasks[0].title``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc]
    return "".join(parts).removeprefix(".")


def _short(value: object) -> str:
    # reprlib goes only a few levels deep: a value may be nested deeper than repr can follow.
    text = one_line(value if isinstance(value, str) else reprlib.repr(value))
    return text if len(text) <= 60 else text[:59] + "…"


def _array(value: object) -> object:
    """Return an array, given as itself or as JSON text; the executor adds a correct call to the error."""
    decoded = _decoded(value)
    if isinstance(decoded, (list, tuple)):
        return cast("Any", decoded)
    raise PydanticCustomError(_OWN, "must be an array of objects")


def _draft(raw: object, info: ValidationInfo) -> object:
    return read_item(TodoDraft, raw, info.context)


def _update(raw: object, info: ValidationInfo) -> object:
    return read_item(TodoUpdate, raw, info.context)


def _new(raw: object, info: ValidationInfo) -> object:
    return read_item(NewTodo, raw, info.context)


Draft = Annotated[TodoDraft | Rejected, BeforeValidator(_draft, json_schema_input_type=TodoDraft)]
Update = Annotated[
    TodoUpdate | Rejected, BeforeValidator(_update, json_schema_input_type=TodoUpdate)
]
New = Annotated[NewTodo | Rejected, BeforeValidator(_new, json_schema_input_type=NewTodo)]


class WriteTodos(Arguments):
    """The arguments of ``write``."""

    todoList: Annotated[tuple[Draft, ...], BeforeValidator(_array)]


class UpdateTodos(Arguments):
    """The arguments of ``update``."""

    todoUpdates: Annotated[tuple[Update, ...], BeforeValidator(_array)]


class AddTodos(Arguments):
    """The arguments of ``add``."""

    newTodos: Annotated[tuple[New, ...], BeforeValidator(_array)]
