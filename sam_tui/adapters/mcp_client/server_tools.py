"""Tools of servers as tools of ours: arguments checked against their schema, run like every other."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Protocol, cast

from pydantic import ValidationInfo, model_serializer, model_validator

from sam_tui.adapters.mcp_client.tool_descriptions import PROMPT, FittedTool, plain
from sam_tui.core.accesses import Access, Fetch, Location, Use
from sam_tui.core.display import Diff
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.offer import Advert, Offer
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
    """Type, choices and bounds, where they are well formed."""
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


_SUMMARY = 160
_PREVIEW_LINES = 400


class OfferHost(Protocol):
    """The connection that a tool's calls go to."""

    @property
    def name(self) -> str:
        """The server's name."""
        ...

    @property
    def url(self) -> str:
        """Where it is, over HTTP; else empty."""
        ...

    @property
    def tool_names(self) -> frozenset[str]:
        """Its tools by the server's own names; none before they are known."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolResult:
        """Call a tool by the server's own name for it. Raises ``ToolError``."""
        ...


def offer_of(host: OfferHost, fitted: FittedTool) -> Offer:
    """The tool as it stands among ours."""
    listed = fitted.raw != PROMPT  # a person asks for it by name
    advert = Advert(fitted.name, (fitted.name,), fitted.text, consolidated=False, listed=listed)
    return Offer(advert, lambda: _made(host, fitted))


def _made(host: OfferHost, fitted: FittedTool) -> Tool:
    from sam_tui.adapters.mcp_client.server_tools import arguments_for

    def accesses(_: "ServerArguments") -> Sequence[Access]:
        used = Use(host.name, fitted.raw)
        return (used, Fetch(host.url, "server", configured=True)) if host.url else (used,)

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
    return Tool(fitted.name, fitted.about, (operation,), consolidated=False)


def _sent(server: str, arguments: Mapping[str, Any]) -> Diff:
    """All that the server will be told, for whoever is asked."""
    lines = json.dumps(arguments, ensure_ascii=False, indent=2).splitlines()
    visible = lines[:_PREVIEW_LINES]
    body = [f"@@ -0,0 +1,{len(visible)} @@", *(f"+{line}" for line in visible)]
    if len(lines) > len(visible):
        body.append(f" ({len(lines) - len(visible)} more lines)")
    return Diff(f"what {server} is sent", "\n".join(body) + "\n", len(lines), 0)
