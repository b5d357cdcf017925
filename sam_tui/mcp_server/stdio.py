"""The stdio transport: one JSON message a line on two descriptors that belong to nothing else."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from sam_tui.json_depth import shallow
from sam_tui.line_pipes import LONGEST, LinePipes

logger = logging.getLogger(__name__)

_LAST_WORDS: Final = 5.0
"""Seconds to write answers after the client has closed its end."""
_AHEAD = 32
_LASTING = ("tools/call", "subscriptions/listen")
"""Requests whose answers are not awaited when the client closes its end."""

Reads = MemoryObjectReceiveStream[SessionMessage | Exception]
Writes = MemoryObjectSendStream[SessionMessage]


class StdioWire:
    """Messages over two descriptors.

    A line that is no message is answered with JSON-RPC's error for it, and not passed on.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._incoming, self.reads = anyio.create_memory_object_stream[SessionMessage | Exception](
            _AHEAD
        )
        self.writes, self._outgoing = anyio.create_memory_object_stream[SessionMessage](_AHEAD)
        self._pipes = LinePipes(source, sink, "mcp")
        self._owed: set[types.RequestId] = set()
        self._paid = asyncio.Event()

    async def listen(self) -> None:
        """Pass incoming messages on until the client closes its end."""
        while (line := await self._pipes.read()) is not None:
            message = parsed(line)
            if isinstance(message, WireFault):
                await self._say(message.answer)
            elif message is not None:
                await self._pass_on(message)
        # A pipe that ends with its questions still has its answers; calls are cancelled with it.
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS if self._owed else 0):
                await self._paid.wait()

    async def speak(self) -> None:
        """Write outgoing messages until the stream of them ends."""
        async for message in self._outgoing:
            await self._say(message.message)

    async def attend(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run one half. The client may vanish at any time; then there is nobody to tell."""
        try:
            await work()
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            logger.debug("the client is gone: %r", error)
        finally:
            self._incoming.close()

    async def _pass_on(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method not in _LASTING:
            self._owed.add(message.id)
            self._paid.clear()
        await self._incoming.send(SessionMessage(message))

    async def _say(self, message: types.JSONRPCMessage) -> None:
        await self._pipes.write(encoded(message))
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._owed.discard("" if message.id is None else message.id)
            if not self._owed:
                self._paid.set()


@asynccontextmanager
async def wire(source: int, sink: int) -> AsyncGenerator[tuple[Reads, Writes]]:
    """Streams of messages over two descriptors. The one to read ends when the other side is gone."""
    ends = StdioWire(source, sink)
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(ends.attend(ends.listen), name="mcp-listens")
        speaking = group.create_task(ends.attend(ends.speak), name="mcp-speaks")
        try:
            yield ends.reads, ends.writes
            ends.writes.close()
            await asyncio.wait((speaking,), timeout=_LAST_WORDS)
        finally:
            listening.cancel()
            speaking.cancel()


def encoded(message: types.JSONRPCMessage) -> bytes:
    """Return a message as UTF-8; a character without UTF-8 bytes becomes ``?``."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:
        value = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class WireFault:
    """A line that is no message, and the JSON-RPC error to answer with."""

    answer: types.JSONRPCError


def parsed(line: bytes) -> types.JSONRPCMessage | WireFault | None:
    """Return the message of a line, or its fault; None if there is nothing to answer."""
    if not line.strip():
        return None
    if len(line) > LONGEST:
        return wire_fault(None, types.PARSE_ERROR, f"Parse error: longer than {LONGEST} bytes")
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        # A request with the id null would be taken for a notification, and its client would wait forever.
        if not (isinstance(message, types.JSONRPCNotification) and b'"id"' in line):
            return message
    except ValidationError:
        message = None
    try:
        value: object = json.loads(shallow(line))
    except (ValueError, RecursionError):
        return wire_fault(None, types.PARSE_ERROR, "Parse error")
    if not isinstance(value, dict):
        return wire_fault(None, types.INVALID_REQUEST, "Invalid request: send one JSON object")
    fields = cast("dict[str, Any]", value)
    if message is not None and "id" not in fields:
        return message
    return _invalid_request(fields)


def _invalid_request(fields: Mapping[str, object]) -> WireFault | None:
    """The answer to an object that is no message; a malformed answer has none."""
    if "method" not in fields and ("result" in fields or "error" in fields):
        return None
    match fields.get("id"):
        case bool():
            identifier = None
        case str() | int() as identifier:
            pass
        case _:
            identifier = None
    return wire_fault(identifier, types.INVALID_REQUEST, "Invalid request")


def wire_fault(request: str | int | None, code: int, message: str) -> WireFault:
    """The answer to a request that is refused before it is looked at."""
    error = types.ErrorData(code=code, message=message)
    return WireFault(types.JSONRPCError(jsonrpc="2.0", id=request, error=error))
