"""Servers' tools as our tools: checks arguments by their schema; the executor runs the calls."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Protocol, cast

from pydantic import ValidationInfo, model_serializer, model_validator

from sam_tui.adapters.mcp_client.tool_descriptions import PROMPT, FittedTool, plain
from sam_tui.core.accesses import Access, Location
from sam_tui.core.display import Diff
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single
from sam_tui.core.tooling.offer import Advert, Offer
from sam_tui.core.workflow.definitions.schema import value_faults

_MOST_FAULTS = 5
_DEEPEST = 12
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


class ServerArguments(Arguments):
    """The arguments of a call of a server's tool."""

    values: dict[str, Any]

    checked: ClassVar[Mapping[str, Any]] = {}
    """The part of the tool's JSON schema that this program validates; the server validates the rest."""

    @model_validator(mode="before")
    @classmethod
    def _accept_spellings(cls, data: Any, info: ValidationInfo) -> Any:
        """Accept arguments that fit the schema, and lists or objects given as JSON text."""
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
            raise ValueError("a text contains half a character, which cannot be sent") from None
        return {"values": values}

    @model_serializer
    def _as_given(self) -> dict[str, Any]:
        """The arguments as the model wrote them, for hooks."""
        return self.values

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """The schema from which an example of a call is made."""
        fields = cast("dict[str, Any]", cls.checked.get("properties", {}))
        return {
            "properties": {name: _sketch(field) for name, field in fields.items()},
            "required": list(cls.checked.get("required", ())),
        }


def arguments_for(schema: Mapping[str, Any]) -> type[ServerArguments]:
    """The arguments class of one tool."""

    class FittedArguments(ServerArguments):
        checked: ClassVar[Mapping[str, Any]] = checkable(schema)

    return FittedArguments


def checkable(schema: Any, depth: int = 0) -> dict[str, Any]:
    """The well-formed keywords that ``value_faults`` checks; the server checks the rest."""
    if not isinstance(schema, dict) or depth > _DEEPEST or "$ref" in schema:
        return {}
    node = cast("dict[str, Any]", schema)
    checked = _scalar_keywords(node)
    if isinstance(node.get("properties"), dict):
        properties = cast("dict[str, Any]", node["properties"])
        checked["properties"] = {n: checkable(p, depth + 1) for n, p in properties.items()}
    if required := _strings(node.get("required")):
        checked["required"] = required
    if isinstance(node.get("items"), dict):
        checked["items"] = checkable(node["items"], depth + 1)
    if node.get("additionalProperties") is False and "patternProperties" not in node:
        checked["additionalProperties"] = False
    return checked


def _scalar_keywords(node: dict[str, Any]) -> dict[str, Any]:
    """Type, choices and bounds, if well formed."""
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
    return checked


def _strings(value: Any) -> list[str]:
    return [text for text in _listed(value) if isinstance(text, str)]


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _sketch(field: Mapping[str, Any]) -> dict[str, Any]:
    """A simplified schema of one argument, enough to write an example."""
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


_SUMMARY = 160
_PREVIEW_LINES = 400


class OfferHost(Protocol):
    """The connection that runs a tool's calls."""

    @property
    def name(self) -> str:
        """The server's name."""
        ...

    @property
    def tool_names(self) -> frozenset[str]:
        """The server's tools by the server's own names; empty before it listed them."""
        ...

    def accesses(self, *tools: str) -> Sequence[Access]:
        """Return the accesses of calls of these tools."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolResult:
        """Call a tool by the server's own name for it. Raises ``ToolError``."""
        ...


def offer_of(host: OfferHost, fitted: FittedTool) -> Offer:
    """A server's tool as an offer."""
    listed = fitted.raw != PROMPT  # a person asks for it by name
    advert = Advert(fitted.name, (fitted.name,), fitted.text, consolidated=False, listed=listed)
    return Offer(advert, lambda: _made(host, fitted))


def _made(host: OfferHost, fitted: FittedTool) -> Tool:
    from sam_tui.adapters.mcp_client.server_tools import arguments_for

    def accesses(_: "ServerArguments") -> Sequence[Access]:
        return host.accesses(fitted.raw)

    async def run(arguments: "ServerArguments", context: ToolContext) -> ToolResult:
        return await host.call(fitted.raw, arguments.values, context)

    def summary(arguments: "ServerArguments") -> str:
        text = json.dumps(arguments.values, ensure_ascii=False) if arguments.values else ""
        short = text if len(text) <= _SUMMARY else f"{text[: _SUMMARY - 1]}…"
        return f"{host.name}: {plain(fitted.raw, 64)} {short}".rstrip()

    def preview(arguments: "ServerArguments", _: Mapping[str, Location]) -> Sequence[Diff]:
        return (_sent(host.name, arguments.values),) if arguments.values else ()

    operation = Operation(
        name=fitted.name,
        about=fitted.about,
        arguments=arguments_for(fitted.schema),
        run=run,
        summary=summary,
        accesses=accesses,
        preview=preview,
    )
    return single(operation, fitted.about)


def _sent(server: str, arguments: Mapping[str, Any]) -> Diff:
    """The request to the server as an approval shows it, at most ``_PREVIEW_LINES`` lines."""
    lines = json.dumps(arguments, ensure_ascii=False, indent=2).splitlines()
    visible = lines[:_PREVIEW_LINES]
    body = [f"@@ -0,0 +1,{len(visible)} @@", *(f"+{line}" for line in visible)]
    if len(lines) > len(visible):
        body.append(f" ({len(lines) - len(visible)} more lines)")
    return Diff(f"the request to {server}", "\n".join(body) + "\n", len(lines), 0)
