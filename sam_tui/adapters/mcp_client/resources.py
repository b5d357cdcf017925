"""The resources of a server as two tools: one lists them, one reads one.

A third tool, which the model does not see, returns the prompt that a message names.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import filterfalse
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from sam_tui.adapters.mcp_client.listings import Listing, listing
from sam_tui.adapters.mcp_client.tool_descriptions import PROMPT as PROMPT
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool
from sam_tui.core.ports.servers import ServerNames, ServerPrompt, TypedValue

LIST, READ = "resources/list", "resources/read"
"""The names of the tools for resources: methods of the protocol, no tool's names."""
MOST_VALUES, LONGEST = 100, 300
"""The most values that a server may propose at once, and the most characters of a value or a name."""
_URI, _NAME = re.compile(r"[^\s\"`)\]]+"), re.compile(r"[\w./-]+")
"""The forms of URIs and names that a person can type in a message: after ``@server:`` and ``/server:``."""


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
