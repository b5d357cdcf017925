"""Sessions over HTTP whose streams can be resumed: a call goes on while its client comes back."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import (
    LAST_EVENT_ID_HEADER,
    MCP_SESSION_ID_HEADER,
    StreamableHTTPServerTransport,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import is_version_at_least

from sam_tui.mcp_server.door import GONE, Receive, Scope, Send, refuse
from sam_tui.mcp_server.kept import SessionEvents, StoredEvents, StreamListener, posting
from sam_tui.mcp_server.protocol import SamServer

RESUMABLE: Final = "2025-11-25"
"""The first protocol version whose clients are told how to come back."""
_UNPRIMED = "2025-06-18"
_RETRY = 1000
"""Milliseconds after which a client whose stream broke should come back."""
_BODY = 16 * 1024 * 1024


class McpSessions(StreamableHTTPSessionManager):
    """All sessions of a server. ``patience`` are the seconds that a call waits for its client."""

    def __init__(
        self, server: SamServer, security: TransportSecuritySettings, patience: float
    ) -> None:
        super().__init__(
            server,
            security_settings=security,
            max_request_body_size=_BODY,
            retry_interval=_RETRY,
        )
        self._patience = patience
        self._kept = StoredEvents()
        self._events: dict[str, SessionEvents] = {}

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        """Each session gets events of its own: the ids of its streams are those of its requests."""
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
            # What the handshake agreed on counts, also where a request names another version.
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
            await refuse(400, "What came after this event is no longer kept.", send)
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
