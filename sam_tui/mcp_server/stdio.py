"""The stdio transport: one JSON message a line on two descriptors that belong to nothing else.

Reading and writing are done by daemon threads, because both may block for ever on descriptors that
other processes share, and the server must be able to end all the same.
"""

import asyncio
import concurrent.futures
import json
import logging
import os
import queue
import threading
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

logger = logging.getLogger(__name__)

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of one message; a longer line is refused and skipped."""
_LAST_WORDS: Final = 5.0
"""Seconds for what is still to be said to somebody who hangs up."""
_CHUNK = 1 << 16
_AHEAD = 32
_LASTING = ("tools/call", "subscriptions/listen")
"""Requests whose answers are not waited for when the client hangs up."""
_Job = tuple[bytes, "asyncio.Future[None]"]

Reads = MemoryObjectReceiveStream[SessionMessage | Exception]
Writes = MemoryObjectSendStream[SessionMessage]


class StdioWire:
    """Messages over two descriptors.

    What is no message is answered with the error that JSON-RPC has for it, and goes no further.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._incoming, self.reads = anyio.create_memory_object_stream[SessionMessage | Exception](
            _AHEAD
        )
        self.writes, self._outgoing = anyio.create_memory_object_stream[SessionMessage](_AHEAD)
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._owed: set[types.RequestId] = set()
        self._paid = asyncio.Event()
        _thread("mcp-reads", lambda: _read(source, self._lines, self._loop))
        _thread("mcp-writes", lambda: _write(sink, self._jobs, self._loop))

    async def listen(self) -> None:
        """Pass on what comes in, until the other side is gone."""
        while (line := await self._lines.get()) is not None:
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
        """Write what goes out, until there is nothing more to say."""
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
        written = self._loop.create_future()
        self._jobs.put((_encoded(message) + b"\n", written))
        await written
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


def _encoded(message: types.JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:  # text that UTF-8 has no bytes for
        value = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class WireFault:
    """Something that is no message, and what JSON-RPC answers to it."""

    answer: types.JSONRPCError


def parsed(line: bytes) -> types.JSONRPCMessage | WireFault | None:
    """The message of a line, or what is wrong with it; None where there is nothing to answer."""
    if not line.strip():
        return None
    if len(line) > LONGEST:
        return _fault(None, types.PARSE_ERROR, f"Parse error: longer than {LONGEST} bytes")
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        # A request whose id is none reads like a notification, and its client would wait for ever.
        if not (isinstance(message, types.JSONRPCNotification) and b'"id"' in line):
            return message
    except ValidationError:
        message = None
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return _fault(None, types.PARSE_ERROR, "Parse error")
    if not isinstance(value, dict):
        return _fault(None, types.INVALID_REQUEST, "Invalid request: send one JSON object a line")
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
    return _fault(identifier, types.INVALID_REQUEST, "Invalid request")


def _fault(request: str | int | None, code: int, message: str) -> WireFault:
    error = types.ErrorData(code=code, message=message)
    return WireFault(types.JSONRPCError(jsonrpc="2.0", id=request, error=error))


def _thread(name: str, work: Callable[[], None]) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()


def _read(
    source: int, lines: "asyncio.Queue[bytes | None]", loop: asyncio.AbstractEventLoop
) -> None:
    """Hand over line by line; no more than a few ahead of who takes them."""

    def hand_over(line: bytes | None) -> bool:
        putting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except (RuntimeError, concurrent.futures.CancelledError):
            putting.close()  # the loop has ended
            return False
        return True

    buffer = bytearray()
    while True:
        try:
            chunk = os.read(source, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            break
        buffer += chunk
        if b"\n" not in chunk:
            # Of a line that is too long only so much is kept that it is seen to be.
            del buffer[LONGEST + 1 :]
            continue
        *whole, partial = buffer.split(b"\n")
        buffer = partial
        if not all(hand_over(bytes(line)) for line in whole):
            return
    if buffer.strip() and not hand_over(bytes(buffer)):
        return
    hand_over(None)


def _write(sink: int, jobs: "queue.SimpleQueue[_Job]", loop: asyncio.AbstractEventLoop) -> None:
    """Write whole messages, one after the other."""
    while True:
        data, written = jobs.get()
        fault: OSError | None = None
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(sink, view) :]
        except OSError as error:
            fault = error
        try:
            loop.call_soon_threadsafe(_settle, written, fault)
        except RuntimeError:
            return  # the loop has ended


def _settle(written: "asyncio.Future[None]", fault: OSError | None) -> None:
    if written.done():
        return
    if fault is None:
        written.set_result(None)
    else:
        written.set_exception(fault)
