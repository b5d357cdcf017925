"""Bodies of HTTP requests that are no message are answered as lines on standard streams are.

The SDK takes a request whose id is none for a notification, and its client would wait for ever.
"""

from typing import Final

from sam_tui.loopback.access import App, Message, Receive, Scope, Send
from sam_tui.mcp_server.stdio import WireFault, parsed

LARGEST: Final = 16 * 1024 * 1024
"""The most bytes of a body that is checked here; the SDK refuses larger ones."""


def messages_only(app: App) -> App:
    """The same, for bodies that are messages."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or _length(scope) > LARGEST:
            await app(scope, receive, send)
            return
        events, body = await _read(receive)
        fault = parsed(body) if len(body) <= LARGEST else None
        if isinstance(fault, WireFault):
            await _answer(fault, send)
            return

        async def again() -> Message:
            return events.pop(0) if events else await receive()

        await app(scope, again, send)

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
    body = fault.answer.model_dump_json(by_alias=True, exclude_unset=True).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})
