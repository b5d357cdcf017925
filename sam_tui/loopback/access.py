"""Access to the HTTP server: the bearer token, and the checks before any of the protocol is read."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

GONE: Final = "sam_tui.gone"
"""The key in a request's scope of an event that is set if the client disconnects before the answer."""
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

Public = tuple[str, str]
"""Method and path of a request that needs no token."""


Headers = Iterable[tuple[bytes, bytes]]
Refusal = tuple[int, str]
"""The HTTP status of a refusal, and its reason."""


class Addresses:
    """The host names that a local server answers to, and the origins of pages that may call it.

    A page in a browser can send requests to loopback, and can make its own name mean 127.0.0.1 (DNS
    rebinding): the first is refused by ``Origin``, the second by ``Host``. ``public`` is one more address
    that the person named, as ``https://host``: that of a tunnel which ends on this machine.
    """

    def __init__(self, port: int, public: str = "") -> None:
        names = ("127.0.0.1", "localhost", "[::1]")
        origins = [f"http://{name}:{port}" for name in names]
        if public:
            origins.append(public.lower())
        self._origins = frozenset(origin.encode() for origin in origins)
        self._hosts = frozenset(origin.partition("://")[2].encode() for origin in origins)

    def refusal(self, headers: Headers, *, from_page: bool = False) -> Refusal | None:
        """Return why a request is refused; ``from_page`` refuses one that no page of this server sent."""
        hosts, origins = (_values(headers, name) for name in (b"host", b"origin"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, (
                "This server accepts only requests to 127.0.0.1 and localhost with its port."
            )
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, "Web pages may not call this server."
        if from_page and len(origins) != 1:
            return 403, "Only the page of this server may call this."
        return None


def has_secret(headers: Headers, token: str) -> bool:
    """Whether a request carries a token as ``Authorization: Bearer``."""
    values = _values(headers, b"authorization")
    scheme, _, sent = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
    return scheme.lower() == b"bearer" and hmac.compare_digest(sent.strip(), token.encode())


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


class HttpAccess:
    """Admits requests with the token, to one of our host names, and from no foreign web page."""

    def __init__(
        self, app: App, token: str, port: int, public: frozenset[Public] = frozenset()
    ) -> None:
        self._app = app
        self._token = token
        self._public = public
        self._addresses = Addresses(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an HTTP request, or refuse it."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refuse(*refusal, send)
            return
        hangup = scope[GONE] = asyncio.Event()
        answered = False

        async def hear() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not answered:
                hangup.set()
            return message

        async def tell(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                answered = True
            await send(message)

        await self._app(scope, hear, tell)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        refusal = self._addresses.refusal(headers)
        if refusal is not None or (scope["method"], scope["path"]) in self._public:
            return refusal
        if not has_secret(headers, self._token):
            return 401, "Send the token of this server as Authorization: Bearer."
        return None


async def refuse(status: int, why: str, send: Send) -> None:
    """Answer with a status and a sentence."""
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 503:
        headers.append((b"connection", b"close"))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
