"""The call of a tool step: noted before it is made, so that one that was cut off is not made again."""

from sam_tui.core.ports.workflows import AttemptRow, EventQuery
from sam_tui.core.workflow.case import ExecutionCase
from sam_tui.core.workflow.recovery import fail_step
from sam_tui.core.workflow.views import Failure

BEGAN, WITHDRAWN = "call_began", "call_withdrawn"


def begin_call(case: ExecutionCase, attempt: AttemptRow) -> bool:
    """Note the call; False where an earlier one of the attempt was cut off: a person decides then.

    Nobody knows what such a call did: making it again may have its effect twice, leaving it none.
    """
    if _noted(case, attempt, BEGAN) > _noted(case, attempt, WITHDRAWN):
        tool = case.spec(attempt.step).tool
        failure = Failure(
            "driver",
            f"{tool} was cut off: look whether it had its effect, then accept or retry",
            {},
        )
        fail_step(case, attempt, (failure,), on_fail="ask")
        return False
    case.record(BEGAN, attempt.step, attempt.id)
    return True


def _noted(case: ExecutionCase, attempt: AttemptRow, kind: str) -> int:
    """The number of the newest such event of an attempt; 0 for none."""
    query = EventQuery(case.row.id, kind, attempt.step, limit=1, newest=True)
    return next((e.seq for e in case.unit.events(query) if e.attempt == attempt.id), 0)
