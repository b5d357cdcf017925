"""The stdio transport over a confined program: one message a line, within limits."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)

from sam_tui.core.ports.processes.piped import PipedProgram
from sam_tui.json_depth import shallow

LONGEST_LINE = 16_000_000
"""The most bytes of a message."""
MOST_STRAY = 1_000
"""After more lines than this that are no messages, the program is taken for no MCP server."""

UNREAD_SECONDS = 60.0
"""Seconds in which the server has to read a message from standard input."""
_UNREAD = "it does not read its input"
_ANSWERED = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*([0-9]{1,18})\s*,\s*"(?:result|error)"'
)
"""The beginning of a response. It also matches one whose rest is invalid JSON, to find the request's id."""

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


class NotSpoken(Exception):  # a state of affairs, in words for people
    """The program's output is not the protocol."""


@asynccontextmanager
async def piped_streams(
    program: PipedProgram, over: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """The two streams of a session. ``over`` receives the reason when the output ends."""
    arriving, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        why = ""
        async with arriving:
            try:
                async for message in _messages(program):
                    await arriving.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the session is gone
            except NotSpoken as error:
                why = str(error)
        over(why)

    async def write() -> None:
        async with leaving:
            try:
                async for sent in leaving:
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    async with asyncio.timeout(UNREAD_SECONDS):
                        await program.write(text.encode() + b"\n")
            except OSError as error:
                over(_UNREAD if isinstance(error, TimeoutError) else "")
                await arriving.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield received, sending
        finally:
            for stream in (received, sending, arriving, leaving):
                stream.close()
            group.cancel_scope.cancel()


async def _messages(program: PipedProgram) -> AsyncIterator[SessionMessage]:
    """The messages of the output; up to a number of other lines are skipped."""
    stray = 0
    async for line in _lines(program):
        message = message_of(line)
        if message is None:
            stray += bool(line.strip())
            if stray > MOST_STRAY:
                raise NotSpoken("it prints text on standard output that is not a message")
            continue
        yield SessionMessage(message)


def message_of(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line; None if it is no message.

    A part that is nested too deep to be read is cut. Half a character, as in a cut text, is
    replaced, and so are bytes that are no UTF-8. An answer that does not fit the protocol becomes
    an error of its request, which would wait for ever else.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        pass
    line = shallow(line)
    try:
        value: Any = json.loads(line.decode("utf-8", "replace"))
        whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        answered = _ANSWERED.match(line)
        return _misfit(int(answered[1])) if answered is not None else None
    with suppress(ValueError, RecursionError):
        return jsonrpc_message_adapter.validate_json(whole, by_name=False)
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    identifier = fields.get("id")
    if "method" in fields or not isinstance(identifier, int | str) or isinstance(identifier, bool):
        return None
    return _misfit(identifier)


def _misfit(identifier: int | str) -> JSONRPCError:
    error = ErrorData(code=INTERNAL_ERROR, message="what it answered does not fit the protocol")
    return JSONRPCError(jsonrpc="2.0", id=identifier, error=error)


async def _lines(program: PipedProgram) -> AsyncIterator[bytes]:
    buffer = bytearray()
    while piece := await program.read():
        *whole, last = piece.split(b"\n")
        for line in whole:
            buffer += line
            yield bytes(buffer)
            buffer.clear()
        buffer += last
        if len(buffer) > LONGEST_LINE:
            raise NotSpoken(f"it sent a message of more than {LONGEST_LINE // 1_000_000} MB")
