"""One session with a server: handshake, tools, calls, questions, and a limit on its messages."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.client import Client
from mcp.client.auth import OAuthFlowError
from mcp.client.client import ConnectMode
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest
from pydantic import ValidationError

from sam_tui import __version__
from sam_tui.adapters.mcp_client import listings, resources
from sam_tui.adapters.mcp_client.elicitation import (
    LONGEST_WORDS,
    Asks,
    Declined,
    Samples,
    fill,
    sampled,
    visit,
)
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool, hints_of, plain
from sam_tui.core.errors import ToolError
from sam_tui.core.text.field_faults import faults_of

BURST, A_SECOND = 5_000.0, 500.0
"""How many notifications a server may send at once, and how many per second; its requests count as five."""
_PRICES: dict[type, float] = {JSONRPCNotification: 1.0, JSONRPCRequest: 5.0}


Arriving = MemoryObjectReceiveStream[SessionMessage | Exception]

Streams = AbstractAsyncContextManager[tuple[Any, Any]]


class Paced:
    """A stream of a server's messages with a limit on their rate; responses to our requests do not
    count."""

    def __init__(self, arriving: Arriving) -> None:
        self._arriving = arriving
        self._left = BURST
        self._since = time.monotonic()

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        item = await self._arriving.receive()
        if isinstance(item, SessionMessage):
            listings.fit_entries(item.message)
        price = _PRICES.get(type(item.message), 0.0) if isinstance(item, SessionMessage) else 0.0
        if price:
            now = time.monotonic()
            self._left = min(BURST, self._left + (now - self._since) * A_SECOND) - price
            self._since = now
            if self._left < 0:
                await asyncio.sleep(-self._left / A_SECOND)
        return item

    async def aclose(self) -> None:
        """Read no more."""
        await self._arriving.aclose()

    def __aiter__(self) -> "Paced":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Paced":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


_LISTENED_TO = "2026-07-28"
_LONGEST_FAULT = 2_000
_CHANGED = "notifications/tools/list_changed"

FAULTS = (
    MCPError,
    ValidationError,
    OAuthFlowError,
    ToolError,
    OSError,
    RuntimeError,
    ExceptionGroup,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    httpx2.HTTPError,
)
"""The errors that a faulty server or connection can cause."""


@dataclass(frozen=True, slots=True)
class ClientHandlers:
    """Handlers for the server's requests and announcements. ``roots`` are the folders it may list.

    ``sample`` is None for a server that is offered no answers of the model. ``last`` returns its
    last lines on standard error and in its log.
    """

    server: str
    roots: tuple[str, ...]
    changed: Callable[[], None]
    ask: Asks
    sample: Samples | None
    log: Callable[[str], None]
    last: Callable[[], str]


@asynccontextmanager
async def opened(
    streams: Streams, handlers: ClientHandlers, mode: ConnectMode
) -> AsyncGenerator[Client]:
    """A connected client of the SDK: discovery first, the older handshake if the server knows no
    discovery."""

    async def received(message: object) -> None:
        if getattr(message, "method", "") == _CHANGED:
            handlers.changed()

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else json.dumps(params.data, default=str)
        handlers.log(f"[{params.level}] {plain(text, LONGEST_WORDS)}\n")

    async def roots(context: object) -> types.ListRootsResult:
        roots = [{"uri": Path(root).as_uri()} for root in handlers.roots]
        return types.ListRootsResult.model_validate({"roots": roots})

    async def requested(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        return await _answered(handlers, params)

    async def sampling(
        context: object, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        assert handlers.sample is not None
        return await sampled(handlers.server, params, handlers.sample)

    async with Client(
        _paced(streams),
        mode=mode,
        sampling_callback=sampling if handlers.sample is not None else None,
        elicitation_callback=requested,
        list_roots_callback=roots,
        logging_callback=logged,
        log_level="warning",
        message_handler=received,
        client_info=types.Implementation(name="sam-tui", version=__version__),
        cache=None,
    ) as client:
        yield client


@asynccontextmanager
async def _paced(
    streams: Streams,
) -> AsyncGenerator[tuple[Paced, Any]]:
    async with streams as (arriving, leaving):
        yield Paced(arriving), leaving


async def watched(client: Client, changed: Callable[[], None]) -> None:
    """Subscribe to changes of the tools: servers of the 2026 revision announce them to nobody else."""
    tools = client.server_capabilities.tools
    if client.protocol_version < _LISTENED_TO or tools is None or not tools.list_changed:
        return
    with suppress(*FAULTS):
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                changed()


async def listed(client: Client, server: str) -> list[RawTool]:
    """The server's tools, and the tools that are made for its resources and prompts."""
    return [*await _tools(client), *await resources.tools_for(client, server)]


async def _tools(client: Client) -> list[RawTool]:
    if client.server_capabilities.tools is None:
        return []
    tools: listings.Listing[types.Tool] = await listings.listing(client.list_tools, "tools")
    offered = [
        RawTool(t.name, t.description or t.title or "", t.input_schema, hints=_hints(t))
        for t in tools.entries
    ]
    return [*offered, *tools.left_out()]


def _hints(tool: types.Tool) -> dict[str, bool]:
    return hints_of(tool.annotations and tool.annotations.model_dump(by_alias=True))


async def call(
    client: Client,
    tool: str,
    arguments: Mapping[str, Any],
    on_progress: ProgressFnT,
) -> types.CallToolResult:
    """Call a tool; requests of the server during the call go to ``ClientHandlers``."""
    if tool in (resources.LIST, resources.READ, resources.PROMPT):
        return await resources.answer(client, tool, arguments)
    return await client.call_tool(tool, dict(arguments), progress_callback=on_progress)


def lost(error: BaseException) -> bool:
    """Whether an error means that the connection is gone."""
    match error:
        case MCPError():
            terminated = "Session terminated" in error.error.message
            return terminated or error.error.code == types.CONNECTION_CLOSED
        case OAuthFlowError():
            return True  # the next one reads the tokens of a login since then
        case anyio.ClosedResourceError() | anyio.BrokenResourceError() | anyio.EndOfStream():
            return True
        case _:
            return False


def refuses_login(error: BaseException) -> bool:
    """Whether an error means that a login failed."""
    return isinstance(_first(error), OAuthFlowError)


def data_of(error: BaseException) -> object:
    """Return the data of a protocol error besides its message; None for another error."""
    error = _first(error)
    return error.error.data if isinstance(error, MCPError) else None


def fault_of(error: BaseException) -> str:
    """An error as a sentence for people; of a group its first error."""
    error = _first(error)
    match error:
        case OAuthFlowError(__context__=ValidationError() as cause):
            words = f"{str(error).partition(':')[0]}: {faults_of(cause)[0]}"
            return plain(words, _LONGEST_FAULT)
        case MCPError():
            return plain(error.error.message, _LONGEST_FAULT)
        case ValidationError():
            return "what it answered does not fit the protocol"
        case ToolError():
            return error.explain()
        case OSError():
            return error.strerror or str(error)
        case _:
            return plain(str(error), _LONGEST_FAULT) or f"it failed ({type(error).__name__})"


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


async def _answered(
    handlers: ClientHandlers, params: types.ElicitRequestParams
) -> types.ElicitResult:
    message = plain(params.message, _LONGEST_FAULT)
    try:
        if isinstance(params, types.ElicitRequestURLParams):
            await visit(handlers.server, message, plain(params.url, _LONGEST_FAULT), handlers.ask)
            return types.ElicitResult(action="accept")
        schema = params.requested_schema
        content = await fill(handlers.server, message, schema, handlers.ask)
    except Declined as no:
        return types.ElicitResult(action="cancel" if no.dismissed else "decline")
    return types.ElicitResult(action="accept", content=content)
