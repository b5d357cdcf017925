"""Continuation tokens: 256 random bits in seed 003's readable shape; only their hash is kept.

A token is base64url, without padding, of ``{"execution_id", "step_name", "issued_at", "nonce"}``.
Clients may read it. Nothing in it is believed: what counts is the row that its hash finds.
"""

import base64
import binascii
import hashlib
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from sam_tui.core.ports.workflows import TokenRow
from sam_tui.core.workflow.refusals import WorkflowRefused

LIFETIME = 86_400.0
"""Seconds a token is good for: seed 003."""
OUTSTANDING = 8
"""Unused tokens of one attempt that are good at the same time; older ones are revoked."""
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class TokenText:
    """What a token says about itself; ``issued_at`` is ISO 8601 in UTC."""

    execution_id: str
    step_name: str
    issued_at: str
    nonce: str


def mint_token(execution: str, step: str, attempt: str, now: float) -> tuple[str, TokenRow]:
    """A fresh token and the row to store for it."""
    text = {
        "execution_id": execution,
        "step_name": step,
        "issued_at": iso(now),
        "nonce": secrets.token_hex(32),
    }
    raw = json.dumps(text, ensure_ascii=False, separators=(",", ":")).encode()
    token = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return token, TokenRow(
        token_hash(token), execution, step, attempt, now, now + LIFETIME, None, ""
    )


def token_hash(token: str) -> str:
    """The SHA-256 that a token is stored by."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def read_token(token: str) -> TokenText:
    """What a token says. Raises ``WorkflowRefused`` (``token_malformed``)."""
    try:
        if not token or len(token) > _LONGEST or not token.isascii():
            raise ValueError("empty, too long or not ASCII")
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        value: Any = json.loads(raw)
        fields = cast("dict[str, Any]", value if isinstance(value, dict) else {})
        names = ("execution_id", "step_name", "issued_at", "nonce")
        if not all(isinstance(fields.get(name), str) and fields[name] for name in names):
            raise ValueError("a field is missing")
        datetime.fromisoformat(fields["issued_at"])
        return TokenText(*(fields[name] for name in names))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise WorkflowRefused(
            "token_malformed",
            "That is no continuation token.",
            hint="Send the token of the step exactly as it was given.",
        ) from error


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds: the one format of wire times."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
