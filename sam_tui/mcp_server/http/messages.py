"""Bodies of HTTP requests that are no message are answered as lines on standard streams are.

The SDK takes a request whose id is none for a notification, and its client would wait for ever. So would
one whose id another request of its session has, as the SDK has one stream for an id.
"""

from typing import Final

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp_types import INVALID_REQUEST, JSONRPCRequest

from sam_tui.loopback.access import App, Message, Receive, Scope, Send
from sam_tui.mcp_server.stdio import WireFault, encoded, parsed, wire_fault

LARGEST: Final = 16 * 1024 * 1024
"""The most bytes of a body that is checked here; the SDK refuses larger ones."""


def messages_only(app: App) -> App:
    """The same, for bodies that are messages, and for one request with an id at a time."""
    answering: set[tuple[bytes, str]] = set()

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or _length(scope) > LARGEST:
            await app(scope, receive, send)
            return
        events, body = await _read(receive)
        message = parsed(body) if len(body) <= LARGEST else None
        session = dict(scope["headers"]).get(MCP_SESSION_ID_HEADER.encode())
        request: tuple[bytes, str] | None = None
        if session and isinstance(message, JSONRPCRequest):
            request = (session, str(message.id))
            if request in answering:
                busy = "Invalid request: one with this id is still being answered"
                message = wire_fault(message.id, INVALID_REQUEST, busy)
        if isinstance(message, WireFault):
            await _answer(message, send)
            return

        async def again() -> Message:
            return events.pop(0) if events else await receive()

        if request is None:
            await app(scope, again, send)
            return
        answering.add(request)
        try:
            await app(scope, again, send)
        finally:
            answering.remove(request)

    return served


def _length(scope: Scope) -> int:
    """The size that a request's header claims; the SDK refuses larger bodies before they arrive."""
    text = dict(scope["headers"]).get(b"content-length", b"0")
    return int(text) if text.isdigit() and len(text) < 19 else 0


async def _read(receive: Receive) -> tuple[list[Message], bytes]:
    """The events of a body, and that body: no more than is seen to be too large."""
    events: list[Message] = []
    size = 0
    while size <= LARGEST:
        events.append(await receive())
        size += len(events[-1].get("body", b""))
        if not events[-1].get("more_body"):
            break
    return events, b"".join(event.get("body", b"") for event in events)


async def _answer(fault: WireFault, send: Send) -> None:
    body = encoded(fault.answer)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})
