"""The action after a failure or an interrupted call: retry, rollback, replan, ask or abort."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

from sam_tui.core.ports.workflows import AttemptRow, AttemptStatus, EventQuery, StepRow
from sam_tui.core.workflow.definitions.graph import ancestors, dependents
from sam_tui.core.workflow.definitions.model import OnFail, StepAction, parse_action, sha256
from sam_tui.core.workflow.execution.case import ExecutionCase
from sam_tui.core.workflow.views import Failure

CHOICES = ("retry", "accept", "abort")
PLAN_CHOICES = ("approve", "retry", "abort")
"""The choices for a plan that waits for approval; ``retry`` has it planned again."""


def fail_step(
    case: ExecutionCase,
    attempt: AttemptRow,
    failures: Sequence[Failure],
    *,
    on_fail: OnFail | None = None,
    percent: int | None = None,
    status: AttemptStatus = "failed",
) -> None:
    """End an attempt as failed and carry out the action of the guard, or else of the step."""
    error = "; ".join(failure.message for failure in failures)
    case.failures.extend(failures)
    case.close_attempt(attempt, status, error)
    spec = case.spec(attempt.step)
    row = case.put(case.steps[attempt.step], error=error)
    case.record("step_failed", row.id, attempt.id, error=error, guards=[f.guard for f in failures])
    action = chosen(on_fail or spec.on_fail, percent)
    match action.kind:
        case "retry":
            _retry(case, row, attempt)
        case "rollback":
            rollback(case, row, action)
        case "replan":
            _replan(case, row, attempt, failures)
        case "ask":
            _put_back(case, row, attempt)
            ask(case, row.id, f"Step {row.id} failed: {error}")
        case "abort":
            give_up(case, row, attempt)


def chosen(on_fail: OnFail, percent: int | None) -> StepAction:
    """The action that applies; of bands the first above the completed percentage."""
    if isinstance(on_fail, str):
        return parse_action(on_fail)
    share = 100 if percent is None else percent
    band = next((b for b in on_fail if share < b.below), on_fail[-1])
    return parse_action(band.do)


def rollback(
    case: ExecutionCase, row: StepRow, action: StepAction, *, counted: bool = True
) -> None:
    """Open an earlier step again, and everything after it afresh; or say that it is enough."""
    policy = case.definition.policy
    if counted and case.row.rollbacks >= policy.rollbacks:
        exhausted(case, row, f"the rollback budget of {policy.rollbacks} is used up")
        return
    if counted:
        case.change(rollbacks=case.row.rollbacks + 1)
    target = case.steps[action.target]
    reopen(case, target.id, error=row.error, previous=action.previous)
    case.record("rolled_back", row.id, target=target.id, previous=action.previous, error=row.error)
    case.reach("rolled_back", target.id)


def reopen(case: ExecutionCase, step: str, *, error: str, previous: bool = False) -> None:
    """Set a step and all steps that depend on it back to pending."""
    needs = case.needs()
    after = dependents(step, needs) & needs.keys()
    cancel(case, {step, *after}, "rolled back")
    for other in sorted(after):
        row = case.steps[other]
        if row.parent and (row.parent == step or row.parent in after):
            case.put(row, status="skipped")  # its plan is made anew
        elif row.status != "pending" or row.attempts:
            case.put(_fresh(row))
    row = case.steps[step]
    if not case.spec(step).each or row.cursor < 0:
        case.put(_fresh(row), error=error)
        return
    cursor = max(0, row.cursor - 1) if previous else row.cursor
    for task in case.tasks(step):
        if task.position == cursor or task.status != "completed":
            case.unit.save(replace(task, status="pending"))
    case.put(row, status="pending", tries=0, cursor=cursor, error=error, completed_at=None)


def cancel(case: ExecutionCase, steps: Collection[str] | None, why: str) -> None:
    """End the open attempts of some steps, or of all."""
    for attempt in case.attempts():
        if steps is None or attempt.step in steps:
            case.close_attempt(attempt, "cancelled", why)
            _put_back(case, case.steps[attempt.step], attempt)
            case.record("step_cancelled", attempt.step, attempt.id, reason=why)


def ask(case: ExecutionCase, step: str, prompt: str, *, choices: tuple[str, ...] = CHOICES) -> None:
    """Pause the execution and ask a person how to go on."""
    earlier = sorted(ancestors(step, case.needs()))
    backs = [f"rollback:{name}" for name in earlier if "/" not in name]
    question = {"step": step, "prompt": prompt, "choices": [*choices, *backs]}
    case.change(question_json=json.dumps(question, ensure_ascii=False))
    case.move("paused", prompt)
    case.record("question_asked", step, prompt=prompt)
    case.reach("asked")


def exhausted(case: ExecutionCase, row: StepRow, why: str) -> None:
    """A budget is used up: ask, abort or diverge, as the policy says."""
    message = f"step {row.id}: {row.error}; {why}" if row.error else f"step {row.id}: {why}"
    case.record("budget_exhausted", row.id, reason=why)
    # For a later decision the step is one that can be tried again.
    case.put(row, status="failed", completed_at=case.now)
    then = case.definition.policy.on_exhausted
    if then == "ask":
        ask(case, row.id, message)
    else:
        end(case, "diverged" if then == "diverge" else "failed", message)


def end(
    case: ExecutionCase, state: Literal["failed", "diverged", "abandoned"], reason: str
) -> None:
    """End the execution; open attempts are cancelled."""
    cancel(case, None, reason or state)
    for row in case.living():
        if row.status == "running":
            case.put(row, status="pending")
    case.change(question_json="")
    case.move(state, reason)


def give_up(case: ExecutionCase, row: StepRow, attempt: AttemptRow) -> None:
    """The step has failed for good, and with it the execution, at once or after what still runs."""
    case.mark_item(attempt, "failed")
    row = case.put(row, status="failed", completed_at=case.now)
    case.reach("failed")
    if case.definition.policy.on_failure == "fail-fast":
        end(case, "failed", f"step {row.id} failed: {row.error}")


def _retry(case: ExecutionCase, row: StepRow, attempt: AttemptRow) -> None:
    spec = case.spec(row.id)
    most = spec.attempts or (1 if spec.kind == "tool" else case.definition.policy.attempts)
    if row.tries < most:
        _put_back(case, row, attempt)
        case.record("step_retried", row.id, attempt.id, tries=row.tries)
        case.reach("retried")
        return
    if attempt.task is None:
        give_up(case, row, attempt)
        return
    # One failed item does not end the list: what it means is for the guards that follow.
    case.mark_item(attempt, "failed")
    case.put(case.steps[row.id], tries=0)
    case.reach("continued")


def _put_back(case: ExecutionCase, row: StepRow, attempt: AttemptRow) -> None:
    """The step, or its item, can be opened again."""
    case.mark_item(attempt, "pending")
    if attempt.task is None:
        case.put(row, status="pending")


def _replan(
    case: ExecutionCase, row: StepRow, attempt: AttemptRow, failures: Sequence[Failure]
) -> None:
    """Have the plan of a failed step made anew, after the step's own attempts."""
    spec = case.spec(row.id)
    if row.parent and spec.attempts is not None and row.tries < spec.attempts:
        _retry(case, row, attempt)
        return
    data = {"kind": failures[0].guard, "tool": spec.tool, "error": row.error}
    case.record("replan_due", row.id, attempt.id, **data)
    if case.definition.policy.on_failure == "finish-stage" and _beside(case, row):
        case.put(row, status="failed", completed_at=case.now)
        case.reach("failed")
        return
    replan(case, row)


def _beside(case: ExecutionCase, row: StepRow) -> bool:
    """Whether other steps of the same plan are being worked on."""
    beside = [r for r in case.living() if r.parent and r.parent == row.parent and r.id != row.id]
    return any(other.status == "running" for other in beside)


def replan(case: ExecutionCase, row: StepRow) -> None:
    """Open the plan that a failed step belongs to again, within both budgets."""
    policy = case.definition.policy
    plan = plan_of(case, row)
    due = case.unit.events(EventQuery(case.row.id, "replan_due", row.id, limit=1, newest=True))
    failed = due[0].data
    print_ = fingerprint(row.id, failed["tool"], failed["kind"], failed["error"])
    earlier = case.unit.events(EventQuery(case.row.id, type="replan_asked", limit=1000))
    same = sum(event.data.get("fingerprint") == print_ for event in earlier)
    if case.row.replans >= policy.replans:
        exhausted(case, row, f"the replan budget of {policy.replans} is used up")
        return
    if same >= policy.same_error:
        exhausted(case, row, f"the same error came back after {same} new plans")
        return
    case.change(replans=case.row.replans + 1)
    case.record("replan_asked", row.id, plan=plan, fingerprint=print_, error=row.error)
    open_plan(case, plan, f"{row.id}: {row.error}")


def open_plan(case: ExecutionCase, plan: str, error: str) -> None:
    """Have a plan step plan again: finished steps stay, everything else of it waits for the answer."""
    children = [r.id for r in case.living() if r.parent == plan]
    after = dependents(plan, case.needs()) - set(children)
    cancel(case, {plan, *children, *after}, "a new plan is made")
    for child in (case.steps[c] for c in children):
        if child.status not in ("completed", "skipped"):
            case.put(child, status="skipped")
    for other in after:
        if case.steps[other].status != "pending":
            case.put(_fresh(case.steps[other]))
    case.put(_fresh(case.steps[plan]), error=error)
    case.reach("replanned", plan)


def plan_of(case: ExecutionCase, row: StepRow) -> str:
    """The plan step that a step belongs to, or the last plan step before it."""
    if row.parent:
        return row.parent
    if case.spec(row.id).kind == "plan":
        return row.id
    before = ancestors(row.id, case.needs())
    plans = [r.id for r in case.living() if r.id in before and case.spec(r.id).kind == "plan"]
    return plans[-1]


def fingerprint(step: str, tool: str, kind: str, error: str) -> str:
    """Return an id of the error, the same whatever numbers, quoted texts and paths it has."""
    plain = re.sub(r"0x[0-9a-f]+|\d+|\"[^\"]*\"|'[^']*'|/\S+", "#", error.lower())
    return sha256(f"{step}\n{tool}\n{kind}\n{' '.join(plain.split())}")[:16]


def _fresh(row: StepRow) -> StepRow:
    return replace(
        row, status="pending", tries=0, cursor=-1, output_json="", error="", started_at=None,
        completed_at=None,
    )  # fmt: skip


BEGAN, WITHDRAWN = "call_began", "call_withdrawn"


def begin_call(case: ExecutionCase, attempt: AttemptRow) -> bool:
    """Note the call; False where an earlier one of the attempt was cut off: a person decides then.

    Nobody knows what such a call did: making it again may have its effect twice, leaving it none.
    """
    if _noted(case, attempt, BEGAN) > _noted(case, attempt, WITHDRAWN):
        tool = case.spec(attempt.step).tool
        failure = Failure(
            "driver", f"{tool} was cut off: check whether it took effect, then accept or retry", {}
        )
        fail_step(case, attempt, (failure,), on_fail="ask")
        return False
    case.record(BEGAN, attempt.step, attempt.id)
    return True


def _noted(case: ExecutionCase, attempt: AttemptRow, kind: str) -> int:
    """The number of the newest such event of an attempt; 0 for none."""
    query = EventQuery(case.row.id, kind, attempt.step, limit=1, newest=True)
    return next((e.seq for e in case.unit.events(query) if e.attempt == attempt.id), 0)
