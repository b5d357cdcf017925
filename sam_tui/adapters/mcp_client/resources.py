"""Two tools for the resources of a server: one lists them, one reads a resource by its URI.

A third one, which no model is told of, hands out the prompt that a message names.
"""

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from itertools import filterfalse
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from sam_tui.adapters.mcp_client.tool_descriptions import PROMPT as PROMPT
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool
from sam_tui.core.ports.servers import ServerNames, ServerPrompt, TypedValue

LIST, READ = "resources/list", "resources/read"
"""Names of the protocol, which no tool of a server has."""
MOST_LISTED, MOST_PAGES = 1_000, 50
MOST_VALUES, LONGEST = 100, 300
"""Values that a server may propose at once, and characters of one, or of a name."""
_URI, _NAME = re.compile(r"[^\s\"`)\]]+"), re.compile(r"[\w./-]+")
"""What ``@server:`` and ``/server:`` take."""


async def tools_for(client: Client, server: str) -> list[RawTool]:
    """The tools that fit the server: none for resources or prompts that it does not have."""
    return [*await _resource_tools(client, server), *await _prompt_tools(client, server)]


async def _prompt_tools(client: Client, server: str) -> list[RawTool]:
    prompts: list[types.Prompt] = []
    if client.server_capabilities.prompts is not None:
        with suppress(MCPError, ValidationError):
            prompts = (await client.list_prompts()).prompts
    if not prompts:
        return []
    names = ", ".join(prompt.name for prompt in prompts)
    text = {"type": "string"}
    schema = {"properties": {"name": text, "words": text}, "required": ["name"]}
    return [RawTool(PROMPT, f"Hand out a prompt of the MCP server {server}: {names}.", schema)]


async def _resource_tools(client: Client, server: str) -> list[RawTool]:
    if client.server_capabilities.resources is None:
        return []
    offered = False
    with suppress(MCPError, ValidationError):  # without them it is as good a server
        offered = bool(await _resources(client, pages=1) or await _templates(client))
    if not offered:
        return []
    uri = {"type": "string", "description": "The resource's URI, or one made from a template."}
    return [
        RawTool(LIST, f"List the resources of the MCP server {server}, with their URIs.", {}),
        RawTool(
            READ,
            f"Read a resource of the MCP server {server}.",
            {"properties": {"uri": uri}, "required": ["uri"]},
        ),
    ]


async def answer(client: Client, tool: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Run one of these tools. Raises the errors of the SDK's session."""
    if tool == PROMPT:
        return await _prompt(client, str(arguments["name"]), str(arguments.get("words", "")))
    if tool == READ:
        return await _read(client, str(arguments["uri"]))
    resources = await _resources(client, pages=MOST_PAGES)
    lines = [_line(r.uri, r.name, r.mime_type, r.description) for r in resources]
    templates = await _templates(client)
    lines += [_line(t.uri_template, t.name, t.mime_type, t.description) for t in templates]
    text = "\n".join(lines) or "There are no resources."
    return types.CallToolResult(content=[_text_block(text)])


async def _prompt(client: Client, name: str, words: str) -> types.CallToolResult:
    """A prompt with the words of a message as its arguments, in order or as ``name=value``."""
    prompts = (await client.list_prompts()).prompts
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
    listed: list[types.Resource] = []
    prompts: list[types.Prompt] = []
    templates: list[types.ResourceTemplate] = []
    if capabilities.resources is not None:
        with suppress(MCPError, ValidationError):
            listed = await _resources(client, pages=MOST_PAGES)
            templates = await _templates(client)
    if capabilities.prompts is not None:
        with suppress(MCPError, ValidationError):
            prompts = (await client.list_prompts()).prompts[:MOST_LISTED]
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


async def _resources(client: Client, *, pages: int) -> list[types.Resource]:
    resources: list[types.Resource] = []
    cursor: str | None = None
    for _ in range(pages):
        page = await client.list_resources(cursor=cursor)
        resources += page.resources
        cursor = page.next_cursor
        if not cursor or len(resources) >= MOST_LISTED:
            break
    return resources[:MOST_LISTED]


async def _templates(client: Client) -> list[types.ResourceTemplate]:
    """The resource templates of the first page; empty if the server has none."""
    with suppress(MCPError):
        page = await client.list_resource_templates()
        return page.resource_templates[:MOST_LISTED]
    return []


def _line(uri: str, name: str, mime_type: str | None, about: str | None) -> str:
    more = ", ".join(word for word in (name, mime_type, about) if word)
    return f"{uri}  {more}"
