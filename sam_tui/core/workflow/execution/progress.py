"""Progress of an execution after a change: steps that can begin are opened in order, late ones end."""

import json
from dataclasses import replace
from typing import cast

from sam_tui.core.ports.workflows import AttemptRow, StepRow, TaskRow
from sam_tui.core.workflow.definitions.references import ReferenceMissing, fill, fill_text
from sam_tui.core.workflow.execution.case import DONE, ENDED, ExecutionCase
from sam_tui.core.workflow.execution.guards import Scene, is_critical, judge, task_fields
from sam_tui.core.workflow.execution.recovery import chosen, end, fail_step, replan
from sam_tui.core.workflow.execution.tickets import issue
from sam_tui.core.workflow.views import Advanced, Failure, Outcome

MOST_ITEMS = 500


def begin(case: ExecutionCase) -> None:
    """idle -> running: open the first steps."""
    case.move("running")
    case.record("workflow_started", workflow=case.row.workflow)
    settle(case)


def settled(case: ExecutionCase, *, reissue: bool = False, minted: bool = True) -> Advanced:
    """Open what can begin now, and say so; ``reissue`` gives out tickets for all that is open.

    Not ``minted``: opened steps get no tickets.
    """
    settle(case)
    if reissue and case.row.state == "running":
        case.reopen_tickets()
    return advanced(case, "continued" if case.opened else "waiting", minted=minted)


def advanced(case: ExecutionCase, outcome: Outcome, *, minted: bool = True) -> Advanced:
    """Return the result of a verb; ``outcome`` holds unless the case came to another one."""
    tickets = tuple(issue(case, attempt) for attempt in case.opened if minted)
    state, reached = case.row.state, case.outcome or outcome
    if state in ENDED:
        reached = state if state in ("completed", "diverged") else "failed"
    return Advanced(
        case.row.id,
        case.row.workflow,
        state,
        reached,
        tickets,
        case.message,
        tuple(case.failures),
        case.target,
    )


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
    """Return why a running execution has taken too long as a whole; empty if it has not."""
    limit = case.definition.policy.timeout
    if limit is None or case.row.started_at is None:
        return ""
    over = case.now > case.row.started_at + limit
    return f"it took longer than {limit:g} seconds" if over else ""


def settle(case: ExecutionCase) -> None:
    """Open and skip steps until the execution waits for someone, or has ended."""
    while case.row.state == "running" and _settle_once(case):
        pass


def _settle_once(case: ExecutionCase) -> bool:
    """Make one change of state that is due; False if none is."""
    rows = case.living()
    running = [row for row in rows if row.status == "running"]
    idle = _idle_list(case, running)
    if idle is not None:
        _next_item(case, idle)
        return True
    if len(running) >= case.definition.policy.parallel:
        return False
    failed = [row for row in rows if row.status == "failed"]
    first = None if failed else _first_ready(case, running)
    if first is not None:
        _begin(case, first)
    elif running:
        return False
    else:
        _end(case, failed)
    return True


def _first_ready(case: ExecutionCase, running: list[StepRow]) -> StepRow | None:
    """The first pending step that may begin now: everything that it waits for is done."""
    done = {row.id for row in case.steps.values() if row.status in DONE}
    ready = [case.steps[s] for s, n in case.needs("pending").items() if done.issuperset(n)]
    return next((row for row in ready if _may_begin(case, row, running)), None)


def _idle_list(case: ExecutionCase, running: list[StepRow]) -> StepRow | None:
    """The first step that goes through a list and works on none of its items."""
    lists = [row for row in running if case.spec(row.id).each]
    busy = {attempt.step for attempt in case.attempts()} if lists else set[str]()
    return next((row for row in lists if row.id not in busy), None)


def _may_begin(case: ExecutionCase, row: StepRow, running: list[StepRow]) -> bool:
    """Whether it may run beside the running steps: within the limit, and none must run alone."""
    if not running:
        return True
    alone = any(not case.spec(other.id).parallel for other in [row, *running])
    return not alone and len(running) < case.definition.policy.parallel


def _begin(case: ExecutionCase, row: StepRow) -> None:
    spec = case.spec(row.id)
    if spec.when:
        scene = Scene(case.scope(row.id), (), case.tasks, claimed=False)
        unmet = judge(spec.when, scene).failures
        if unmet:
            case.put(row, status="skipped", completed_at=case.now)
            case.record("step_skipped", row.id, reason=unmet[0].message)
            return
    if spec.each:
        _begin_list(case, row)
        return
    case.open_attempt(row)
    _require_inputs(case, row.id)


def _begin_list(case: ExecutionCase, row: StepRow) -> None:
    """Take the list of a step that runs once for each item, or go on in the one it has."""
    if row.cursor >= 0:
        _next_item(case, row)
        return
    try:
        items = _items(case, row.id)
    except ReferenceMissing as missing:
        # An attempt that failed before it began.
        _fail(case, case.open_attempt(row), missing)
        return
    row = case.put(row, status="running", revision=row.revision + 1, cursor=0, tries=0)
    for position, item in enumerate(items):
        id_, title, payload = task_fields(item, position)
        case.unit.save(
            TaskRow(
                case.row.id, row.id, row.revision, position, id_, title, is_critical(payload),
                "pending", json.dumps(payload, ensure_ascii=False),
            )
        )  # fmt: skip
    case.record("list_begun", row.id, items=len(items))
    _next_item(case, row)


def _items(case: ExecutionCase, step: str) -> list[object]:
    """The list of a step that runs once for each item. Raises ``ReferenceMissing`` if there is none."""
    reference = case.spec(step).each
    value: object = fill(reference, case.scope(step))
    if value is None:
        return []
    if not isinstance(value, list):
        raise ReferenceMissing(f"{reference} is not a list")
    items = cast("list[object]", value)
    if len(items) > MOST_ITEMS:
        raise ReferenceMissing(f"{len(items)} items are more than {MOST_ITEMS}")
    return items


def _next_item(case: ExecutionCase, row: StepRow) -> None:
    """Open the next pending item from the cursor on, going round; none left completes the step."""
    tasks = case.tasks(row.id)
    ordered = [*tasks[row.cursor :], *tasks[: row.cursor]]
    task = next((t for t in ordered if t.status == "pending"), None)
    if task is None:
        completed = sum(t.status == "completed" for t in tasks)
        output = {
            "summary": f"{completed} of {len(tasks)} completed.",
            "completed": completed,
            "total": len(tasks),
            "tasks": [{"id": t.id, "title": t.title, "status": t.status} for t in tasks],
            "success": completed == len(tasks),
        }
        text = json.dumps(output, ensure_ascii=False)
        case.put(row, status="completed", output_json=text, error="", completed_at=case.now)
        case.record("step_completed", row.id, completed=completed, total=len(tasks))
        return
    if task.position != row.cursor:
        row = replace(row, tries=0)
    case.unit.save(replace(task, status="running"))
    case.open_attempt(row, task.position)
    _require_inputs(case, row.id, task)


def _require_inputs(case: ExecutionCase, step: str, task: TaskRow | None = None) -> None:
    """A step whose references have no value fails at once, naming the first of them."""
    spec = case.spec(step)
    try:
        scope = case.scope(step, task)
        scope["inputs"] = fill(spec.inputs, scope)
        fill_text(spec.prompt, scope)
        fill(spec.arguments, scope)
    except ReferenceMissing as missing:
        _fail(case, case.opened[-1], missing)


def _fail(case: ExecutionCase, attempt: AttemptRow, missing: ReferenceMissing) -> None:
    fail_step(case, attempt, [Failure("reference", str(missing), {"code": "reference_missing"})])


def _end(case: ExecutionCase, failed: list[StepRow]) -> None:
    """Make a new plan, complete or fail an execution in which nothing runs and nothing can begin."""
    for row in failed:
        # It waited for the steps that ran with it, to have its plan made anew.
        if row.parent and chosen(case.spec(row.id).on_fail, None).kind == "replan":
            replan(case, row)
            return
    if all(row.status in DONE for row in case.living()):
        case.move("completed")
        return
    why = f"step {failed[0].id} failed: {failed[0].error}" if failed else "no step can begin"
    case.move("failed", why)
