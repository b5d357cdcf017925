"""How an execution goes on after a change: it begins, continues, is timed out, or takes a decision."""

import json
from dataclasses import replace

from sam_tui.core.ports.workflows import AttemptRow
from sam_tui.core.workflow.definitions.model import StepAction
from sam_tui.core.workflow.execution.case import ExecutionCase, require_next, require_running
from sam_tui.core.workflow.execution.completion import accept
from sam_tui.core.workflow.execution.plans import adopt, read_plan
from sam_tui.core.workflow.execution.readiness import settle
from sam_tui.core.workflow.execution.recovery import (
    cancel,
    end,
    fail_step,
    open_plan,
    reopen,
    rollback,
)
from sam_tui.core.workflow.execution.tickets import issue
from sam_tui.core.workflow.refusals import WorkflowRefused, require_choice
from sam_tui.core.workflow.views import Advanced, Failure, Outcome


def begin(case: ExecutionCase) -> None:
    """idle -> running: open the first steps."""
    case.move("running")
    case.record("workflow_started", workflow=case.row.workflow)
    settle(case)


def go_on(case: ExecutionCase) -> None:
    """Run again; what was open gets the time back that it was held up."""
    paused = max(0.0, case.now - case.row.updated_at)
    for attempt in case.attempts():
        if attempt.deadline is not None:
            case.unit.save_attempt(replace(attempt, deadline=attempt.deadline + paused))
    case.move("running")


def settled(case: ExecutionCase, *, reissue: bool = False, minted: bool = True) -> Advanced:
    """Open what can begin now, and say so; ``reissue`` gives out tickets for all that is open.

    Not ``minted``: no tickets are given out for what was opened.
    """
    settle(case)
    if reissue and case.row.state == "running":
        case.reopen_tickets()
    return advanced(case, "continued" if case.opened else "waiting", minted=minted)


def advanced(case: ExecutionCase, outcome: Outcome, *, minted: bool = True) -> Advanced:
    """What a verb did; ``outcome`` holds unless the case came to another one."""
    tickets = tuple(issue(case, attempt) for attempt in case.opened if minted)
    reached = case.outcome or outcome
    match case.row.state:
        case "completed" | "diverged" as state:
            reached = state
        case "failed" | "abandoned":
            reached = "failed"
        case _:
            pass
    return Advanced(
        case.row.id,
        case.row.workflow,
        case.row.state,
        reached,
        tickets,
        case.message,
        tuple(case.failures),
        case.target,
    )


def decide(case: ExecutionCase, choice: str) -> Advanced:
    """Answer the question that an execution is paused with. Raises ``WorkflowRefused``."""
    question = json.loads(case.row.question_json)
    step = question["step"]
    choice = require_choice(choice, question["choices"])
    case.change(question_json="")
    case.record("question_answered", step, choice=choice)
    if choice == "abort":
        end(case, "failed", question["prompt"])
        return advanced(case, "failed")
    go_on(case)
    if choice == "accept":
        accept(case, step)
    elif choice == "approve":
        case.record("plan_approved", step)
    elif choice == "retry":
        reopen(case, step, error=case.steps[step].error)
    else:
        target = choice.removeprefix("rollback:")
        rollback(case, case.steps[step], StepAction("rollback", target), counted=False)
    return settled(case)


def waits_for_approval(case: ExecutionCase) -> bool:
    """Whether it is paused with a plan that a person is to approve."""
    question = case.row.question_json
    return bool(question) and "approve" in json.loads(question)["choices"]


def require_no_plan(case: ExecutionCase) -> None:
    """Raise ``WorkflowRefused`` (``plan_unapproved``) where a plan waits for a person's approval."""
    if waits_for_approval(case):
        raise WorkflowRefused(
            "plan_unapproved",
            "The plan waits for approval.",
            hint="Decide with approve, retry or abort.",
            details={"execution_id": case.row.id},
        )


def replan(case: ExecutionCase, step: str, plan: object) -> Advanced:
    """Put a plan in the place of a plan step's. Raises ``WorkflowRefused``."""
    reviewed = waits_for_approval(case)
    if not reviewed:
        require_running(case.row.id, case.row.state)
    row = case.steps.get(step)
    if row is None or case.spec(step).kind != "plan" or row.status != "completed":
        raise WorkflowRefused(
            "step_not_plan",
            f"{step!r} is not a plan step that has a plan.",
            details={"execution_id": case.row.id, "step": step},
        )
    read_plan(case, step, plan)
    if not reviewed and case.row.replans >= case.definition.policy.replans:
        raise WorkflowRefused(
            "replans_exhausted",
            f"The replan budget of {case.definition.policy.replans} is used up.",
            details={"execution_id": case.row.id},
        )
    children = [r.id for r in case.living() if r.parent == step]
    cancel(case, children, "a new plan was made")
    case.change(replans=case.row.replans + (not reviewed))
    adopt(case, step, plan)
    case.reach("replanned")
    return advanced(case, "replanned") if reviewed else settled(case)


def plan_again(case: ExecutionCase, step: str, why: str) -> Advanced:
    """A person wants another plan. Raises ``WorkflowRefused``."""
    if step not in case.steps or case.spec(step).kind != "plan":
        raise WorkflowRefused("step_not_plan", f"{step!r} is not a plan step.")
    reason = why.strip() or "a person asked for another plan"
    if case.row.state != "running":
        require_next(case.row.id, case.row.state, "running")
        case.change(question_json="")
        go_on(case)
    case.record("replan_asked", step, plan=step, fingerprint="", error=reason)
    open_plan(case, step, reason)
    return settled(case)


def overdue(case: ExecutionCase, attempt: AttemptRow | None = None) -> bool:
    """Whether an attempt, or the execution as a whole, has taken too long."""
    late = attempt is not None and attempt.deadline is not None and case.now > attempt.deadline
    return late or bool(_expired(case))


def time_out(case: ExecutionCase, attempt: AttemptRow | None) -> Advanced:
    """Too late: the attempt is timed out, or the whole execution has failed."""
    if reason := _expired(case):
        end(case, "failed", reason)
        return advanced(case, "failed")
    assert attempt is not None
    case.record("step_timed_out", attempt.step, attempt.id)
    failure = Failure("timeout", "it took too long", {"code": "step_timed_out"})
    fail_step(case, attempt, (failure,), status="timed_out")
    return settled(case)


def _expired(case: ExecutionCase) -> str:
    """Why an execution that runs has taken too long as a whole; empty while it has not."""
    limit = case.definition.policy.timeout
    if limit is None or case.row.started_at is None:
        return ""
    over = case.now > case.row.started_at + limit
    return f"it took longer than {limit:g} seconds" if over else ""
