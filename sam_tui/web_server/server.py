"""Serves the workbench to browsers on loopback until a signal comes."""

import asyncio
import json
import logging
import mimetypes
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from sam_tui.loopback.access import Addresses
from sam_tui.loopback.server import MOST_CONNECTIONS, listen
from sam_tui.stop_signals import signals_stop
from sam_tui.web_server.entry import INVITATION, UNINVITED, Handler, PageAccess, refused
from sam_tui.web_server.workbenches import PageWorkbench, Size, started

_OWN, _CLIENT = "sam_tui.web_server", "textual_serve"
_FILES = {
    "/": (_OWN, "page/page.html"),
    "/page.js": (_OWN, "page/page.js"),
    "/page.css": (_OWN, "page/page.css"),
    "/client.js": (_CLIENT, "static/js/textual.js"),
    "/xterm.css": (_CLIENT, "static/css/xterm.css"),
    "/font.ttf": (_CLIENT, "static/fonts/RobotoMono-VariableFont_wght.ttf"),
    "/italic.ttf": (_CLIENT, "static/fonts/RobotoMono-Italic-VariableFont_wght.ttf"),
}
"""The files that are served without a login; none contains data of the person."""
_MOST_TYPED = 128 * 1024 * 1024
"""The most bytes of a message: the longest paste of a page (``MOST_PASTED`` of page.js) as JSON."""
_HEARTBEAT = 20.0
"""Seconds between two checks whether a page is still connected."""
_SILENCE = 10.0
"""Seconds in which a new connection must send the headers of a request."""
_MOST_HEAD = 64 * 1024
"""Bytes after which incomplete headers are left to the library, which refuses them."""


@dataclass(frozen=True, slots=True)
class BrowserFace:
    """The terms of serving: the port, the access, and the arguments of each workbench.

    ``token`` makes invitations. ``public`` is an address beside loopback's own, ``most`` how many
    workbenches may run at once. ``announce`` gets the port and an invitation, and one more whenever
    one was used.
    """

    port: int
    token: str = field(repr=False)
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    announce: Callable[[int, str], None]
    public: str = ""
    most: int = 8


async def serve_workbenches(face: BrowserFace) -> None:
    """Serve until a signal comes; the workbenches end with it. Raises ``UsageError`` for a port in use."""
    listening = listen(face.port)
    port: int = listening.getsockname()[1]
    pages = _Pages(face, port)
    runner = web.AppRunner(
        pages.application(), access_log=None, handle_signals=False, shutdown_timeout=3.0
    )
    logging.getLogger("aiohttp.server").addFilter(_of_this_program)
    await runner.setup()
    handlers = runner.server
    assert handlers is not None

    arrivals: dict[_Visitor, None] = {}

    def protocol() -> asyncio.Protocol:
        return _Visitor(handlers, arrivals, full=len(handlers.connections) >= MOST_CONNECTIONS)

    with signals_stop() as stopped:
        server = await asyncio.get_running_loop().create_server(protocol, sock=listening)
        try:
            pages.access.announce()
            await stopped.wait()
        finally:
            server.close()
            await pages.close()
            await runner.cleanup()


def _of_this_program(record: logging.LogRecord) -> bool:
    """Whether a line of the log is about a defect here, not about a request that is not valid HTTP."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


class _Visitor(asyncio.Protocol):
    """A new connection. It is closed if the headers of its first request do not arrive in time, or if
    there are too many: of those that have not sent them the oldest is closed for a new one."""

    def __init__(
        self,
        handlers: Callable[[], asyncio.Protocol],
        arrivals: "dict[_Visitor, None]",
        *,
        full: bool,
    ) -> None:
        self._handlers = handlers
        self._arrivals = arrivals
        self._full = full
        self._head = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._waiting = asyncio.get_running_loop().call_later(_SILENCE, transport.abort)
        self._arrivals[self] = None
        if len(self._arrivals) > MOST_CONNECTIONS:
            next(iter(self._arrivals)).close()
        if self._full:
            self.close()

    def close(self) -> None:
        """Close the connection now."""
        self._arrivals.pop(self, None)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass the connection to a handler of requests, once the headers are whole or too long."""
        begin = max(0, len(self._head) - 3)
        self._head += data
        whole = any(self._head.find(end, begin) >= 0 for end in (b"\n\r\n", b"\n\n"))
        if not whole and self._head[:1].isalpha() and len(self._head) < _MOST_HEAD:
            return
        self._waiting.cancel()
        self._arrivals.pop(self, None)
        handler = self._handlers()
        self._transport.set_protocol(handler)
        handler.connection_made(self._transport)
        handler.data_received(bytes(self._head))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting: nothing was requested."""
        self._waiting.cancel()
        self._arrivals.pop(self, None)


class _Pages:
    """The page, its login, and a workbench behind each that is open."""

    def __init__(self, face: BrowserFace, port: int) -> None:
        self._face = face
        self.access = PageAccess(
            Addresses(port, face.public),
            face.token,
            partial(face.announce, port),
            f"sam-tui-{port}",
        )
        self._open: set[web.WebSocketResponse] = set()
        self._running = 0

    def application(self) -> web.Application:
        """The application: its routes, and nothing else."""
        access = self.access
        guard = access.guard(frozenset(_FILES))
        app = web.Application(middlewares=[guard], client_max_size=4096)
        for path, source in _FILES.items():
            app.router.add_get(path, _sender(*source), allow_head=False)
        app.router.add_post(INVITATION, access.invite)
        app.router.add_post("/login", access.login)
        app.router.add_post("/ticket", self._ticket)
        app.router.add_get("/workbench/{ticket}", self._workbench, allow_head=False)
        return app

    async def close(self) -> None:
        """End every page's workbench."""
        for socket in list(self._open):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    async def _ticket(self, request: web.Request) -> web.Response:
        """Return the address of the page's workbench, good once."""
        ticket = self.access.ticket(request)
        if ticket is None:
            return refused(401, UNINVITED)
        return self._full() or web.json_response({"path": f"/workbench/{ticket}"})

    def _full(self) -> web.Response | None:
        if self._running < self._face.most:
            return None
        return refused(503, f"{self._face.most} workbenches are open already: close a page.")

    async def _workbench(self, request: web.Request) -> web.StreamResponse:
        """A workbench, until its page goes away or it ends."""
        if not self.access.admits(request):
            return refused(401, "Reload this page.")
        if (full := self._full()) is not None:
            return full
        self._running += 1
        try:
            socket = web.WebSocketResponse(
                heartbeat=_HEARTBEAT, max_msg_size=_MOST_TYPED, compress=False
            )
            await socket.prepare(request)
            self._open.add(socket)
            try:
                size = Size.of(request.query.get("width"), request.query.get("height"))
                async with started(self._face.arguments, self._face.environment, size) as workbench:
                    await _converse(socket, workbench)
            finally:
                self._open.discard(socket)
        finally:
            self._running -= 1
        return socket


async def _converse(socket: web.WebSocketResponse, workbench: PageWorkbench) -> None:
    """Pass output and input on, until either side ends."""

    async def show() -> None:
        with suppress(ConnectionError):
            async for data in workbench.output():
                await socket.send_bytes(data)
            await socket.close()

    showing = asyncio.get_running_loop().create_task(show(), name="page-output")
    try:
        async for message in socket:
            if message.type is not WSMsgType.TEXT or not await _heed(
                socket, message.data, workbench
            ):
                await socket.close(code=WSCloseCode.POLICY_VIOLATION)
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)


async def _heed(socket: web.WebSocketResponse, text: str, workbench: PageWorkbench) -> bool:
    """Carry out one message of a page. False for an invalid message."""
    try:
        message: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    match message:
        case ["stdin", str(typed)]:
            workbench.type(typed)
        case ["resize", {"width": width, "height": height}]:
            workbench.resize(Size.of(width, height))
        case ["ping", str(sent)]:
            await socket.send_json(["pong", sent[:32]])
        case ["focus" | "blur", *_]:
            pass  # the workbench learns that from its terminal
        case _:
            return False
    return True


def _sender(package: str, path: str) -> Handler:
    """Return a handler that answers with a file of a package, read once."""
    file: Traversable = resources.files(package).joinpath(path)
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    data: list[bytes] = []

    async def send(_: web.Request) -> web.Response:
        if not data:
            data.append(file.read_bytes())
        charset = "utf-8" if kind.startswith("text/") else None
        return web.Response(body=data[0], content_type=kind, charset=charset)

    return send
