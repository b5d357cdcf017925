"""The advert of a tool, which is made only when it is called: most turns call two of sixteen."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sam_tui.core.tooling.contract import Operation, Tool

if TYPE_CHECKING:
    from pydantic import BaseModel


Value = TypeVar("Value")

_NOISE = ("title", "default")


def tool_schema(tool: Tool) -> dict[str, Any]:
    """The tool as an OpenAI-style function: name, description, parameters, in a fixed order."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": _description(tool),
            "parameters": parameters_schema(tool),
        },
    }


def parameters_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema of the arguments. Operations of one tool share one flat set of parameters.

    Raises ``ValueError`` when two operations give one name two types.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    if tool.consolidated:
        names = [operation.name for operation in tool.operations]
        properties["operation"] = {"type": "string", "enum": names}
        required.append("operation")
    for operation in tool.operations:
        schema = arguments_schema(operation.arguments)
        for name, prop in schema["properties"].items():
            existing = properties.setdefault(name, prop)
            if _shape(existing) != _shape(prop):
                raise ValueError(f"{tool.name}: {name!r} has two types among its operations")
        if not tool.consolidated:
            required.extend(schema["required"])
    return {"type": "object", "properties": properties, "required": required}


@cache
def arguments_schema(model: "type[BaseModel]") -> dict[str, Any]:
    """One operation's arguments: ``properties`` in declared order and the ``required`` names."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    properties = {
        name: _tidy(prop, definitions) for name, prop in schema.get("properties", {}).items()
    }
    return {"properties": properties, "required": list(schema.get("required", []))}


def canonical(value: Any) -> str:
    """JSON text that is the same in every process: declared order, no spaces, plain Unicode."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def example_call(tool: Tool, operation: Operation[Any]) -> str:
    """A correct call of an operation, made from its schema: required arguments only."""
    schema = arguments_schema(operation.arguments)
    example: dict[str, Any] = {"operation": operation.name} if tool.consolidated else {}
    if operation.example is not None:
        return json.dumps(example | dict(operation.example), ensure_ascii=False)
    for name in schema["required"]:
        example[name] = _example(name, schema["properties"][name])
    return json.dumps(example, ensure_ascii=False)


def _description(tool: Tool) -> str:
    if not tool.consolidated:
        return tool.description
    lines = [tool.description]
    for operation in tool.operations:
        schema = arguments_schema(operation.arguments)
        names = [n if n in schema["required"] else f"{n}?" for n in schema["properties"]]
        lines.append(f"- {operation.name}({', '.join(names)}): {operation.about}")
    return "\n".join(lines)


def _tidy(prop: Any, definitions: Mapping[str, Any]) -> Any:
    """A property without titles, references and the null branch of optional arguments."""
    if isinstance(prop, list):
        return [_tidy(item, definitions) for item in cast("list[Any]", prop)]
    if not isinstance(prop, dict):
        return prop
    node = cast("dict[str, Any]", prop)
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _tidy({**target, **_without("$ref", node)}, definitions)
    branches = [b for b in node.get("anyOf", []) if b.get("type") != "null"]
    if len(branches) == 1:
        return _tidy({**branches[0], **_without("anyOf", node)}, definitions)
    if "properties" not in node:
        return {k: _tidy(v, definitions) for k, v in node.items() if k not in _NOISE}
    inner = {k: _tidy(v, definitions) for k, v in node["properties"].items()}
    required = {"required": list(node["required"])} if node.get("required") else {}
    return {"type": "object", "properties": inner, **required}


def _without(key: str, node: Mapping[str, Value]) -> dict[str, Value]:
    return {k: v for k, v in node.items() if k != key}


def _shape(prop: Mapping[str, Any]) -> str:
    """Return what must agree between a parameter's operations: all but the words and the limits."""
    words = ("description", "minimum", "maximum", "exclusiveMinimum", "minLength")
    return canonical({k: v for k, v in prop.items() if k not in words})


def _example(name: str, prop: Mapping[str, Any]) -> Any:
    if "enum" in prop:
        return prop["enum"][0]
    match prop.get("type"):
        case "integer":
            return 1
        case "number":
            return 0.5
        case "boolean":
            return True
        case "array":
            return [_example(name, prop.get("items", {}))]
        case "object":
            fields = prop.get("properties", {})
            return {n: _example(n, fields[n]) for n in prop.get("required", fields) if n in fields}
        case _:
            return f"<{name}>"


@dataclass(frozen=True, slots=True)
class Advert:
    """The description of a tool for the model. ``schema`` is canonical JSON, an OpenAI-style function.

    ``operations`` are their names in order, one alone where the tool is not consolidated. A tool that
    is not ``listed`` is for steps of plans, which call it by name.
    """

    name: str
    operations: tuple[str, ...]
    schema: str
    consolidated: bool = True
    listed: bool = True


def advert_of(tool: Tool) -> Advert:
    """The advert of an existing tool, made from the models that parse its calls."""
    names = tuple(operation.name for operation in tool.operations)
    return Advert(tool.name, names, canonical(tool_schema(tool)), tool.consolidated, tool.listed)


def read_adverts(text: str) -> dict[str, Advert]:
    """The adverts of a catalogue in JSON, by the tools' names."""
    rows: list[dict[str, Any]] = json.loads(text)
    return {
        row["name"]: Advert(
            row["name"],
            tuple(row["operations"]),
            canonical(row["schema"]),
            row["consolidated"],
            row.get("listed", True),
        )
        for row in rows
    }


class Offer:
    """An advert and how to make the tool that it promises. It is made once."""

    def __init__(self, advert: Advert, make: Callable[[], Tool]) -> None:
        self.advert = advert
        self._make = make
        self._tool: Tool | None = None

    @classmethod
    def of(cls, tool: Tool) -> "Offer":
        """The offer of a tool that exists already."""
        return cls(advert_of(tool), lambda: tool)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.advert.name

    def tool(self) -> Tool:
        """The tool itself."""
        if self._tool is None:
            self._tool = self._make()
        return self._tool
