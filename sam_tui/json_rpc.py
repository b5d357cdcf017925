"""JSON-RPC messages over lines. A line that is no message is answered here and not passed on.

The SDK's own reader ends at a line that is JSON and no object, and at an answer with an id that no
dictionary takes, so its connection gets only messages that were checked here.
"""

import json
from typing import Final, Protocol, cast

from sam_tui.line_pipes import LONGEST

Message = dict[str, object]
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INVALID_PARAMS: Final = -32602
_UNKNOWN_FAULT: Final = -32603


class LineStream(Protocol):
    """Whole lines in both directions."""

    async def read(self) -> bytes | None:
        """The next line without its end; None when the other side is gone."""
        ...

    async def write(self, line: bytes) -> None:
        """Write a line and its end. Raises ``OSError`` if the reader is gone."""
        ...


class MessageWire:
    """The transport of an SDK's connection: whole messages, until the other side is gone.

    With ``strays`` lines that are no message are passed over where no id says to whom an answer goes,
    because programs print things, and requests need not name their version, as SDKs of ACP read them.
    """

    def __init__(self, lines: LineStream, *, strays: bool = False) -> None:
        self._lines = lines
        self._strays = strays

    async def receive(self) -> Message | None:
        """The next message, or None at the end."""
        while (line := await self._lines.read()) is not None:
            message, fault = parsed(line, exact=not self._strays)
            if message is not None:
                return message
            if fault is not None and not (self._strays and fault["id"] is None):
                await self.send(fault)
        return None

    async def send(self, message: Message) -> None:
        """Write a message. Raises ``OSError`` when nobody reads any more."""
        await self._lines.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))

    async def close(self) -> None:
        """Do nothing: the lines belong to the caller that opened them."""


def parsed(line: bytes, *, exact: bool = True) -> tuple[Message | None, Message | None]:
    """The message of a line, or the answer to a line that is none. Neither: there is nothing to say.

    With ``exact`` a request must name its version (JSON-RPC 2.0, section 4), as our MCP server demands.
    """
    if not line.strip():
        return None, None
    if len(line) > LONGEST:
        return None, _fault(None, _PARSE_ERROR, f"Parse error: longer than {LONGEST} bytes")
    try:
        value: object = json.loads(line.decode("utf-8"))
    except RecursionError:
        return None, _too_deep(line)
    except ValueError:
        return None, _fault(None, _PARSE_ERROR, "Parse error: a line is one JSON object in UTF-8")
    if not isinstance(value, dict):
        return None, _fault(None, _INVALID_REQUEST, "Invalid request: send one JSON object a line")
    fields = cast("Message", value)
    if not _is_text(line, fields):
        return None, _fault(_id(fields), _INVALID_REQUEST, "Invalid request: a half of a surrogate")
    if "method" in fields:
        return _request(fields, exact=exact)
    if "result" in fields or "error" in fields:
        return _answer(fields), None
    return None, _fault(_id(fields), _INVALID_REQUEST, "Invalid request: there is no method")


def _too_deep(line: bytes) -> Message | None:
    """Return the answer to a request that nests too deep; none for one without an id."""
    from sam_tui.json_depth import shallow

    try:
        value: object = json.loads(shallow(line))
    except (ValueError, RecursionError):
        return _fault(None, _PARSE_ERROR, "Parse error: nested too deep")
    fields = cast("Message", value) if isinstance(value, dict) else {}
    if "method" in fields and "id" not in fields:
        return None
    return _fault(_id(fields), _INVALID_REQUEST, "Invalid request: nested too deep")


def _request(fields: Message, *, exact: bool) -> tuple[Message | None, Message | None]:
    identifier = _id(fields)
    if exact and fields.get("jsonrpc") != "2.0":
        return None, _fault(identifier, _INVALID_REQUEST, 'Invalid request: "jsonrpc" is "2.0"')
    if not isinstance(fields["method"], str) or ("id" in fields and identifier is None):
        fault = "Invalid request: method is a string, id a string or a whole number"
        return None, _fault(identifier, _INVALID_REQUEST, fault)
    if not isinstance(fields.get("params", {}), dict):
        if identifier is None:
            return None, None
        return None, _fault(identifier, _INVALID_PARAMS, "Invalid params: send an object")
    return fields, None


def _answer(fields: Message) -> Message | None:
    """An answer to a question of ours, its error of the form that JSON-RPC has; None for any other."""
    identifier = fields.get("id")
    if type(identifier) is not int:  # True and 1.0 would be found where 1 is
        return None
    if "error" not in fields:
        return {"id": identifier, "result": fields["result"]}
    error = fields["error"]
    text = cast("Message", error).get("message") if isinstance(error, dict) else None
    words = text if isinstance(text, str) else "Error"
    return {"id": identifier, "error": {"code": _UNKNOWN_FAULT, "message": words}}


def _is_text(line: bytes, fields: Message) -> bool:
    """Whether UTF-8 has bytes for all that a line escapes; nothing else here could keep the rest."""
    if b"\\ud" not in line.lower():
        return True
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _id(fields: Message) -> str | int | None:
    identifier = fields.get("id")
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        return None
    return identifier


def _fault(identifier: str | int | None, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": text}}
