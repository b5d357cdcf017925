"""The HTTP transport of before 2025: messages are posted, and their answers come in one stream of events.

The SDK only logs that a server refuses a posted message, so the request would wait for its own time
limit. Here it is answered at once, as over streamable HTTP.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.auth import OAuthFlowError
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

Clients = Callable[..., httpx2.AsyncClient]
"""Makes the HTTP client of a session; the argument ``kind`` is its class."""
_ACCEPTED, _REDIRECTS, _REFUSED, _NOT_FOUND = 202, 300, 400, 404
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)


class _Messages:
    """The incoming messages of a session: the server's, and an error for each request that it refuses."""

    def __init__(self) -> None:
        self.writer: MemoryObjectSendStream[SessionMessage | Exception]
        self.reader: MemoryObjectReceiveStream[SessionMessage | Exception]
        self.writer, self.reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.group = anyio.create_task_group()

    async def pass_on(self, arriving: Any) -> None:
        """Pass on the server's messages, until its stream ends."""
        with suppress(*_CLOSED):
            async with self.writer:
                async for item in arriving:
                    await self.writer.send(item)

    async def refuse(self, request: httpx2.Request, response: httpx2.Response) -> None:
        """Answer a request that the server refused; other messages get no answer."""
        message = cast("dict[str, Any]", json.loads(request.content))
        if "method" not in message or "id" not in message:
            return
        error = await _error_of(response)
        if error is None and response.status_code == _NOT_FOUND:
            error = types.ErrorData(code=types.INVALID_REQUEST, message="Session terminated")
        if error is None:
            words = "Server returned an error response"
            error = types.ErrorData(code=types.INTERNAL_ERROR, message=words)
        answer = types.JSONRPCError(jsonrpc="2.0", id=message["id"], error=error)
        with suppress(*_CLOSED):
            await self.writer.send(SessionMessage(answer))


class _Client(httpx2.AsyncClient):
    """Reports each posted message that cannot be sent or is refused to ``messages``."""

    def __init__(self, *, messages: _Messages, **options: Any) -> None:
        super().__init__(**options)
        self._messages = messages

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request. Raises ``MCPError`` if the stream itself requires a login."""
        if request.method != "POST":
            response = await super().send(request, **options)
            if response.status_code >= _REFUSED and (error := await _error_of(response)):
                raise MCPError.from_error_data(error)
            return response
        try:
            response = await super().send(request, **options)
        except (httpx2.HTTPError, OAuthFlowError) as error:
            self._messages.group.start_soon(_fail, error)
            raise
        if response.status_code < _REDIRECTS or _is_followed(response):
            return response
        try:
            await self._messages.refuse(request, response)
        finally:
            await response.aclose()
        return httpx2.Response(_ACCEPTED, request=request)


async def _fail(error: Exception) -> None:
    """End a session whose server cannot be reached."""
    raise error


def _is_followed(response: httpx2.Response) -> bool:
    """Whether the SDK repeats a message at the address to which the response redirects."""
    before, after = response.request, response.next_request
    if after is None or after.method != before.method:
        return False
    same = (after.url.host, after.url.port) == (before.url.host, before.url.port)
    return same and after.url.scheme in ("https", before.url.scheme)


async def _error_of(response: httpx2.Response) -> types.ErrorData | None:
    """The error of the protocol in a refusal; None if it holds none."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(await response.aread(), by_name=False)
    except (httpx2.HTTPError, httpx2.StreamError, ValidationError):
        return None
    return message.error if isinstance(message, types.JSONRPCError) else None


@asynccontextmanager
async def sse_streams(
    url: str, client: Clients, auth: httpx2.Auth | None
) -> AsyncGenerator[tuple[object, object]]:
    """The two streams of a session with the server at ``url``."""
    messages = _Messages()
    clients = partial(client, kind=partial(_Client, messages=messages))
    async with (
        messages.reader,
        messages.writer,
        sse_client(url, httpx_client_factory=clients, auth=auth) as (arriving, leaving),
        messages.group as group,
    ):
        group.start_soon(messages.pass_on, arriving)
        yield messages.reader, leaving
        group.cancel_scope.cancel()
