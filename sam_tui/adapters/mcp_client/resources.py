"""Lists of a server, an entry at a time, and its resources as two tools: what there is, and reading one.

A third tool, which no model is told of, hands out the prompt that a message names.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import filterfalse
from typing import Any, Generic, TypeVar, cast

import mcp_types as types
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from sam_tui.adapters.mcp_client.tool_descriptions import PROMPT as PROMPT
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool
from sam_tui.core.ports.servers import ServerNames, ServerPrompt, TypedValue

LIST, READ = "resources/list", "resources/read"
"""Names of the protocol, which no tool of a server has."""
MOST_LISTED, MOST_PAGES = 2_000, 50
MOST_VALUES, LONGEST = 100, 300
"""Values that a server may propose at once, and characters of one, or of a name."""
_URI, _NAME = re.compile(r"[^\s\"`)\]]+"), re.compile(r"[\w./-]+")
"""What ``@server:`` and ``/server:`` take."""
_REVISION = "2025-11-25"
"""Entries of lists are judged by its shapes, which the newer revision has as well."""
_LISTS = {
    "tools": ("tools/list", ("name", "title", "description", "inputSchema")),
    "resources": ("resources/list", ("uri", "name", "mimeType", "description")),
    "resourceTemplates": (
        "resources/templates/list",
        ("uriTemplate", "name", "mimeType", "description"),
    ),
    "prompts": ("prompts/list", ("name", "title", "description", "arguments")),
}
"""The request that is answered with a list, and what is read of its entries."""
_LEFT_OUT = "sam-tui/left-out"
"""Where a page says which of its entries are not in it, and why."""

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Entry]):
    """All pages of a list. ``faults`` are entries that are not in it, by name, each with why."""

    entries: Sequence[Entry] = ()
    faults: Sequence[tuple[str, str]] = ()

    def left_out(self, kind: str = "") -> list[RawTool]:
        """The faults as tools that are not offered, so that people are told."""
        return [RawTool(f"{kind} {name}".strip(), "", {}, why) for name, why in self.faults]


def fit_entries(message: object) -> None:
    """Leave out what does not fit the protocol of the lists in a server's answer; ``_meta`` then says what.

    Of the other entries only what is read stays: a hint that is none, or a promise about results whose
    pattern could take for ever, costs nobody a tool.
    """
    result: Any = getattr(message, "result", None)
    page = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    keys = [key for key in _LISTS if isinstance(page.get(key), list)]
    if not keys:
        return
    faults: list[tuple[str, str]] = []
    for key in keys:
        page[key] = list(_fitting(key, page[key], "ttlMs" in page, faults))
    if not isinstance(page.get("nextCursor"), str | None):
        del page["nextCursor"]
        faults.append(("nextCursor", "it is no text, so what follows is not read"))
    meta = page.get("_meta")
    page["_meta"] = (cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}) | {
        _LEFT_OUT: faults
    }


def _read_fields(fields: dict[str, Any], read: Sequence[str]) -> dict[str, Any]:
    """The fields that are read of an entry; the schema of a tool is always that of an object."""
    fitted = {name: fields[name] for name in read if name in fields}
    schema = fitted.get("inputSchema")
    if isinstance(schema, dict):
        fitted["inputSchema"] = {"type": "object", **cast("dict[str, Any]", schema)}
    return fitted


def _require_headers(schema: Any) -> None:
    """Raises ``ValueError`` if ``x-mcp-header`` of a schema names no header that can be sent."""
    if schema and (why := find_invalid_x_mcp_header(schema)):
        raise ValueError(f"x-mcp-header: {why}")


def _fitting(
    key: str, entries: list[Any], modern: bool, faults: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    method, read = _LISTS[key]
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            faults.append((f"(entry {number})", "it is no object"))
            continue
        fields = cast("dict[str, Any]", entry)
        fitted = _read_fields(fields, read)
        try:
            validate_server_result(method, _REVISION, {key: [fitted]})
            if modern:
                _require_headers(fitted.get("inputSchema"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"][2:])
            faults.append((_called(fields, read[0], number), f"{field}: {first['msg']}"))
        except ValueError as error:
            faults.append((_called(fields, read[0], number), str(error)))
        else:
            yield fitted


def _called(fields: Mapping[str, Any], key: str, number: int) -> str:
    name = fields.get(key)
    return name if isinstance(name, str) and name else f"(entry {number})"


async def listing(ask: Callable[..., Any], key: str) -> Listing[Any]:
    """Every page of a list of the client's. Raises what the session raises."""
    entries: list[Any] = []
    faults: list[tuple[str, str]] = []
    cursors: list[str | None] = [None]
    while len(entries) < MOST_LISTED:
        page = await ask(cursor=cursors[-1])
        entries += getattr(page, key)
        faults += cast("dict[str, Any]", page.meta)[_LEFT_OUT]
        if not page.next_cursor:
            break
        if page.next_cursor in cursors or len(cursors) == MOST_PAGES:
            faults.append(("nextCursor", f"the list does not end: read were {len(cursors)} pages"))
            break
        cursors.append(page.next_cursor)
    return Listing(entries[:MOST_LISTED], faults)


async def tools_for(client: Client, server: str) -> list[RawTool]:
    """The tools that fit the server: none for resources or prompts that it does not have."""
    return [*await _resource_tools(client, server), *await _prompt_tools(client, server)]


async def _prompt_tools(client: Client, server: str) -> list[RawTool]:
    prompts: Listing[types.Prompt] = Listing()
    if client.server_capabilities.prompts is not None:
        with suppress(MCPError, ValidationError):
            prompts = await _prompts(client)
    left_out = prompts.left_out("prompt")
    if not prompts.entries:
        return left_out
    names = ", ".join(prompt.name for prompt in prompts.entries)
    text = {"type": "string"}
    schema = {"properties": {"name": text, "words": text}, "required": ["name"]}
    about = f"Hand out a prompt of the MCP server {server}: {names}."
    return [RawTool(PROMPT, about, schema), *left_out]


async def _resource_tools(client: Client, server: str) -> list[RawTool]:
    if client.server_capabilities.resources is None:
        return []
    resources: Listing[types.Resource] = Listing()
    templates: Listing[types.ResourceTemplate] = Listing()
    with suppress(MCPError, ValidationError):  # without them it is as good a server
        resources = await _resources(client)
        templates = await _templates(client)
    left_out = [*resources.left_out("resource"), *templates.left_out("template")]
    if not (resources.entries or templates.entries):
        return left_out
    uri = {"type": "string", "description": "The resource's URI, or one made from a template."}
    return [
        RawTool(LIST, f"List the resources of the MCP server {server}, with their URIs.", {}),
        RawTool(
            READ,
            f"Read a resource of the MCP server {server}.",
            {"properties": {"uri": uri}, "required": ["uri"]},
        ),
        *left_out,
    ]


async def answer(client: Client, tool: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Run one of these tools. Raises the errors of the SDK's session."""
    if tool == PROMPT:
        return await _prompt(client, str(arguments["name"]), str(arguments.get("words", "")))
    if tool == READ:
        return await _read(client, str(arguments["uri"]))
    resources, templates = await _resources(client), await _templates(client)
    lines = [_line(r.uri, r.name, r.mime_type, r.description) for r in resources.entries]
    lines += [_line(t.uri_template, t.name, t.mime_type, t.description) for t in templates.entries]
    if faults := len(resources.faults) + len(templates.faults):
        lines.append(f"({faults} more do not fit the protocol.)")
    text = "\n".join(lines) or "There are no resources."
    return types.CallToolResult(content=[_text_block(text)])


async def _prompt(client: Client, name: str, words: str) -> types.CallToolResult:
    """A prompt with the words of a message as its arguments, in order or as ``name=value``."""
    prompts = (await _prompts(client)).entries
    prompt = next((entry for entry in prompts if entry.name == name), None)
    if prompt is None:
        names = ", ".join(prompt.name for prompt in prompts) or "none"
        text = f"There is no prompt {name}. There are: {names}."
        return types.CallToolResult(content=[_text_block(text)], is_error=True)
    result = await client.get_prompt(name, _filled(prompt, words))
    several = len(result.messages) > 1
    blocks: list[types.ContentBlock] = []
    for message in result.messages:
        if several:
            blocks.append(_text_block(f"{message.role}:"))
        blocks.append(message.content)
    return types.CallToolResult(content=blocks)


def _filled(prompt: types.Prompt, words: str) -> dict[str, str]:
    """The words as arguments of a prompt, by name or in order; the last argument takes the rest."""
    names = [argument.name for argument in prompt.arguments or ()]
    try:
        parts = shlex.split(words)
    except ValueError:
        parts = words.split()
    filled: dict[str, str] = {}
    last = ""
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and name in names:
            filled[name] = value
        elif following := next(filterfalse(filled.__contains__, names), ""):
            last = following
            filled[last] = part
        elif last:
            filled[last] += f" {part}"
    return filled


def _text_block(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


async def names(client: Client, server: str) -> ServerNames:
    """The resources and prompts of a server; names that a message cannot hold are left out."""
    capabilities = client.server_capabilities
    listed: Sequence[types.Resource] = ()
    prompts: Sequence[types.Prompt] = ()
    templates: Sequence[types.ResourceTemplate] = ()
    if capabilities.resources is not None:
        with suppress(MCPError, ValidationError):
            listed = (await _resources(client)).entries
            templates = (await _templates(client)).entries
    if capabilities.prompts is not None:
        with suppress(MCPError, ValidationError):
            prompts = (await _prompts(client)).entries
    return ServerNames(
        tuple(f"{server}:{resource.uri}" for resource in listed if _plain(_URI, resource.uri)),
        tuple(f"{server}:{t.uri_template}" for t in templates if _plain(_URI, t.uri_template)),
        tuple(
            ServerPrompt(
                server,
                prompt.name,
                prompt.description or prompt.title or "",
                tuple(a.name for a in prompt.arguments or () if _plain(_NAME, a.name)),
            )
            for prompt in prompts
            if _plain(_NAME, prompt.name)
        ),
    )


async def completed(client: Client, typed: TypedValue) -> list[str]:
    """The server's proposals for a half-typed value."""
    if client.server_capabilities.completions is None:
        return []
    reference = (
        types.PromptReference(name=typed.name)
        if typed.kind == "prompt"
        else types.ResourceTemplateReference(uri=typed.name)
    )
    argument = {"name": typed.argument, "value": typed.value}
    answer = await client.complete(reference, argument, dict(typed.others) or None)
    values = answer.completion.values[:MOST_VALUES]
    return [value for value in values if 0 < len(value) <= LONGEST and value.isprintable()]


def _plain(form: re.Pattern[str], name: str) -> bool:
    """Whether a message can hold the name: visible characters alone."""
    return len(name) <= LONGEST and name.isprintable() and form.fullmatch(name) is not None


async def _read(client: Client, uri: str) -> types.CallToolResult:
    result = await client.read_resource(uri)
    blocks: list[types.ContentBlock] = [
        types.TextContent(type="text", text=part.text)
        if isinstance(part, types.TextResourceContents)
        else types.EmbeddedResource(type="resource", resource=part)
        for part in result.contents
    ]
    return types.CallToolResult(content=blocks)


async def _prompts(client: Client) -> Listing[types.Prompt]:
    return await listing(client.list_prompts, "prompts")


async def _resources(client: Client) -> Listing[types.Resource]:
    return await listing(client.list_resources, "resources")


async def _templates(client: Client) -> Listing[types.ResourceTemplate]:
    """None of a server that does not know of them, as many do not."""
    with suppress(MCPError):
        return await listing(client.list_resource_templates, "resource_templates")
    return Listing()


def _line(uri: str, name: str, mime_type: str | None, about: str | None) -> str:
    more = ", ".join(word for word in (name, mime_type, about) if word)
    return f"{uri}  {more}"
