"""The base of every operation's argument model."""

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from types import UnionType
from typing import Any, ClassVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from sam_tui.core.todos.item import one_line

_MOST = 8
"""The most names that are listed."""
_LONGEST = 60
"""The most characters of a name."""


class UnknownArguments:
    """Collects the names while the arguments of one call are read, those of nested objects included.

    ``routing`` are names that are used to choose the operation.
    """

    def __init__(self, routing: Collection[str] = ()) -> None:
        self._routing = routing
        self._names: dict[str, str] = {}

    def add(self, name: object, names: Collection[str]) -> None:
        """Note an argument whose name is not among ``names``."""
        if name in self._routing:
            return
        written = one_line(str(name))
        shortened = written if len(written) <= _LONGEST else written[: _LONGEST - 1] + "…"
        if shortened not in self._names:
            close = get_close_matches(shortened, names, n=1) if len(self._names) < _MOST else []
            self._names[shortened] = close[0] if close else ""

    @property
    def words(self) -> tuple[str, ...]:
        """Return each name as it is shown, with the argument that may have been meant."""
        listed = [
            f"`{name}` (did you mean `{close}`?)" if close else f"`{name}`"
            for name, close in self._names.items()
        ]
        more = len(listed) - _MOST
        return (*listed[:_MOST], *((f"{more} more",) if more > 0 else ()))


class Arguments(BaseModel):
    """Base of every operation's arguments.

    Field names are the seed's and become the JSON schema. Unknown arguments have no effect; parsing
    with an ``UnknownArguments`` as context collects their names. Numbers are taken for strings and
    numeric strings for numbers, because models write both.
    """

    model_config = ConfigDict(
        extra="ignore", coerce_numbers_to_str=True, frozen=True, defer_build=True
    )
    also: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Other names under which models pass an argument, in lower case without underscores, each with the
    arguments that it may stand for. The first of them that exists is used, unless it was passed under
    its own name."""

    @classmethod
    def _names_by_spelling(cls, fields: Collection[str]) -> dict[str, str]:
        """The declared name for each spelling, and for names of ``also`` unless it is passed itself."""
        declared = {_plain(name): name for name in cls.model_fields}
        used = {declared.get(_plain(key)) for key in fields}
        further = {
            other: next((name for name in names if name in cls.model_fields), "")
            for other, names in cls.also.items()
        }
        return {other: name for other, name in further.items() if name not in used} | declared

    @model_validator(mode="before")
    @classmethod
    def _accept_spellings(cls, data: object, info: ValidationInfo) -> object:
        """Take ``file_path`` for ``filePath`` and the reverse; a list or object given as JSON text."""
        if not isinstance(data, dict):
            return data
        fields: dict[str, object] = cast("dict[str, Any]", data)
        names = cls._names_by_spelling(fields)
        fitted: dict[str, object] = {}
        for key, value in fields.items():
            name = key if key in cls.model_fields else names.get(_plain(key), key)
            if name in cls.model_fields and name not in fitted:
                fitted[name] = _unpacked(value, cls.model_fields[name].annotation)
            elif isinstance(info.context, UnknownArguments):
                info.context.add(key, cls.model_fields)
        return fitted


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _unpacked(value: object, annotation: object) -> object:
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
    """The arguments of operations that take none."""
