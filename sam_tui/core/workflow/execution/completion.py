"""The completion of a step: its guards, artifacts and successors, or its acceptance by a person."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sam_tui.core.ids import mint
from sam_tui.core.ports.workflows import (
    ArtifactRow,
    AttemptRow,
    EventQuery,
    EvidenceRow,
    FindingRow,
    WorkflowUnit,
)
from sam_tui.core.workflow.definitions.model import sha256
from sam_tui.core.workflow.definitions.references import fill_text
from sam_tui.core.workflow.execution.case import ExecutionCase
from sam_tui.core.workflow.execution.guards import Scene, judge
from sam_tui.core.workflow.execution.output import ArtifactDraft, FindingDraft, StepOutput
from sam_tui.core.workflow.execution.plans import adopt, plan_items, read_plan
from sam_tui.core.workflow.execution.recovery import PLAN_CHOICES, ask, end, fail_step
from sam_tui.core.workflow.views import Failure, WorkflowRefused


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call in a conversation's record: operation, subject and outcome."""

    conversation: str
    operation: str
    subject: str
    ok: bool
    exit_code: int | None
    text: str


def finish(case: ExecutionCase, attempt: AttemptRow, output: StepOutput) -> None:
    """Take a step's output: complete the step, or handle its failure."""
    step, stored = attempt.step, output.stored()
    spec = case.spec(step)
    attempt = replace(attempt, output_json=json.dumps(stored, ensure_ascii=False))
    _keep(case, attempt, output)
    scope = {**case.scope(step, case.item(attempt)), "output": stored}
    evidence = case.unit.evidence(case.row.id, attempt=attempt.id)
    # Seed 000 has a field of its own for the claim that all is done.
    claimed = stored.get("verification_passed", output.success) is True
    scene = Scene(scope, evidence, case.tasks, claimed=claimed)
    judged = judge(spec.guards, scene)
    failures = judged.failures
    if not output.success:
        reported = Failure("success", output.summary or "it was reported as failed", {})
        failures = (reported, *failures)
    if failures:
        on_fail = judged.on_fail if output.success else None
        fail_step(case, attempt, failures, on_fail=on_fail, percent=judged.percent)
        return
    if spec.kind == "plan" and plan_items(stored) == []:
        _give_up_plan(case, attempt, output.summary)
        return
    complete(case, attempt)
    review = spec.review and fill_text(spec.review, case.scope(step)).lower()
    if review == "true" and not case.unit.events(EventQuery(case.row.id, "plan_approved", step)):
        ask(case, step, "Carry out the plan?", choices=PLAN_CHOICES)


def _give_up_plan(case: ExecutionCase, attempt: AttemptRow, why: str) -> None:
    """An empty plan says that the task cannot be achieved: an outcome, with its reason."""
    reason = why.strip() or "the planner made an empty plan and gave no reason"
    if not reason.lower().startswith("not achievable"):
        reason = f"not achievable: {reason}"
    case.close_attempt(attempt, "completed")
    row = replace(case.steps[attempt.step], status="failed", error=reason, completed_at=case.now)
    case.put(row)
    case.record("plan_unachievable", attempt.step, attempt.id, reason=reason)
    end(case, "failed", reason)


def complete(case: ExecutionCase, attempt: AttemptRow) -> None:
    """The attempt succeeded with its output: its item, or its step, is done, and its plan adopted."""
    row, text = case.steps[attempt.step], attempt.output_json
    case.close_attempt(attempt, "completed")
    seconds = round(case.now - attempt.started_at, 3)
    if attempt.task is not None:
        case.mark_item(attempt, "completed")
        case.put(row, error="")
        case.record("task_completed", row.id, attempt.id, task=attempt.task, seconds=seconds)
        return
    case.put(row, status="completed", output_json=text, error="", completed_at=case.now)
    case.record("step_completed", row.id, attempt.id, seconds=seconds)
    if case.spec(row.id).kind == "plan":
        adopt(case, row.id, read_plan(case, row.id, plan_items(attempt.output or {})))


def _keep(case: ExecutionCase, attempt: AttemptRow, output: StepOutput) -> None:
    """Store artifacts and findings, whatever the guards decide."""
    for draft in output.artifacts:
        keep_artifact(case, attempt, draft)
    titles = (("".join(text.strip().splitlines()[:1])[:200], text) for text in output.findings)
    drafts = [FindingDraft(title=title, content=text) for title, text in titles if title]
    for draft in (*drafts, *output.suggested_findings):
        source = draft.source_agent or case.spec(attempt.step).persona
        origin = {"source_execution_id": case.row.id, "step": attempt.step, "source_agent": source}
        suggested = draft.model_copy(update={**origin, "accepted": False})
        row = save_finding(case.unit, suggested, case.now)
        case.record("finding_added", row.step, attempt.id, finding=row.id, severity=row.severity)


def keep_artifact(case: ExecutionCase, attempt: AttemptRow, draft: ArtifactDraft) -> ArtifactRow:
    """Store an artifact with its text."""
    size = len(draft.content.encode("utf-8", "surrogatepass"))
    metadata = json.dumps(draft.metadata, ensure_ascii=False)
    row = ArtifactRow(
        mint("art"), case.row.id, attempt.step, attempt.id, draft.type,
        draft.name or draft.title or "unnamed", draft.content_type, size,
        sha256(draft.content), metadata, case.now,
    )  # fmt: skip
    case.unit.save_artifact(row, draft.content)
    case.record("artifact_stored", attempt.step, attempt.id, artifact=row.id, name=row.name)
    return row


def save_finding(unit: WorkflowUnit, draft: FindingDraft, now: float) -> FindingRow:
    """Store a new finding."""
    row = FindingRow(
        mint("fnd"), draft.source_execution_id, draft.step, draft.scope, draft.project_id,
        draft.category, draft.severity, draft.title, draft.content,
        json.dumps(list(draft.tags), ensure_ascii=False), "active",
        "accepted" if draft.accepted else "suggested", draft.source_agent, now, now,
    )  # fmt: skip
    unit.save(row)
    return row


def keep_evidence(case: ExecutionCase, calls: Sequence[RecordedCall]) -> None:
    """Store those calls as evidence that were made for open attempts of this execution."""
    for call in calls:
        attempt = case.unit.attempt_of(call.conversation)
        if attempt is None or attempt.execution != case.row.id:
            continue
        row = EvidenceRow(
            mint("evd"), attempt.execution, attempt.step, attempt.id, call.operation,
            call.subject[:2000], call.ok, call.exit_code, sha256(call.text), case.now,
        )  # fmt: skip
        case.unit.save(row)
        case.record("evidence_added", row.step, row.attempt, operation=row.operation, ok=row.ok)


def accept(case: ExecutionCase, step: str) -> None:
    """Accept the outcome of a failed step unchanged, for a person."""
    past = case.unit.attempts(case.row.id, step=step)
    stored: dict[str, object] = (past[-1].output if past else None) or {}
    if case.spec(step).kind == "plan" and not plan_items(stored):
        raise WorkflowRefused("choice_invalid", f"Step {step} has made no plan to accept.")
    stored["summary"] = stored.get("summary") or "Accepted by a person."
    stored["accepted"] = True
    row = case.steps[step]
    task = row.cursor if case.spec(step).each and row.cursor >= 0 else None
    attempt = case.open_attempt(replace(row, status="pending"), task)
    complete(case, replace(attempt, output_json=json.dumps(stored, ensure_ascii=False)))
