"""The verbs that create and steer an execution, each within one transaction.

``STEERING`` has those that steer by their names. ``create`` pins everything that an execution will need.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from sam_tui.core.ids import mint
from sam_tui.core.ports.workflows import ExecutionRow, StepQuestion, StepRow
from sam_tui.core.workflow.definitions.model import StepAction, WorkflowDefinition, sha256
from sam_tui.core.workflow.definitions.references import fill
from sam_tui.core.workflow.execution.case import ENDED, ExecutionCase, Transaction, require_next
from sam_tui.core.workflow.execution.completion import accept
from sam_tui.core.workflow.execution.plans import adopt, read_plan
from sam_tui.core.workflow.execution.progress import advanced, begin, settled
from sam_tui.core.workflow.execution.recovery import cancel, end, open_plan, reopen, rollback
from sam_tui.core.workflow.views import Advanced, VerbName, WorkflowRefused, require_choice

SPACING = 1000
"""The distance between the positions of two steps of a definition, which leaves room for planned steps."""
_NAMEABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""The form of an id that a caller may choose for an execution."""
_LARGEST = 200_000
"""The most characters of all parameters as JSON."""


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
        case.require_running("Open it again with retry.")
    _require_no_plan(case)
    if question := case.row.question:
        return _answer(case, question, "retry")
    _go_on(case)
    return settled(case, reissue=True)


def _abandon(case: ExecutionCase, reason: str) -> Advanced:
    """End it for good; open attempts are cancelled and their tokens revoked."""
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
        case.put(case.steps[target], cursor=-1)
    reopen(case, target, error=case.steps[target].error)
    case.record("step_reopened", target)
    done = settled(case)
    return replace(done, target=done.target or target)


def _decide(case: ExecutionCase, choice: str) -> Advanced:
    """Answer a paused execution's question: ``retry``, ``accept``, ``abort``, ``rollback:<step>``."""
    question = case.row.question
    if case.row.state != "paused" or question is None:
        message = f"Execution {case.row.id} has no open question."
        raise case.refusal("nothing_asked", message, state=case.row.state)
    return _answer(case, question, choice)


STEERING: Final[Mapping[VerbName, Callable[[ExecutionCase, str], Advanced]]] = {
    "pause": _pause,
    "resume": _resume,
    "abandon": _abandon,
    "retry": _retry,
    "decide": _decide,
}
"""The function of each of ``VERBS``, which gets the execution and the verb's word."""


def replan(case: ExecutionCase, step: str, plan: object) -> Advanced:
    """Put a plan in the place of a plan step's. Raises ``WorkflowRefused``."""
    reviewed = case.row.awaits_approval
    if not reviewed:
        case.require_running()
    row = case.steps.get(step)
    if row is None or case.spec(step).kind != "plan" or row.status != "completed":
        message = f"{step!r} is not a plan step that has a plan."
        raise case.refusal("step_not_plan", message, step=step)
    steps = read_plan(case, step, plan)
    most = case.definition.policy.replans
    if not reviewed and case.row.replans >= most:
        raise case.refusal("replans_exhausted", f"The replan budget of {most} is used up.")
    children = [r.id for r in case.living() if r.parent == step]
    cancel(case, children, "a new plan was made")
    case.change(replans=case.row.replans + (not reviewed))
    adopt(case, step, steps)
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
    """Withdraw the execution's question and let it run, unless it runs. Raises ``WorkflowRefused``."""
    if case.row.state != "running":
        case.change(question_json="")
        _go_on(case)


def _go_on(case: ExecutionCase) -> None:
    """Run again; open attempts get back the time for which they were held up."""
    paused = max(0.0, case.now - case.row.updated_at)
    for attempt in case.attempts():
        if attempt.deadline is not None:
            case.unit.save(replace(attempt, deadline=attempt.deadline + paused))
    case.move("running")


def _answer(case: ExecutionCase, question: StepQuestion, text: str) -> Advanced:
    """Answer the question that an execution is paused with. Raises ``WorkflowRefused``."""
    step = question.step
    choice = require_choice(text, question.choices)
    case.change(question_json="")
    case.record("question_answered", step, choice=choice)
    if choice == "abort":
        end(case, "failed", question.prompt)
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


def _require_no_plan(case: ExecutionCase) -> None:
    """Raise ``WorkflowRefused`` (``plan_unapproved``) where a plan waits for a person's approval."""
    if case.row.awaits_approval:
        hint = "Decide with approve, retry or abort."
        raise case.refusal("plan_unapproved", "The plan waits for approval.", hint=hint)


def _failed_step(case: ExecutionCase, step: str) -> str:
    """Return the step to open again: the named one, else the failed one. Raises ``WorkflowRefused``."""
    rows = case.living()
    if step:
        if any(row.id == step for row in rows):
            return step
        raise WorkflowRefused("step_unknown", f"There is no step {step!r}.")
    failed = [row.id for row in rows if row.status == "failed"]
    hurt = [row.id for row in rows if row.error and row.status != "completed"]
    names = [*failed, *hurt, *(attempt.step for attempt in case.attempts())]
    if not names:
        raise WorkflowRefused("nothing_failed", "No step failed.", hint="Name a step.")
    return names[0]


def create(
    transaction: Transaction,
    definition: WorkflowDefinition,
    params: Mapping[str, object],
    texts: Mapping[str, str],
    *,
    execution: str,
    conversation: str,
) -> ExecutionCase:
    """An idle execution with its steps, and the ``texts`` of its personas by name, which it pins.

    Raises ``WorkflowRefused``.
    """
    unit, now = transaction.unit, transaction.now
    identifier = execution or mint("exec")
    if not _NAMEABLE.fullmatch(identifier):
        raise WorkflowRefused(
            "execution_id_invalid",
            f"{identifier!r} cannot name an execution.",
            hint="Use 1 to 128 letters, digits, dots, dashes and underscores.",
        )
    if unit.execution(identifier) is not None:
        why = f"There is an execution {identifier} already."
        raise WorkflowRefused("execution_exists", why, execution_id=identifier)
    if conversation and (other := unit.driven_by(conversation)) is not None:
        raise WorkflowRefused(
            "conversation_busy",
            f"This conversation drives workflow {other.workflow} already ({other.id}).",
            hint="Finish or abandon that one first.",
            execution_id=other.id,
        )
    pins: dict[str, str] = {}
    for name in sorted(texts):
        pins[name] = sha256(texts[name])
        unit.pin(pins[name], texts[name])
    unit.pin(definition.fingerprint, definition.canonical)
    row = ExecutionRow(
        identifier, definition.name, definition.fingerprint, json.dumps(pins),
        json.dumps(params, ensure_ascii=False), "idle", "", conversation, 0, 0, "", now, None, now,
        None,
    )  # fmt: skip
    unit.save(row)
    for index, step in enumerate(definition.steps):
        unit.save(StepRow(identifier, step.id, (index + 1) * SPACING))
    case = ExecutionCase(transaction, row)
    case.record("workflow_created", workflow=definition.name, version=definition.fingerprint)
    return case


def checked_params(
    definition: WorkflowDefinition, params: Mapping[str, object]
) -> dict[str, object]:
    """Every parameter with its value or default. Raises ``WorkflowRefused`` (``params_invalid``)."""
    faults = [f"there is no parameter {name!r}" for name in params if name not in definition.params]
    values: dict[str, object] = {}
    for name, parameter in definition.params.items():
        value = params.get(name, parameter.default)
        if parameter.required and value in (None, ""):
            about = f" ({parameter.description})" if parameter.description else ""
            faults.append(f"{name} is missing{about}")
        if parameter.choices and value is not None and value not in parameter.choices:
            choices = ", ".join(map(str, parameter.choices))
            faults.append(f"{name} must be one of {choices}")
        values[name] = value
    try:
        if len(json.dumps(values, allow_nan=False)) > _LARGEST:
            faults.append(f"parameters are longer than {_LARGEST} characters")
    except (TypeError, ValueError, RecursionError):
        faults = ["parameters must be plain JSON"]
    if faults:
        raise WorkflowRefused(
            "params_invalid",
            f"Workflow {definition.name}: {'; '.join(faults)}.",
            hint=f"Parameters: {', '.join(definition.params) or 'none'}.",
            faults=faults,
        )
    return values


def needed_personas(
    definition: WorkflowDefinition, personas: Mapping[str, str], params: Mapping[str, object]
) -> dict[str, str]:
    """The texts of all personas that may be needed. Raises ``WorkflowRefused`` (``persona_unknown``)."""
    filled = (fill(step.persona, {"params": params}) for step in definition.steps if step.persona)
    named = set(map(str, filled))
    if missing := sorted(named - personas.keys()):
        raise WorkflowRefused(
            "persona_unknown",
            f"Workflow {definition.name} needs the persona {missing[0]!r}, which does not exist.",
            hint=f"There are: {', '.join(sorted(personas)) or 'none'}.",
            missing=missing,
        )
    # A plan may name any of them.
    return {name: text for name, text in personas.items() if definition.plans or name in named}
