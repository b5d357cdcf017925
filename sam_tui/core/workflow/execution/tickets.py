"""Tickets: everything a driver needs to work on an open step, with the token that finishes it.

A token is base64url, without padding, of ``{"execution_id", "step_name", "issued_at", "nonce"}``, with 256
random bits: seed 003's readable shape. Clients may read it. Nothing in it is believed: what counts is the
row that its hash finds.
"""

import base64
import binascii
import hashlib
import json
import secrets
from datetime import datetime
from typing import Any, cast

from sam_tui.core.clock import iso
from sam_tui.core.ports.workflows import AttemptRow, TaskRow, TokenRow
from sam_tui.core.workflow.definitions.references import fill, fill_text
from sam_tui.core.workflow.definitions.stages import FORM
from sam_tui.core.workflow.execution.case import ExecutionCase, Transaction, pinned_text
from sam_tui.core.workflow.execution.context import revision_briefing
from sam_tui.core.workflow.views import Ticket, WorkflowRefused

LIFETIME = 86_400.0
"""Seconds for which a token is valid (seed 003)."""
OUTSTANDING = 8
"""The most valid tokens of one attempt; for a new one, the oldest is revoked."""
_LONGEST = 4096


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
    return token, TokenRow(token_hash(token), execution, step, attempt, now, now + LIFETIME)


def token_hash(token: str) -> str:
    """The SHA-256 that a token is stored by, with or without the padding that a client may add."""
    return hashlib.sha256(token.rstrip("=").encode("utf-8", "surrogatepass")).hexdigest()


def read_token(token: str) -> dict[str, str]:
    """Return the texts in a token by name. Raises ``WorkflowRefused`` (``token_malformed``)."""
    try:
        if not token or len(token) > _LONGEST or not token.isascii():
            raise ValueError("empty, too long or not ASCII")
        bare = token.rstrip("=")
        raw = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
        value: object = json.loads(raw)
        fields = cast("dict[str, Any]", value if isinstance(value, dict) else {})
        names = ("execution_id", "step_name", "issued_at", "nonce")
        if not all(isinstance(fields.get(name), str) and fields[name] for name in names):
            raise ValueError("a field is missing")
        datetime.fromisoformat(fields["issued_at"])
        return {name: fields[name] for name in names}
    except (ValueError, binascii.Error, RecursionError) as error:
        raise WorkflowRefused(
            "token_malformed",
            "That is not a continuation token.",
            hint="Send the token of the step exactly as you received it.",
        ) from error


def redeem(
    transaction: Transaction, token: str, execution_id: str = ""
) -> tuple[ExecutionCase, AttemptRow]:
    """The case and open attempt of a good token. Raises ``WorkflowRefused`` for any other."""
    now = transaction.now
    row = transaction.unit.token(token_hash(token))
    if row is None:
        raise refused_token("token_forged", "That token was never issued.")
    if execution_id and row.execution != execution_id:
        raise refused_token("token_foreign", "That token is of another execution.")
    if row.used_at is not None:
        raise refused_token("token_replayed", "That token was used already.", step=row.step)
    case = ExecutionCase.load(transaction, row.execution)
    case.require_running()
    if row.revoked:
        why = f"That token is no longer valid: {row.revoked}."
        raise refused_token("token_revoked", why, step=row.step)
    if now >= row.expires_at:
        raise refused_token("token_expired", "That token is older than 24 hours.", step=row.step)
    if now < row.issued_at - LIFETIME:
        why = "That token is more than 24 hours ahead: the clock was set back."
        raise refused_token("token_expired", why, step=row.step)
    return case, case.require_open(row.step, row.attempt)


def refused_token(code: str, message: str, **step: str) -> WorkflowRefused:
    """The refusal of a token; its details name the ``step`` of one that was issued for this execution."""
    return WorkflowRefused(code, message, hint="Read the current step for a valid token.", **step)


def issue(case: ExecutionCase, attempt: AttemptRow) -> Ticket:
    """A ticket with a fresh token; the oldest unused ones of the attempt are revoked."""
    case.unit.revoke_tokens(attempt.id, "too many tokens", keep=OUTSTANDING - 1)
    token, row = mint_token(case.row.id, attempt.step, attempt.id, case.now)
    case.unit.save(row)
    case.record("token_generated", attempt.step, attempt.id)
    return describe(case, attempt, token, row.expires_at)


def describe(
    case: ExecutionCase, attempt: AttemptRow, token: str = "", expires_at: float = 0.0
) -> Ticket:
    """A ticket, with a token or without."""
    spec = case.spec(attempt.step)
    task = case.item(attempt) if spec.each else None
    scope = case.scope(attempt.step, task)
    scope["inputs"] = inputs = fill(spec.inputs, scope)
    persona = str(fill(spec.persona, {"params": case.row.params}) or "")
    pin = case.pins.get(persona)
    return Ticket(
        execution_id=case.row.id,
        workflow=case.row.workflow,
        step=attempt.step,
        spec=spec,
        attempt=attempt.number,
        token=token,
        expires_at=expires_at,
        persona=persona,
        persona_text=pinned_text(case.unit, pin) if pin else "",
        instructions=instructions(case, attempt.step, scope, task),
        inputs=inputs,
        arguments=fill(spec.arguments, scope),
        deadline=attempt.deadline,
        task=task,
    )


def instructions(
    case: ExecutionCase, step: str, scope: dict[str, object], task: TaskRow | None
) -> str:
    """Return the task of a step: the workflow's text, the step's, its item, and why it is tried again."""
    spec, row = case.spec(step), case.steps[step]
    parts = [fill_text(spec.prompt, scope) or spec.description]
    if spec.prompt and spec.description:
        parts.insert(0, spec.description)
    if not spec.prompt and case.definition.content:
        parts.append(case.definition.content)
    if spec.inputs:
        parts.append("Inputs:\n" + json.dumps(scope["inputs"], ensure_ascii=False, indent=2))
    if task is not None:
        item = task.payload
        described = bool(set(item) - {"title"})
        text = json.dumps(item, ensure_ascii=False) if described else task.title
        parts.append(f"Item {task.position + 1}: {text}")
    if row.error:
        parts.append(f"The last attempt failed: {row.error}")
    if spec.kind == "plan":
        parts += [*_planning(case, step), revision_briefing(case, step)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _planning(case: ExecutionCase, step: str) -> list[str]:
    """Return the capabilities that a planner may name, and the form of its answer."""
    if case.spec(step).form != "stages":
        return []
    lines: list[str] = []
    for capability in case.capabilities:
        lines.append(f"- {capability.role}: {capability.description}")
        lines += [f"  - {name}: {about}" for name, about in capability.tools.items()]
        if capability.missing:
            lines.append(f"  - not there now: {', '.join(capability.missing)}")
    return ["\n".join(["Roles and their tools:", *lines]), FORM]
