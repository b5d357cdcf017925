"""Lists in pages: a cursor is opaque to clients, and one that is none is a protocol error."""

import base64
import binascii
from collections.abc import Sequence
from typing import Final, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

PAGE: Final = 100
"""Entries of a page, unless the server is told otherwise."""
T = TypeVar("T")


def page(
    entries: Sequence[T], params: types.PaginatedRequestParams | None, size: int
) -> tuple[list[T], str | None]:
    """One page and the cursor of the next. Raises ``MCPError`` for a cursor that was never given."""
    cursor = params.cursor if params is not None else None
    start = 0 if cursor is None else _start(cursor)
    if cursor is not None and not 0 < start < len(entries):
        raise _unknown()
    end = start + size
    return list(entries[start:end]), _cursor(end) if end < len(entries) else None


def _cursor(start: int) -> str:
    return base64.urlsafe_b64encode(f"from {start}".encode()).decode()


def _start(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor, altchars=b"-_", validate=True).decode("ascii")
    except (ValueError, binascii.Error):
        raise _unknown() from None
    head, _, number = text.partition(" ")
    if head != "from" or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise _unknown()
    return int(number)


def _unknown() -> MCPError:
    return MCPError(types.INVALID_PARAMS, "Unknown cursor: list again from the beginning")
