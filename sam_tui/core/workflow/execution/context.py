"""The working context of an execution (seed 002, 3.4), and the briefing of a planner whose plan failed.

The context is derived from the store; a model may have refined its words of progress and objective.
``confidenceScore`` is the share of steps that are done, less a tenth for each failed attempt, at least
0; ``confidenceBasis`` says so in figures.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sam_tui.core.ports.workflows import (
    AttemptRow,
    EventQuery,
    ExecutionRow,
    StepRow,
    WorkflowReader,
)
from sam_tui.core.workflow.definitions.model import Step
from sam_tui.core.workflow.definitions.references import ReferenceMissing, fill
from sam_tui.core.workflow.execution.case import ExecutionCase, living, pinned_definition, spec_of

DATA = 500
"""The most characters of a finding's data."""
FINDINGS, ERRORS, ENTITIES = 50, 20, 30
"""The most findings and errors, each the newest, and the most entities, the first ones."""
Fields = dict[str, object]
"""A JSON object."""
_ENTITY = re.compile(r"https?://[^\s\"'<>)\]]{3,200}|\b[\w-]+(?:/[\w.-]+)+\.\w{1,8}\b")

REFINED = "context_refined"
"""The event with a model's text for the context."""
_OUTPUT = 600
"""The most characters of an output."""
_PLAN = 8000
"""The most characters of the present plan."""
_ENDING = """\
Answer with the whole new plan. A step that is done keeps its outputs where it comes back unchanged: \
repeat it as it stands if later steps need it. Change, replace or add what the failure makes \
necessary; do not repeat what failed as it was. If the task cannot be achieved any more, answer \
{"steps": [], "summary": "not achievable, because ..."}."""


def working_context(reader: WorkflowReader, row: ExecutionRow) -> Fields:
    """Progress, findings, entities, questions, objective, confidence and errors, with the seed's names."""
    definition = pinned_definition(reader, row.version)
    steps = living(reader.steps(row.id))
    specs = {step.id: spec_of(definition, step) for step in steps}
    failed = [a for a in reader.attempts(row.id) if a.status in ("failed", "timed_out")]
    done = [s for s in steps if s.status == "completed"]
    counted = [s for s in steps if s.status != "skipped"]
    share = len(done) / len(counted) if counted else 0.0
    findings = [_finding(s, specs[s.id]) for s in done if specs[s.id].kind != "plan"]
    context: Fields = {
        "lastUpdatedAt": datetime.fromtimestamp(row.updated_at, UTC).isoformat(timespec="seconds"),
        "summaryOfProgress": _progress(done, counted, row),
        "keyFindings": findings[-FINDINGS:],
        "identifiedEntities": _entities(done),
        "pendingQuestions": _questions(row, steps, specs),
        "nextObjective": _objective(steps, specs),
        "confidenceScore": round(max(0.0, share - 0.1 * len(failed)), 2),
        "confidenceBasis": f"{len(done)} of {len(counted)} steps done, {len(failed)} failed attempts",
        "errorsEncountered": [_error(a, specs.get(a.step)) for a in failed[-ERRORS:]],
    }
    return context | _refined(reader, row.id)


def ended_attempts(attempts: Sequence[AttemptRow]) -> int:
    """Return how many attempts at steps of plans have ended, by which a refined context ages."""
    return sum(attempt.status != "open" and "/" in attempt.step for attempt in attempts)


def _refined(reader: WorkflowReader, execution: str) -> Fields:
    """Progress and objective in a model's words, as long as no step has ended since."""
    events = reader.events(EventQuery(execution, type=REFINED, limit=1, newest=True))
    data = events[0].data if events else {}
    if data.get("attempts") != ended_attempts(reader.attempts(execution)):
        return {}
    return {"summaryOfProgress": data["progress"], "nextObjective": data["objective"]}


def _progress(done: Sequence[StepRow], counted: Sequence[StepRow], row: ExecutionRow) -> str:
    names = ", ".join(step.id for step in done) or "none yet"
    plans = f"; {row.replans} new plans were made" if row.replans else ""
    return f"{len(done)} of {len(counted)} steps are done: {names}{plans}."


def _finding(row: StepRow, spec: Step) -> Fields:
    return {
        "findingId": row.id,
        "sourceStepNarrative": spec.description or spec.prompt[:200],
        "sourceToolName": spec.tool or spec.kind,
        "data": str((row.output or {}).get("summary", ""))[:DATA],
        "timestamp": row.completed_at,
    }


def _error(attempt: AttemptRow, spec: Step | None) -> Fields:
    return {
        "errorId": attempt.id,
        "sourceStep": attempt.step,
        "sourceStepNarrative": spec.description if spec else "",
        "sourceToolName": (spec.tool or spec.kind) if spec else "",
        "errorMessage": attempt.error[:DATA],
        "timestamp": attempt.ended_at,
    }


def _entities(done: Sequence[StepRow]) -> dict[str, list[str]]:
    """The addresses and files named in outputs, by the first step that named each."""
    seen: set[str] = set()
    named: dict[str, list[str]] = {}
    for row in done:
        for match in _ENTITY.finditer(row.output_json[:20_000]):
            entity = match[0].rstrip(".,;\\")
            if entity not in seen and len(seen) < ENTITIES:
                seen.add(entity)
                named.setdefault(row.id, []).append(entity)
    return named


def _questions(row: ExecutionRow, steps: Sequence[StepRow], specs: Mapping[str, Step]) -> list[str]:
    questions = [question.prompt] if (question := row.question) else []
    human = [s for s in steps if specs[s.id].kind == "human" and s.status == "running"]
    return questions + [specs[s.id].prompt or specs[s.id].description for s in human]


def _objective(steps: Sequence[StepRow], specs: Mapping[str, Step]) -> str:
    """The description of the running step, or of the next one."""
    for status in ("running", "pending"):
        for row in steps:
            if row.status == status:
                return specs[row.id].description or specs[row.id].prompt[:200] or row.id
    return ""


def revision_briefing(case: ExecutionCase, plan: str) -> str:
    """Return what led to the present revision of a plan step; empty for its first plan."""
    children = [row for row in case.living() if row.parent == plan]
    if not children:
        return ""
    left = case.definition.policy.replans - case.row.replans
    steps = [{"status": row.status, **_spec(row)} for row in children]
    parts = [
        f"This is revision {case.steps[plan].revision + 1} of the plan; {max(0, left)} more are left.",
        "Working context:\n" + _json(working_context(case.unit, case.row)),
        *_failures(case, plan),
        _outputs(children),
        "The plan as it stands:\n" + excerpt(_json(steps), _PLAN),
        _ENDING,
    ]
    return "\n\n".join(parts)


def _failures(case: ExecutionCase, plan: str) -> list[str]:
    """The last failure of a plan, and a line for each earlier one."""
    replans = case.unit.events(EventQuery(case.row.id, "replan_asked", limit=100))
    errors = [(event.step, event.data) for event in replans]
    failures = [(step, str(data["error"])) for step, data in errors if data["plan"] == plan]
    parts: list[str] = []
    if failures:
        parts.append("What failed:\n" + _json(_failed(case, *failures[-1])))
    if failures[:-1]:
        earlier = [f"- {step}: {error[:_OUTPUT]}" for step, error in failures[:-1]]
        parts.append("\n".join(["What failed before that:", *earlier]))
    return parts


def _outputs(children: Sequence[StepRow]) -> str:
    done = [row for row in children if row.status == "completed"]
    outputs = [f"- {r.id.rpartition('/')[2]}: {excerpt(r.output_json, _OUTPUT)}" for r in done]
    return "\n".join(["Done, with their outputs:", *(outputs or ["- nothing"])])


def _failed(case: ExecutionCase, step: str, error: str) -> Fields:
    """The failed step: role, tool, input and error message."""
    row = case.steps[step]
    spec = spec_of(case.definition, row)
    values: object = spec.arguments if spec.kind == "tool" else spec.inputs
    try:
        values = fill(values, case.scope(step))
    except ReferenceMissing:
        pass  # the message says which one, and the input stands as it was planned
    return {
        "step": step.rpartition("/")[2],
        "role": spec.persona or spec.kind,
        "tool": spec.tool,
        "input": excerpt(_json(values), _OUTPUT) if values else spec.prompt[:_OUTPUT],
        "message": error[: 2 * _OUTPUT],
    }


def _spec(row: StepRow) -> Fields:
    fields: Fields = json.loads(row.spec_json)
    return {k: v for k, v in fields.items() if (k, v) != ("on_fail", "replan")}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def excerpt(text: str, most: int) -> str:
    """Head and tail of a long text, and how much is missing between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} [... {len(text) - 2 * half} characters left out ...] {text[-half:]}"
