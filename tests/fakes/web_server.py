"""A web site on loopback that behaves as told: redirects, compression, slowness, floods, lies."""

import asyncio
import contextlib
import gzip
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def query(self) -> dict[str, str]:
        """The query's values by name."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What to send. ``flood`` repeats the body until the reader leaves; ``hang`` never ends it."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    flood: bool = False
    hang: bool = False
    cut: bool = False
    """Whether the connection breaks before the announced end."""
    after: asyncio.Event | None = None
    """What to wait for before anything is sent."""


Player = Answer | Callable[[Asked], Answer]


def page(text: str, *, status: int = 200) -> Answer:
    """An HTML page."""
    return Answer(text.encode(), status, {"content-type": "text/html; charset=utf-8"})


def answered(value: object, *, status: int = 200) -> Answer:
    """A JSON answer."""
    return Answer(json.dumps(value).encode(), status, {"content-type": "application/json"})


def moved(location: str, *, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(b"moved", status, {"location": location})


def packed(body: bytes, *, media_type: str = "text/plain") -> Answer:
    """A gzip-compressed answer."""
    return Answer(
        gzip.compress(body), 200, {"content-type": media_type, "content-encoding": "gzip"}
    )


class WebServer:
    """The server; use it as ``async with``. Unknown paths are 404."""

    def __init__(
        self, routes: Mapping[str, Player] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.routes: dict[str, Player] = dict(routes or {})
        self.asked: list[Asked] = []
        self.port = 0
        self.most_at_once = 0
        """The most requests that waited for their answers together."""
        self._tls = tls
        self._open = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        """``host:port`` for an allow list."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        """A whole address."""
        return f"{'https' if self._tls else 'http'}://{self.origin}{path}"

    @property
    def paths(self) -> Sequence[str]:
        """The asked paths in order, without their queries."""
        return [urlsplit(asked.path).path for asked in self.asked]

    async def __aenter__(self) -> "WebServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(await _request(reader), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass  # the reader left, which is what several tests are about
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                await writer.wait_closed()
            self._tasks.discard(task)

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked.append(asked)
        player = self.routes.get(urlsplit(asked.path).path, Answer(b"not here", 404))
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        answer = player if isinstance(player, Answer) else player(asked)
        if answer.after is not None:
            await answer.after.wait()
        self._open -= 1
        headers = {"content-type": "text/plain", "connection": "close", **answer.headers}
        if not answer.flood:
            length = len(answer.body) + (1000 if answer.hang or answer.cut else 0)
            headers.setdefault("content-length", str(length))
        phrase = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else "?"
        lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        writer.write(answer.body)
        await writer.drain()
        while answer.flood:
            writer.write(answer.body)
            await writer.drain()
        if answer.hang:
            await asyncio.Event().wait()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = first.split(" ", 2)
    return Asked(method, path, headers, body)
