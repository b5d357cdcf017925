"""Names of things, as distinct types, and how new ones are made."""

import os
import re
from datetime import UTC, datetime
from typing import NewType

from sam_tui.core.errors import UsageError

ConversationId = NewType("ConversationId", str)
CallId = NewType("CallId", str)
InquiryId = NewType("InquiryId", str)
SessionId = NewType("SessionId", str)


_NAMEABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


NO_CONVERSATION = ConversationId("")
"""Where something happens outside of all conversations."""


def named_conversation(name: str) -> ConversationId:
    """An id that somebody chose, safe in a file name. Raises ``UsageError`` for any other."""
    if not _NAMEABLE.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a conversation's id.",
            hint="Use 1 to 128 letters, digits, dots, dashes and underscores; begin with a letter"
            " or digit.",
        )
    return ConversationId(name)


def mint(prefix: str) -> str:
    """A fresh opaque id such as ``call_5f0c…``: 12 random bytes, unguessable, safe in a file name."""
    return f"{prefix}_{os.urandom(12).hex()}"


def mint_conversation() -> ConversationId:
    """A fresh conversation id that sorts by the time it was made (UTC, to the second)."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return ConversationId(f"{stamp}-{os.urandom(4).hex()}")
