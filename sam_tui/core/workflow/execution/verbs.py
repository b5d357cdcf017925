"""The verbs that steer an execution, each within one transaction; ``STEERING`` has them by name."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from sam_tui.core.workflow.definitions.model import StepAction
from sam_tui.core.workflow.execution.case import ENDED, ExecutionCase, require_next, require_running
from sam_tui.core.workflow.execution.completion import accept
from sam_tui.core.workflow.execution.plans import adopt, read_plan
from sam_tui.core.workflow.execution.progress import advanced, begin, settled
from sam_tui.core.workflow.execution.recovery import cancel, end, open_plan, reopen, rollback
from sam_tui.core.workflow.refusals import WorkflowRefused, execution_closed, require_choice
from sam_tui.core.workflow.views import Advanced, VerbName


def _pause(case: ExecutionCase, reason: str) -> Advanced:
    """Stop handing out work. Open attempts stay open; their tokens are refused meanwhile."""
    case.move("paused", reason)
    return advanced(case, "waiting")


def _resume(case: ExecutionCase, _: str) -> Advanced:
    """Go on after a pause, or begin an idle one; fresh tokens for every open step.

    A question that waits is withdrawn: the step it was about is tried again. Deadlines move on
    by the time it was paused.
    """
    if case.row.state == "idle":
        begin(case)
        return advanced(case, "started")
    require_next(case.row.id, case.row.state, "running")
    if case.row.state in ENDED:
        raise execution_closed(case.row.id, case.row.state, hint="Open it again with retry.")
    _require_no_plan(case)
    if case.row.question_json:
        return _answer(case, "retry")
    _go_on(case)
    return settled(case, reissue=True)


def _abandon(case: ExecutionCase, reason: str) -> Advanced:
    """End it for good; open attempts are cancelled and their tokens revoked."""
    require_next(case.row.id, case.row.state, "abandoned")
    end(case, "abandoned", reason)
    return advanced(case, "failed")


def _retry(case: ExecutionCase, step: str) -> Advanced:
    """Set a step and all that depend on it back to pending; without ``step`` the failed one.

    Works on running, paused, failed and diverged executions, but not while a plan waits for approval.
    """
    _require_no_plan(case)
    target = _failed_step(case, step)
    _run_again(case)
    if case.spec(target).each and case.steps[target].status == "completed":
        case.put(replace(case.steps[target], cursor=-1))
    reopen(case, target, error=case.steps[target].error)
    case.record("step_reopened", target)
    done = settled(case)
    return replace(done, target=done.target or target)


def _decide(case: ExecutionCase, choice: str) -> Advanced:
    """Answer a paused execution's question: ``retry``, ``accept``, ``abort``, ``rollback:<step>``."""
    if case.row.state != "paused" or not case.row.question_json:
        raise WorkflowRefused(
            "nothing_asked",
            f"Execution {case.row.id} has no open question.",
            details={"execution_id": case.row.id, "state": case.row.state},
        )
    return _answer(case, choice)


STEERING: Final[Mapping[VerbName, Callable[[ExecutionCase, str], Advanced]]] = {
    "pause": _pause,
    "resume": _resume,
    "abandon": _abandon,
    "retry": _retry,
    "decide": _decide,
}
"""What each of ``VERBS`` does with an execution and the verb's word."""


def replan(case: ExecutionCase, step: str, plan: object) -> Advanced:
    """Put a plan in the place of a plan step's. Raises ``WorkflowRefused``."""
    reviewed = _waits_for_approval(case)
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
    _run_again(case)
    case.record("replan_asked", step, plan=step, fingerprint="", error=reason)
    open_plan(case, step, reason)
    return settled(case)


def _run_again(case: ExecutionCase) -> None:
    """Withdraw what it asks and let it run, if it does not. Raises ``WorkflowRefused``."""
    if case.row.state != "running":
        require_next(case.row.id, case.row.state, "running")
        case.change(question_json="")
        _go_on(case)


def _go_on(case: ExecutionCase) -> None:
    """Run again; what was open gets the time back that it was held up."""
    paused = max(0.0, case.now - case.row.updated_at)
    for attempt in case.attempts():
        if attempt.deadline is not None:
            case.unit.save_attempt(replace(attempt, deadline=attempt.deadline + paused))
    case.move("running")


def _answer(case: ExecutionCase, text: str) -> Advanced:
    """Answer the question that an execution is paused with. Raises ``WorkflowRefused``."""
    question = json.loads(case.row.question_json)
    step = question["step"]
    choice = require_choice(text, question["choices"])
    case.change(question_json="")
    case.record("question_answered", step, choice=choice)
    if choice == "abort":
        end(case, "failed", question["prompt"])
        return advanced(case, "failed")
    _go_on(case)
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


def _waits_for_approval(case: ExecutionCase) -> bool:
    """Whether it is paused with a plan that a person is to approve."""
    question = case.row.question_json
    return bool(question) and "approve" in json.loads(question)["choices"]


def _require_no_plan(case: ExecutionCase) -> None:
    """Raise ``WorkflowRefused`` (``plan_unapproved``) where a plan waits for a person's approval."""
    if _waits_for_approval(case):
        raise WorkflowRefused(
            "plan_unapproved",
            "The plan waits for approval.",
            hint="Decide with approve, retry or abort.",
            details={"execution_id": case.row.id},
        )


def _failed_step(case: ExecutionCase, step: str) -> str:
    """The step to open again: the named one, else the one that failed. Raises ``WorkflowRefused``."""
    if step:
        if step in {row.id for row in case.living()}:
            return step
        raise WorkflowRefused("step_unknown", f"There is no step {step!r}.")
    failed = [row.id for row in case.living() if row.status == "failed"]
    hurt = [row.id for row in case.living() if row.error and row.status != "completed"]
    opened = [attempt.step for attempt in case.attempts()]
    for names in (failed, hurt, opened):
        if names:
            return names[0]
    raise WorkflowRefused("nothing_failed", "No step failed.", hint="Name a step.")
