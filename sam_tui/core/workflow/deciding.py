"""Which step a decision is about, and what taking a failed one as it is means."""

import json
from dataclasses import replace
from typing import Any

from sam_tui.core.workflow.case import ExecutionCase
from sam_tui.core.workflow.finishing import complete
from sam_tui.core.workflow.planning import adopt
from sam_tui.core.workflow.refusals import WorkflowRefused


def failed_step(case: ExecutionCase, step: str) -> str:
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


def accept(case: ExecutionCase, step: str) -> None:
    """A person takes the outcome of a failed step as it is."""
    past = case.unit.attempts(case.row.id, step=step)
    stored: dict[str, Any] = (
        json.loads(past[-1].output_json) if past and past[-1].output_json else {}
    )
    if case.spec(step).kind == "plan" and not stored.get("steps"):
        raise WorkflowRefused("choice_invalid", f"Step {step} has made no plan to accept.")
    stored["summary"] = stored.get("summary") or "Accepted by a person."
    stored["accepted"] = True
    row = case.steps[step]
    task = row.cursor if case.spec(step).each and row.cursor >= 0 else None
    attempt = case.open_attempt(replace(row, status="pending"), task)
    complete(case, attempt, stored)
    if case.spec(step).kind == "plan":
        adopt(case, step, stored["steps"])
