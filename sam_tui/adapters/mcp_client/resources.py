"""Resources of a server as two tools of it: a list of what there is, and reading one by its URI."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from sam_tui.adapters.mcp_client.tool_descriptions import RawTool

LIST, READ = "resources/list", "resources/read"
"""Names of the protocol, which no tool of a server has."""
MOST_LISTED, MOST_PAGES = 1_000, 50


async def tools_for(session: ClientSession, server: str) -> list[RawTool]:
    """The two tools; none for a server without resources."""
    capabilities = session.server_capabilities
    if capabilities is None or capabilities.resources is None:
        return []
    offered = False
    with suppress(MCPError, ValidationError):  # without them it is as good a server
        offered = bool(await _resources(session, pages=1) or await _templates(session))
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


async def answer(
    session: ClientSession, tool: str, arguments: Mapping[str, Any]
) -> types.CallToolResult:
    """What a call of one of the two comes to. Raises what the session raises."""
    if tool == READ:
        return await _read(session, str(arguments["uri"]))
    resources = await _resources(session, pages=MOST_PAGES)
    lines = [_line(r.uri, r.name, r.mime_type, r.description) for r in resources]
    templates = await _templates(session)
    lines += [_line(t.uri_template, t.name, t.mime_type, t.description) for t in templates]
    text = "\n".join(lines) or "There are no resources."
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def _read(session: ClientSession, uri: str) -> types.CallToolResult:
    request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri))
    result = await session.send_request(request, types.ReadResourceResult)
    blocks: list[types.ContentBlock] = [
        types.TextContent(type="text", text=part.text)
        if isinstance(part, types.TextResourceContents)
        else types.EmbeddedResource(type="resource", resource=part)
        for part in result.contents
    ]
    return types.CallToolResult(content=blocks)


async def _resources(session: ClientSession, *, pages: int) -> list[types.Resource]:
    resources: list[types.Resource] = []
    cursor: str | None = None
    for _ in range(pages):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        request = types.ListResourcesRequest(params=params)
        page = await session.send_request(request, types.ListResourcesResult)
        resources += page.resources
        cursor = page.next_cursor
        if not cursor or len(resources) >= MOST_LISTED:
            break
    return resources[:MOST_LISTED]


async def _templates(session: ClientSession) -> list[types.ResourceTemplate]:
    """The first page; many servers know of none."""
    with suppress(MCPError):
        request = types.ListResourceTemplatesRequest()
        page = await session.send_request(request, types.ListResourceTemplatesResult)
        return page.resource_templates[:MOST_LISTED]
    return []


def _line(uri: str, name: str, mime_type: str | None, about: str | None) -> str:
    more = ", ".join(word for word in (name, mime_type, about) if word)
    return f"{uri}  {more}"
