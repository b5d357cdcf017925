"""Sessions over HTTP whose streams can be resumed: a call goes on while its client comes back."""

import asyncio
from collections import OrderedDict
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import (
    LAST_EVENT_ID_HEADER,
    MCP_SESSION_ID_HEADER,
    EventCallback,
    EventMessage,
    EventStore,
    StreamableHTTPServerTransport,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse
from mcp_types.version import is_version_at_least

from sam_tui.loopback.access import GONE, Receive, Scope, Send, refuse
from sam_tui.mcp_server.http.messages import LARGEST
from sam_tui.mcp_server.protocol import SamServer

BYTES: Final = 32 * 1024 * 1024
"""The most bytes of stored events of all sessions; the oldest are dropped first."""
_ENTRY = 512
"""Bytes that an event takes in addition to its message."""


@dataclass(frozen=True, slots=True)
class _Entry:
    session: "SessionEvents"
    stream: str
    message: JSONRPCMessage | None
    """None for the event that opens a stream."""
    size: int

    @property
    def ends(self) -> bool:
        """Whether this event is the last on its stream."""
        return isinstance(self.message, JSONRPCResponse | JSONRPCError)


class StoredEvents:
    """The events of all sessions, oldest first, within ``limit`` bytes."""

    def __init__(self, limit: int = BYTES) -> None:
        self._limit = limit
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._bytes = 0
        self._last = 0

    def add(self, session: "SessionEvents", stream: str, message: JSONRPCMessage | None) -> int:
        """Store an event, drop the oldest beyond the limit; returns the event's number."""
        text = message.model_dump_json(exclude_unset=True) if message is not None else ""
        entry = _Entry(session, stream, message, len(text) + _ENTRY)
        self._last += 1
        self._entries[self._last] = entry
        self._bytes += entry.size
        while self._bytes > self._limit:
            self._bytes -= self._entries.popitem(last=False)[1].size
        return self._last

    def stream(self, session: "SessionEvents", number: int) -> str | None:
        """Return the stream of an event; None for one of another session or one no longer stored."""
        entry = self._entries.get(number)
        return entry.stream if entry is not None and entry.session is session else None

    def events_after(
        self, session: "SessionEvents", stream: str, after: int
    ) -> list[tuple[int, _Entry]]:
        """The messages of a stream after an event."""
        return [
            (number, entry)
            for number, entry in self._entries.items()
            if number > after and entry.session is session and entry.stream == stream
        ]

    def forget(self, session: "SessionEvents") -> None:
        """A session has ended."""
        for number in [n for n, entry in self._entries.items() if entry.session is session]:
            self._bytes -= self._entries.pop(number).size


class StreamListener:
    """Reader of one request's stream; ``left`` is set if no client returned in time."""

    def __init__(self, patience: float) -> None:
        self.left = asyncio.Event()
        self._patience = patience
        self._readers = 0
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def reading(self) -> Generator[None]:
        """Somebody reads, for as long as the block runs."""
        self._readers += 1
        if self._timer is not None:
            self._timer.cancel()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(self._patience, self.left.set)


posting: ContextVar[StreamListener | None] = ContextVar("mcp_posting", default=None)
"""The connection of the request whose stream is being opened."""


class SessionEvents(EventStore):
    """The SDK's event store for one session; each stream has the id of its request."""

    def __init__(self, events: StoredEvents) -> None:
        self._kept = events
        self.listeners: WeakValueDictionary[str, StreamListener] = WeakValueDictionary()
        """The connections of streams that are open or may be resumed."""
        self.agreed = ""
        """The protocol version of the handshake; empty before it."""

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Store an event; returns its id."""
        if not self.agreed and isinstance(message, JSONRPCResponse):
            self.agreed = str(message.result.get("protocolVersion", ""))
        listener = posting.get()
        if message is None and listener is not None:
            self.listeners[stream_id] = listener
        return str(self._kept.add(self, stream_id, message))

    def stream(self, event: str) -> str | None:
        """The stream of an event; None if the event is no longer stored."""
        return self._kept.stream(self, _number(event))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Tell a stream again from an event on; its id, or None where nothing more will come.

        Nothing is awaited after the last event was found, so that the next event finds the stream open.
        """
        last = _number(last_event_id)
        stream = self._kept.stream(self, last)
        if stream is None:
            return None
        at, ended = last - 1, False
        while entries := self._kept.events_after(self, stream, at):
            for at, entry in entries:
                ended = entry.ends
                if at > last and entry.message is not None:
                    await send_callback(EventMessage(entry.message, str(at)))
        return None if ended else stream


def _number(event: str) -> int:
    return int(event) if event.isascii() and event.isdigit() and len(event) < 19 else 0


RESUMABLE: Final = "2025-11-25"
"""The first protocol version in which a server tells clients how to reconnect."""
_UNPRIMED = "2025-06-18"
_RETRY = 1000
"""Milliseconds after which a client should reconnect to a broken stream."""


class McpSessions(StreamableHTTPSessionManager):
    """All sessions of a server. ``patience`` are the seconds that a call waits for its client."""

    def __init__(
        self, server: SamServer, security: TransportSecuritySettings, patience: float
    ) -> None:
        super().__init__(
            server,
            security_settings=security,
            max_request_body_size=LARGEST,
            retry_interval=_RETRY,
        )
        self._patience = patience
        self._kept = StoredEvents()
        self._events: dict[str, SessionEvents] = {}

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        """Create a session with an event store of its own, as stream ids repeat between sessions."""
        self.event_store = events = SessionEvents(self._kept)
        transport = super()._admit_session(requestor)
        if transport is not None and transport.mcp_session_id is not None:
            self._events[transport.mcp_session_id] = events
        return transport

    async def _discard_session(
        self, session_id: str, transport: StreamableHTTPServerTransport
    ) -> None:
        events = self._events.pop(session_id, None)
        if events is not None:
            self._kept.forget(events)
        await super()._discard_session(session_id, transport)

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        events = self._events.get(_header(scope, MCP_SESSION_ID_HEADER))
        last = _header(scope, LAST_EVENT_ID_HEADER)
        if events is None or not is_version_at_least(events.agreed, RESUMABLE):
            await super()._handle_stateful_request(scope, receive, send)
        elif scope["method"] == "POST":
            # The version of the handshake counts, also if a request names another one.
            _set_version(scope, events.agreed)
            await self._posted(scope, receive, send)
        elif scope["method"] == "GET" and last:
            await self._resumed(events, last, scope, receive, send)
        else:
            await super()._handle_stateful_request(scope, receive, send)

    async def _posted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, whose call outlives its connection for as long as the patience lasts."""
        listener = StreamListener(self._patience)
        scope[GONE] = listener.left
        posting.set(listener)
        with listener.reading():
            await super()._handle_stateful_request(scope, receive, send)

    async def _resumed(
        self, events: SessionEvents, last: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Go on with a stream after the event that its client saw last."""
        stream = events.stream(last)
        if stream is None:
            await refuse(400, "Events after this one are no longer stored.", send)
            return
        # Opened again, a stream needs no event that says so: to send one, the SDK would await
        # between the last event that is kept and the first that is live, and lose what comes then.
        _set_version(scope, _UNPRIMED)
        listener = events.listeners.get(stream)
        with listener.reading() if listener is not None else nullcontext():
            await super()._handle_stateful_request(scope, receive, send)


def _header(scope: Scope, name: str) -> str:
    key = name.encode()
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return next((value.decode("latin-1") for header, value in headers if header == key), "")


def _set_version(scope: Scope, version: str) -> None:
    key = MCP_PROTOCOL_VERSION_HEADER.encode()
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    others = [(name, value) for name, value in headers if name != key]
    scope["headers"] = [*others, (key, version.encode())]
