"""The part of JSON Schema that step outputs are described with: checked, never guessed.

Keywords: ``type``, ``properties``, ``required``, ``additionalProperties`` (true or false), ``items``,
``enum``, ``const``, ``minimum``, ``maximum``, ``minLength``, ``maxLength``, ``minItems``,
``maxItems``, ``description``. Any other one is refused when the definition is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KEYWORDS = frozenset({
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum",
    "maximum", "minLength", "maxLength", "minItems", "maxItems", "description",
})  # fmt: skip
_NUMBERS = {
    **dict.fromkeys(("minimum", "maximum"), ("number", "a number")),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems"), ("integer", "a whole number")
    ),
}
"""The keywords that compare, each with the type of its value, also in words."""
_DEEPEST = 12


def schema_faults(schema: object, path: str = "output", depth: int = 0) -> Iterator[str]:
    """Yield the faults of a schema itself, one sentence each."""
    if not isinstance(schema, Mapping):
        yield f"{path}: a schema is an object"
        return
    if depth > _DEEPEST:
        yield f"{path}: nested too deep"
        return
    node = cast("Mapping[str, object]", schema)
    for word in sorted(set(node) - _KEYWORDS):
        yield f"{path}: the keyword {word!r} is not known"
    yield from _keyword_faults(node, path)
    properties = node.get("properties", {})
    if not isinstance(properties, Mapping):
        yield f"{path}: properties is an object"
        return
    fields = cast("Mapping[str, object]", properties)
    for name, inner in fields.items():
        yield from schema_faults(inner, f"{path}.{name}", depth + 1)
    for name in _names(node.get("required", [])):
        if fields and name not in fields:
            yield f"{path}: required {name!r} is not a property"
    if "items" in node:
        yield from schema_faults(node["items"], f"{path}[]", depth + 1)


def _keyword_faults(node: Mapping[str, object], path: str) -> Iterator[str]:
    """Keywords whose own values could not be compared with anything."""
    for word in ("type", "required"):
        names = node.get(word, [])
        many = cast("list[object]", names) if isinstance(names, list) else [names]
        if not all(isinstance(name, str) for name in many):
            yield f"{path}: {word} is a name or a list of names"
    for kind in _names(node.get("type", [])):
        if kind not in _KINDS:
            yield f"{path}: there is no type {kind!r}"
    if not isinstance(node.get("enum", []), list):
        yield f"{path}: enum is a list"
    for word, (kind, what) in _NUMBERS.items():
        if not _is(node.get(word, 0), kind):
            yield f"{path}: {word} is {what}"


def value_faults(value: object, schema: Mapping[str, Any], path: str = "output") -> Iterator[str]:
    """One sentence for each part of a value that does not fit its schema."""
    kinds = _names(schema.get("type", []))
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{path} must be {' or '.join(kinds)}, not {kind_of(value)}"
        return
    yield from _choice_faults(value, schema, path)
    match value:
        case Mapping():
            yield from _object_faults(cast("Mapping[str, object]", value), schema, path)
        case str():
            yield from _bound_faults(
                len(value), schema, path, ("minLength", "maxLength"), "characters"
            )
        case Sequence():
            yield from _list_faults(cast("Sequence[object]", value), schema, path)
        case int() | float() if not isinstance(value, bool):
            yield from _bound_faults(value, schema, path, ("minimum", "maximum"))
        case _:
            return


def _choice_faults(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} must be one of {', '.join(map(str, schema['enum']))}"
    if "const" in schema and value != schema["const"]:
        yield f"{path} must be {schema['const']!r}"


def _list_faults(items: Sequence[object], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _bound_faults(len(items), schema, path, ("minItems", "maxItems"), "items")
    for index, item in enumerate(items if "items" in schema else ()):
        yield from value_faults(item, schema["items"], f"{path}[{index}]")


def kind_of(value: object) -> str:
    """The JSON type of a value."""
    return next((name for name in _KINDS if _is(value, name)), type(value).__name__)


def _object_faults(
    value: Mapping[str, object], schema: Mapping[str, Any], path: str
) -> Iterator[str]:
    fields = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
    for name in _names(schema.get("required", [])):
        if name not in value:
            yield f"{path}.{name} is missing"
    for name, inner in value.items():
        if name in fields:
            yield from value_faults(inner, fields[name], f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{path}.{name} is not known"


def _bound_faults(
    number: float, schema: Mapping[str, Any], path: str, bounds: tuple[str, str], unit: str = ""
) -> Iterator[str]:
    """A number, or a count of ``unit``, beyond the least or the most that two keywords allow."""
    must, size = ("must have", f" {unit}, has {number}") if unit else ("must be", "")
    least, most = map(schema.get, bounds)
    if least is not None and number < least:
        yield f"{path} {must} at least {least}{size}"
    if most is not None and number > most:
        yield f"{path} {must} at most {most}{size}"


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _KINDS.get(kind, ()))


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(v) for v in cast("Sequence[object]", value)] if isinstance(value, Sequence) else []
