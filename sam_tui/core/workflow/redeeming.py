"""A token is presented: which open attempt it finishes, or what exactly is wrong with it."""

from sam_tui.core.ports.workflows import AttemptRow, WorkflowUnit
from sam_tui.core.workflow.case import ExecutionCase
from sam_tui.core.workflow.refusals import WorkflowRefused
from sam_tui.core.workflow.states import require_running
from sam_tui.core.workflow.tokens import LIFETIME, token_hash


def redeem(
    unit: WorkflowUnit, token: str, execution_id: str, now: float
) -> tuple[ExecutionCase, AttemptRow]:
    """The case and open attempt of a good token. Raises ``WorkflowRefused`` for any other."""
    row = unit.token(token_hash(token))
    if row is None:
        raise refused_token("token_forged", "That token was never given out.")
    if execution_id and row.execution != execution_id:
        raise refused_token("token_foreign", "That token is of another execution.")
    if row.used_at is not None:
        raise refused_token("token_replayed", "That token was used already.", row.step)
    case = ExecutionCase.load(unit, row.execution, now)
    require_running(row.execution, case.row.state)
    if row.revoked:
        raise refused_token("token_revoked", f"That token is void: {row.revoked}.", row.step)
    if now >= row.expires_at:
        raise refused_token("token_expired", "That token is older than 24 hours.", row.step)
    if now < row.issued_at - LIFETIME:
        why = "That token is from more than 24 hours ahead: the clock was put back."
        raise refused_token("token_expired", why, row.step)
    for attempt in case.attempts(step=row.step):
        if attempt.id == row.attempt:
            return case, attempt
    raise not_running(case, row.step)


def refused_token(code: str, message: str, step: str = "") -> WorkflowRefused:
    """The refusal of a token."""
    hint = "Read the current step for a token that is good."
    return WorkflowRefused(code, message, hint=hint, details={"step": step} if step else {})


def not_running(case: ExecutionCase, step: str) -> WorkflowRefused:
    """The refusal of work on a step that is not open: which are, and which was meant."""
    expected = [attempt.step for attempt in case.attempts()]
    return WorkflowRefused(
        "phase_mismatch" if expected or step not in case.steps else "step_not_running",
        f"Step {step} is not open now; open: {', '.join(expected) or 'none'}.",
        details={"expected": expected, "got": step},
    )
