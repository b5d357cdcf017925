"""Arguments of a server's tool: held against its schema here, as far as that is plain, and passed on."""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar, cast

from pydantic import ValidationInfo, model_serializer, model_validator

from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.workflow.definitions.schema import value_faults

_MOST_FAULTS = 5
_DEEPEST = 12
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


class ServerArguments(Arguments):
    """What a call of a server's tool was given."""

    values: dict[str, Any]

    checked: ClassVar[Mapping[str, Any]] = {}
    """The part of the schema that is looked at here."""

    @model_validator(mode="before")
    @classmethod
    def _accept_spellings(cls, data: Any, info: ValidationInfo) -> Any:
        """Whatever fits the schema. A list or object given as JSON text is taken for what it says."""
        if not isinstance(data, dict):
            return data
        fields = cls.checked.get("properties", {})
        values = {
            name: _unpacked(value, fields.get(name, {}))
            for name, value in cast("dict[str, Any]", data).items()
        }
        faults = list(islice(value_faults(values, cls.checked, "arguments"), _MOST_FAULTS))
        if faults:
            raise ValueError("; ".join(faults))
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half a character, which cannot be sent") from None
        return {"values": values}

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        """What hooks are told: the arguments themselves."""
        return self.values

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """What an example of a call is made from."""
        fields = cast("dict[str, Any]", cls.checked.get("properties", {}))
        return {
            "properties": {name: _sketch(field) for name, field in fields.items()},
            "required": list(cls.checked.get("required", ())),
        }


def arguments_for(schema: Mapping[str, Any]) -> type[ServerArguments]:
    """The arguments of one tool."""

    class FittedArguments(ServerArguments):
        checked: ClassVar[Mapping[str, Any]] = checkable(schema)

    return FittedArguments


def checkable(schema: Any, depth: int = 0) -> dict[str, Any]:
    """The keywords that ``value_faults`` knows, where they are well formed; the server judges the rest."""
    if not isinstance(schema, dict) or depth > _DEEPEST or "$ref" in schema:
        return {}
    node = cast("dict[str, Any]", schema)
    checked: dict[str, Any] = {}
    if kinds := [kind for kind in _listed(node.get("type")) if kind in _TYPES]:
        checked["type"] = kinds
    if isinstance(node.get("enum"), list):
        checked["enum"] = node["enum"]
    if "const" in node:
        checked["const"] = node["const"]
    for key in _NUMBERS:
        if isinstance(node.get(key), int | float) and not isinstance(node[key], bool):
            checked[key] = node[key]
    if isinstance(node.get("properties"), dict):
        properties = cast("dict[str, Any]", node["properties"])
        checked["properties"] = {n: checkable(p, depth + 1) for n, p in properties.items()}
    if required := [name for name in _listed(node.get("required")) if isinstance(name, str)]:
        checked["required"] = required
    if isinstance(node.get("items"), dict):
        checked["items"] = checkable(node["items"], depth + 1)
    if node.get("additionalProperties") is False and "patternProperties" not in node:
        checked["additionalProperties"] = False
    return checked


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _sketch(field: Mapping[str, Any]) -> dict[str, Any]:
    """One argument, plainly enough to write an example of it."""
    kinds = [kind for kind in field.get("type", ()) if kind != "null"]
    shape: dict[str, Any] = {"type": kinds[0]} if kinds else {}
    return shape | ({"enum": field["enum"]} if field.get("enum") else {})


def _unpacked(value: Any, field: Mapping[str, Any]) -> Any:
    kinds = field.get("type", ())
    parses = ("object" in kinds or "array" in kinds) and "string" not in kinds
    if not parses or not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
