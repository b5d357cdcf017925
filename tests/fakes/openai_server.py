"""A real HTTP/1.1 server on 127.0.0.1 that speaks OpenAI chat completions from a list of replies.

In a test, on its event loop::

    async with FakeServer([Reply(text="Hello"), Reply(calls=(Call("read", {"path": "a"}),))]) as server:
        ...                                # point the model at server.base ("http://127.0.0.1:NNN/v1")
    assert server.requests[0].json["model"] == "x"

For a program in a child process, on a thread of its own: ``with background(replies) as server: ...``
(same object).

Every POST, whatever its path, plays the next reply; ``replies`` may hold functions from the recorded
request to a reply, and may be appended to while serving. When none is left the answer is status 400
with code ``script_exhausted`` (not one that anybody retries). ``GET .../models`` lists ``models``
(``None`` answers 404) and plays no reply. Connections are kept alive.

``server.requests``     what came: ``Recorded`` (method, path, headers with lower-case names, body, json);
                        ``server.posts`` without the looks at ``/models``
``server.connections``  how many connections were opened so far
``server.sent``         bytes of ``endless`` that went out, whether or not somebody read them
``server.gone``         an ``asyncio.Event``: a client hung up in the middle of a reply
"""

import asyncio
import contextlib
import itertools
import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast


@dataclass(frozen=True)
class Call:
    """One tool call of a reply. ``pieces`` are its argument fragments; empty: cut by ``Reply.chunk``.

    ``arguments`` may be raw text. ``id`` and ``index`` None leave the field out.
    """

    name: str
    arguments: Any = field(default_factory=dict[str, Any])
    id: str | None = "auto"
    index: int | None = -1
    pieces: Sequence[str] = ()


@dataclass(frozen=True)
class Reply:
    """One answer of the server.

    ``chunk``: characters per event; ``delay``: seconds before each event, or ``rate``: events per
    second. ``usage``: the object of the usage event, sent only if the request asked for it.
    ``finish``: None is ``stop`` or ``tool_calls``, "" sends none; ``done``: whether ``[DONE]`` comes.
    ``events``: JSON objects to send instead of those made from text, reasoning and calls.
    ``raw``: the whole body instead of any event. ``split``: write the body in pieces of so
    many bytes, whatever they cut. ``status`` other than 200 answers ``body`` (text or an object) at
    once. ``hang``: ``start`` never answers, ``middle`` stops after ``cut`` events (default: all) but
    leaves the connection open. ``cut``: drop the connection after so many events. ``error``: an
    ``{"error": ...}`` event after the others, then the end. ``interleave``: the fragments of several
    calls take turns. ``endless``: after ``raw``, write this again and again until the client leaves.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[Call] = ()
    usage: Mapping[str, Any] | None = None
    finish: str | None = None
    done: bool = True
    chunk: int = 16
    delay: float = 0.0
    rate: float = 0.0
    reasoning_field: str = "reasoning_content"
    interleave: bool = False
    events: Sequence[Mapping[str, Any]] | None = None
    raw: str | bytes | None = None
    split: int = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Any = None
    content_type: str = "text/event-stream"
    hang: str = ""
    cut: int | None = None
    error: Mapping[str, Any] | None = None
    endless: bytes = b""


Player = Reply | Callable[["Recorded"], Reply]
Models = Sequence[str] | None


@dataclass(frozen=True)
class Recorded:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


def failure(status: int, message: str, *, code: str = "", **headers: str) -> Reply:
    """An OpenAI-style error answer; ``retry_after="2"`` becomes the header ``retry-after``."""
    body = {"error": {"message": message, "type": "x", "code": code or None}}
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    return Reply(status=status, body=body, headers=named)


def _pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _call_deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    queues: list[list[dict[str, Any]]] = []
    for number, call in enumerate(reply.calls):
        text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        place: dict[str, Any] = {}
        if call.index is not None:
            place["index"] = number if call.index < 0 else call.index
        head: dict[str, Any] = {**place, "type": "function"}
        if call.id is not None:
            head["id"] = f"call_{number}" if call.id == "auto" else call.id
        parts = list(call.pieces) or _pieces(text, reply.chunk)
        # A call without an index can only be told from its neighbour when it comes in one piece.
        first = "" if call.index is not None else (parts.pop(0) if parts else "")
        head["function"] = {"name": call.name, "arguments": first}
        queues.append([head, *({**place, "function": {"arguments": part}} for part in parts)])
    while any(queues):
        for queue in queues:
            while queue:
                yield {"tool_calls": [queue.pop(0)]}
                if reply.interleave:
                    break


def _events(reply: Reply, request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    envelope: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    envelope["model"] = request.get("model", "")

    def event(delta: Mapping[str, Any], finish: str | None = None) -> Mapping[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**envelope, "choices": [choice]}

    if reply.events is not None:
        yield from reply.events
        return
    yield event({"role": "assistant", "content": ""})
    yield from (event({reply.reasoning_field: p}) for p in _pieces(reply.reasoning, reply.chunk))
    yield from (event({"content": piece}) for piece in _pieces(reply.text, reply.chunk))
    yield from (event(delta) for delta in _call_deltas(reply))
    default = "tool_calls" if reply.calls else "stop"
    finish = default if reply.finish is None else reply.finish
    if finish and reply.error is None:
        yield event({}, finish)
    options: Mapping[str, Any] = request.get("stream_options") or {}
    if reply.usage is not None and options.get("include_usage"):
        yield {**envelope, "choices": [], "usage": reply.usage}


class _Connection(asyncio.Protocol):
    """One client: parses requests, serves them in order, knows when the client left."""

    def __init__(self, server: "FakeServer") -> None:
        self.server = server
        self.buffer = bytearray()
        self.waiting: asyncio.Queue[Recorded] = asyncio.Queue()
        self.busy = False
        self.writable = asyncio.Event()
        self.writable.set()
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.server.connections += 1
        self.server.open.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.open.discard(self)
        if self.busy:
            self.server.gone.set()
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head_end := self.buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self.buffer[:head_end].decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
            end = head_end + 4 + int(headers.get("content-length", "0"))
            if len(self.buffer) < end:
                return
            body = bytes(self.buffer[head_end + 4 : end])
            del self.buffer[:end]
            method, path, _ = first.split(" ", 2)
            self.waiting.put_nowait(Recorded(method, path, headers, body))

    async def _serve(self) -> None:
        try:
            while True:
                request = await self.waiting.get()
                self.busy = True
                self.server.requests.append(request)
                if request.method == "GET":
                    self._models(request)
                else:
                    await self._play(self.server.next_reply(request), request)
                self.busy = False
        finally:
            self.transport.abort()  # a mistake in a script must not look like a slow server

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Status"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
        self.transport.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def _whole(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        data = body.encode()
        self._head(status, {**headers, "content-length": str(len(data))})
        self.transport.write(data)

    def _models(self, request: Recorded) -> None:
        models = self.server.models
        if models is None or not request.path.endswith("/models"):
            return self._whole(404, "not found", {})
        listed = {"object": "list", "data": [{"id": m, "object": "model"} for m in models]}
        return self._whole(200, json.dumps(listed), {"content-type": "application/json"})

    async def _play(self, reply: Reply, request: Recorded) -> None:
        if reply.hang == "start":
            await asyncio.Event().wait()
        if reply.status != 200 or reply.body is not None:
            text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            kind = "text/html" if isinstance(reply.body, str) else "application/json"
            return self._whole(reply.status, text, {"content-type": kind, **reply.headers})
        kind = {"content-type": reply.content_type, "transfer-encoding": "chunked"}
        self._head(200, {**kind, **reply.headers})
        if reply.raw is not None:
            raw = reply.raw if isinstance(reply.raw, bytes) else reply.raw.encode()
            await self._write(raw, reply)
            while reply.endless:
                await self._write(reply.endless, reply)
                self.server.sent += len(reply.endless)
                await self.writable.wait()
                await asyncio.sleep(0)
        elif not await self._stream(reply, request):
            return None
        self.transport.write(b"0\r\n\r\n")
        return None

    async def _stream(self, reply: Reply, request: Recorded) -> bool:
        """Send the events; False when the connection was dropped in the middle."""
        pause = 1 / reply.rate if reply.rate else reply.delay
        for event in itertools.islice(_events(reply, request.json), reply.cut):
            await asyncio.sleep(pause)
            await self._write(_sse(event), reply)
        if reply.hang == "middle":
            await asyncio.Event().wait()
        if reply.cut is not None:
            await asyncio.sleep(0.01)  # let what was written leave before the reset
            self.transport.abort()
            return False
        if reply.error is not None:
            await self._write(_sse({"error": reply.error}), reply)
        elif reply.done:
            await self._write(b"data: [DONE]\n\n", reply)
        return True

    async def _write(self, data: bytes, reply: Reply) -> None:
        size = reply.split or len(data) or 1
        for start in range(0, len(data), size):
            part = data[start : start + size]
            self.transport.write(b"%x\r\n%b\r\n" % (len(part), part))
            if reply.split:
                await asyncio.sleep(0)


def _sse(event: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


class FakeServer:
    """The server; see the module's text. Use it as ``async with``."""

    def __init__(self, replies: Sequence[Player] = (), *, models: Models = ("fake",)) -> None:
        self.replies: list[Player] = list(replies)
        self.models = models
        self.requests: list[Recorded] = []
        self.connections = 0
        self.sent = 0
        self.gone = asyncio.Event()
        self.open: set[_Connection] = set()
        self.port = 0
        self._played = 0
        self._server: asyncio.Server | None = None

    @property
    def base(self) -> str:
        """The address to give as api_base."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Drop every connection and stop listening."""
        tasks = [c.task for c in self.open if c.task is not None]
        for connection in list(self.open):
            connection.busy = False
            connection.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def __aenter__(self) -> "FakeServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def posts(self) -> list[Recorded]:
        """The requests that asked for an answer (without the look at ``/models``)."""
        return [r for r in self.requests if r.method == "POST"]

    @property
    def left(self) -> int:
        """How many replies nobody has asked for yet."""
        return len(self.replies) - self._played

    def next_reply(self, request: Recorded) -> Reply:
        if self._played >= len(self.replies):
            return failure(400, "the fake server has no reply left", code="script_exhausted")
        player = self.replies[self._played]
        self._played += 1
        return player if isinstance(player, Reply) else player(request)


@contextlib.contextmanager
def background(
    replies: Sequence[Player] = (), *, models: Models = ("fake",)
) -> Generator[FakeServer]:
    """The server on a thread of its own, for tests that block or drive a child process."""
    server = FakeServer(replies, models=models)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake-openai", daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
