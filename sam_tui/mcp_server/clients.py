"""The callers: each client has one conversation, one log level, and perhaps a person to ask."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sam_tui.core.ids import ConversationId, mint_conversation

Context = ServerRequestContext[Any, Any]

CONVERSATION_META: Final = "sam-tui/conversation"
"""The ``_meta`` key by which a client may name the conversation that a request belongs to."""
DECISION_META: Final = "sam-tui/decision"
"""The ``_meta`` key of the guard's decision in a result; refusals always have it."""
STRUCTURED_META: Final = "sam-tui/structured"
"""The ``_meta`` key with which a client requests the data of a result."""
MOST: Final = 1000
"""The most clients that are remembered; the one without requests for the longest time is dropped first."""
_NAMEABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass
class Client:
    """One client. ``level`` is the least log level it wants to hear of."""

    key: str
    name: str
    conversation: ConversationId
    level: types.LoggingLevel = "warning"


class Clients:
    """All clients of one server, by their MCP session.

    On stdio there is one. Over HTTP the handshake makes a session; a request of protocol 2026-07-28 has
    none, so there the client's name is used.
    """

    def __init__(self, first: ConversationId | None = None) -> None:
        self._first = first
        self._known: OrderedDict[str, Client] = OrderedDict()

    def of(self, context: Context) -> Client:
        """The client that a request comes from. Raises ``MCPError`` for an unusable conversation."""
        key = _session(context)
        client = self._known.get(key)
        if client is None:
            conversation = self._first or mint_conversation()
            self._first = None
            client = self._known[key] = Client(key, _name(context), conversation)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        named = _named_conversation(context)
        if named is None or named == client.conversation:
            return client
        return Client(key, client.name, named, client.level)


def is_modern(context: Context) -> bool:
    """Whether a request is of protocol 2026-07-28, where a server cannot call its client."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_ask(context: Context) -> bool:
    """Whether the client shows forms to a person."""
    capabilities = context.session.client_capabilities
    offered = capabilities.elicitation if capabilities is not None else None
    if offered is None or (offered.form is None and offered.url is not None):
        return False
    return is_modern(context) or context.session.can_send_request


def wants_data(context: Context) -> bool:
    """Whether a call is a program's, which reads data beside the text."""
    return (context.meta or {}).get(STRUCTURED_META) is True


def _session(context: Context) -> str:
    request = context.request
    if request is None:
        return "stdio"
    session = request.headers.get("mcp-session-id")
    return f"session {session}" if session else f"client {_name(context)}"


def _name(context: Context) -> str:
    params = context.session.client_params
    return f"{params.client_info.name} {params.client_info.version}" if params else "unknown"


def _named_conversation(context: Context) -> ConversationId | None:
    name: object = (context.meta or {}).get(CONVERSATION_META)
    if name is None:
        return None
    if not isinstance(name, str) or not _NAMEABLE.fullmatch(name):
        raise MCPError(
            types.INVALID_PARAMS,
            f"_meta {CONVERSATION_META!r}: up to 128 letters, digits and - _ . are possible",
        )
    return ConversationId(name)
