"""Names of things, as distinct types, and how new ones are made."""

import secrets
from datetime import UTC, datetime
from typing import NewType

ConversationId = NewType("ConversationId", str)
CallId = NewType("CallId", str)
InquiryId = NewType("InquiryId", str)
SessionId = NewType("SessionId", str)
"""A terminal session."""


def mint(prefix: str) -> str:
    """A fresh opaque id such as ``call_5f0c…``: 12 random bytes, unguessable, safe in a file name."""
    return f"{prefix}_{secrets.token_hex(12)}"


def mint_conversation() -> ConversationId:
    """A fresh conversation id that sorts by the time it was made (UTC, to the second)."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return ConversationId(f"{stamp}-{secrets.token_hex(4)}")
