"""Executions as people and clients read them: rows turned into views, totals from the definition."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, get_args

from sam_tui.core.ports.workflows import (
    ArtifactRow,
    EventQuery,
    EvidenceRow,
    ExecutionRow,
    FindingQuery,
    StepRow,
    StepStatus,
    WorkflowReader,
)
from sam_tui.core.usage import Usage
from sam_tui.core.workflow.definitions.model import Step, WorkflowDefinition
from sam_tui.core.workflow.definitions.references import fill
from sam_tui.core.workflow.execution.case import (
    living,
    needs_of,
    pinned_definition,
    spec_of,
    stored_execution,
)
from sam_tui.core.workflow.execution.context import working_context
from sam_tui.core.workflow.execution.output import SUMMARY
from sam_tui.core.workflow.gate import spelled
from sam_tui.core.workflow.views import (
    RUNNER,
    AttemptView,
    ExecutionView,
    Phase,
    StepView,
    TextChunk,
    WorkflowRefused,
)

SYNTHESIZE = "synthesize"
"""The name of the bundled workflow that answers again from the results."""
SERVICE_CHOSEN = "service_chosen"
"""The event of the choice of a task's AI service."""
TASK_MATCHED = "task_matched"
"""The event with the text of a task that a template matched."""
MOST_READ = 200_000
"""The most code points of an artifact that are read at once."""
_BRACKETS = str.maketrans("<>", "‹›")


@dataclass(frozen=True, slots=True)
class StoreMarks:
    """Marks that change with the store: its revision, newest event, and findings by scope and project."""

    revision: object
    last_event: int
    findings: Mapping[tuple[str, str], tuple[int, float]]


class WorkflowRecords:
    """Reads committed rows only; ``reader`` has them in their stored form."""

    def __init__(self, reader: WorkflowReader) -> None:
        self.reader = reader

    def execution(self, execution: str) -> ExecutionView:
        """One execution. Raises ``WorkflowRefused`` (``execution_unknown``)."""
        return self._view(stored_execution(self.reader, execution))

    def executions(self, *, state: str = "", limit: int = 50) -> tuple[ExecutionView, ...]:
        """Executions, newest first."""
        return tuple(self._view(r) for r in self.reader.executions(state=state, limit=limit))

    def steps(self, execution: str) -> tuple[StepView, ...]:
        """The steps that count, in order."""
        row, definition = self._pinned(execution)
        params, rows = row.params, living(self.reader.steps(execution))
        return tuple(self._step(definition, step, params) for step in rows)

    def plan(self, execution: str) -> tuple[Step, ...]:
        """Return the steps of an execution's plan as they were read; a template's are its own."""
        _, definition = self._pinned(execution)
        rows = living(self.reader.steps(execution))
        return tuple(spec_of(definition, r) for r in rows if r.parent or not definition.plans)

    def is_task(self, execution: str) -> bool:
        """Whether it is a task of seed 002: a planned one, a template, or a synthesis."""
        _, definition = self._pinned(execution)
        return definition.plans or bool(definition.matcher) or definition.name == SYNTHESIZE

    def service(self, execution: str) -> str:
        """The AI service that was chosen for a task; empty for none."""
        return self._noted(execution, SERVICE_CHOSEN, "service")

    def task(self, execution: str) -> str:
        """The words of a task that a template matched; empty for another execution."""
        return self._noted(execution, TASK_MATCHED, "task")

    def _noted(self, execution: str, type_: str, key: str) -> str:
        query = EventQuery(execution, type=type_, limit=1, newest=True)
        events = self.reader.events(query)
        return str(events[0].data.get(key, "")) if events else ""

    def task_folder(self, execution: str) -> str:
        """A task's folder among the saved tasks (seed 002, 3.9): by the day (UTC) on which it began."""
        created = stored_execution(self.reader, execution).created_at
        return f"tasks_{datetime.fromtimestamp(created, UTC):%m%d%Y}/{execution}"

    def summary(self, execution: str, digest: str) -> str:
        """The summary of a result by the SHA-256 of its text; empty where there is none."""
        for row in self.reader.artifacts(execution):
            if row.name == SUMMARY and row.metadata.get("originalContentHash") == digest:
                return self.read_artifact(row.id).text
        return ""

    def context(self, execution: str) -> dict[str, object]:
        """The present working context: progress, findings, questions, objective, errors."""
        return working_context(self.reader, stored_execution(self.reader, execution))

    def history(self, execution: str) -> tuple[AttemptView, ...]:
        """Every attempt, in order."""
        row, definition = self._pinned(execution)
        params = row.params
        specs = {r.id: spec_of(definition, r) for r in self.reader.steps(execution)}
        return tuple(
            AttemptView(**_fields(attempt), persona=_persona(specs[attempt.step], params))
            for attempt in self.reader.attempts(execution)
        )

    def artifacts(self, execution: str, step: str = "") -> Sequence[ArtifactRow]:
        """Artifacts of an execution without their text. Raises ``WorkflowRefused``."""
        stored_execution(self.reader, execution)
        return self.reader.artifacts(execution, step=step)

    def read_artifact(self, artifact: str, start: int = 0, length: int = MOST_READ) -> TextChunk:
        """A range of an artifact in code points. Raises ``WorkflowRefused`` (``artifact_unknown``)."""
        if self.reader.artifact(artifact) is None:
            raise WorkflowRefused("artifact_unknown", f"There is no artifact {artifact!r}.")
        start, length = max(0, start), min(max(0, length), MOST_READ)
        text, total = self.reader.artifact_text(artifact, start, length)
        return TextChunk(text, min(start, total), min(start, total) + len(text), total)

    def open_attempts(self, execution: str) -> set[tuple[str, int]]:
        """The open attempts of an execution that runs, by step and number."""
        if stored_execution(self.reader, execution).state != "running":
            return set()
        return {(a.step, a.number) for a in self.reader.attempts(execution, status="open")}

    def last_event(self) -> int:
        """The number of the newest event of all; it grows with every change. 0 before the first."""
        newest = self.reader.events(EventQuery(limit=1, newest=True))
        return newest[0].seq if newest else 0

    def marks(self, before: StoreMarks | None = None) -> StoreMarks:
        """The marks now: ``before`` itself, for one statement, where nothing was written since then."""
        revision = self.reader.revision()
        if before is not None and revision == before.revision:
            return before
        return StoreMarks(revision, self.last_event(), self.reader.finding_marks())

    def open_evidence(self, execution: str, step: str) -> Sequence[EvidenceRow]:
        """Return the recorded evidence of the open attempt at a step; empty if none is open."""
        attempts = self.reader.attempts(execution, step=step, status="open")
        return self.reader.evidence(execution, attempt=attempts[0].id) if attempts else ()

    def is_at_work(self, conversation: str) -> bool:
        """Whether a conversation works on a step or drives an execution."""
        reader = self.reader
        return bool(reader.attempt_of(conversation) or reader.driven_by(conversation))

    def phase(self, conversation: str) -> Phase | None:
        """The phase of a conversation: that of its claimed attempt, or of the execution it drives.

        It names the open step, or all of them when several are open in one conversation.
        """
        reader = self.reader
        attempt = reader.attempt_of(conversation)
        row = reader.execution(attempt.execution) if attempt else reader.driven_by(conversation)
        if row is None:
            return None
        attempts = [attempt] if attempt else reader.attempts(row.id, status="open")
        definition = pinned_definition(reader, row.version)
        rows = [reader.step(row.id, attempt.step) for attempt in attempts]
        lists = [spec_of(definition, step).allowed for step in filter(None, rows)]
        names = ", ".join(attempt.step for attempt in attempts) or "(none)"
        alone = any(attempt.driver == RUNNER for attempt in attempts)
        tools = tuple(dict.fromkeys(chain.from_iterable(filter(None, lists))))
        return Phase(
            row.id, row.workflow, names, None if None in lists else tools, row.state, alone
        )

    def digest(self, conversation: str) -> str:
        """The reminder: phase, tools, tasks, last failure, budgets and findings; empty without a phase."""
        phase = self.phase(conversation)
        return "" if phase is None else "\n".join(map(_line, self._reminder(phase)))

    def _reminder(self, phase: Phase) -> list[str]:
        view = self.execution(phase.execution_id)
        steps = self.steps(phase.execution_id)
        lines = [
            f"Workflow {view.workflow} ({view.id}): {view.state}, {view.progress} steps done.",
            f"Phase: {phase.step}. Tools allowed: {spelled(phase.tools)}. Others are refused.",
        ]
        if tasks := [t for step in steps if step.status == "running" for t in step.tasks]:
            done = sum(task.status == "completed" for task in tasks)
            current = next((t.title for t in tasks if t.status == "running"), "")
            lines.append(f"Tasks: {done}/{len(tasks)} completed. Now: {current}".rstrip())
        errors = [f"{step.id}: {step.error}" for step in steps if step.error]
        if errors:
            lines.append(f"Last failure: {errors[-1]}")
        lines.append(f"Left: {view.rollbacks_left} rollbacks, {view.replans_left} new plans.")
        findings = self.reader.findings(FindingQuery(view.id, status="active", limit=3))
        lines.extend(f"Finding ({row.severity}, {row.review}): {row.title}" for row in findings)
        if view.question is not None:
            lines.append(f"It waits for a decision: {view.question.prompt}")
        elif view.state == "running":
            lines.append(
                'When the phase is done: workflow {"operation": "advance", "output": {...}}.'
            )
        return lines

    def calls_left(self, execution: str) -> int | None:
        """Return how many model calls the budget still allows; None without a budget."""
        most = self._pinned(execution)[1].policy.model_calls
        return None if most is None else max(0, most - self.used(execution)[0])

    def used(self, execution: str) -> tuple[int, Usage]:
        """Return how many model calls an execution made, and their usage."""
        total, usage = 0, Usage()
        query = EventQuery(execution, type="model_used", limit=100_000)
        for event in self.reader.events(query):
            data = event.data
            total += data["calls"]
            usage = usage.plus(
                Usage(data["input_tokens"], output_tokens=data["output_tokens"], cost=data["cost"])
            )
        return total, usage

    def effectiveness(self, execution: str) -> float:
        """Return seed 001's measure, from how attempts ended and the evidence; 0.3 to 1.0."""
        value = 0.8
        backed = {e.attempt for e in self.reader.evidence(execution) if e.ok}
        for attempt in self.reader.attempts(execution):
            if attempt.status in ("failed", "timed_out"):
                value -= 0.1
            elif attempt.status == "completed" and attempt.id in backed:
                value += 0.1
            value = min(1.0, max(0.3, round(value, 2)))
        return value

    def _pinned(self, execution: str) -> tuple[ExecutionRow, WorkflowDefinition]:
        row = stored_execution(self.reader, execution)
        return row, pinned_definition(self.reader, row.version)

    def _view(self, row: ExecutionRow) -> ExecutionView:
        steps = living(self.reader.steps(row.id))
        policy = pinned_definition(self.reader, row.version).policy
        count = Counter(step.status for step in steps)
        return ExecutionView(
            **_fields(row),
            current=tuple(step.id for step in steps if step.status == "running"),
            totals={"total": len(steps), **{s: count[s] for s in get_args(StepStatus)}},
            rollbacks_left=max(0, policy.rollbacks - row.rollbacks),
            replans_left=max(0, policy.replans - row.replans),
            effectiveness=self.effectiveness(row.id),
        )

    def _step(
        self, definition: WorkflowDefinition, row: StepRow, params: Mapping[str, object]
    ) -> StepView:
        spec = spec_of(definition, row)
        listed = spec.each and row.cursor >= 0
        return StepView(
            **_fields(row),
            kind=spec.kind,
            persona=_persona(spec, params),
            description=spec.description,
            needs=needs_of(definition, row),
            tools=spec.allowed,
            tasks=tuple(self.reader.tasks(row.execution, row.id, row.revision)) if listed else (),
        )


def _line(text: str) -> str:
    """One line that cannot be a tag: much of it comes from models and files."""
    line = " ".join(text.split())
    return (line if len(line) <= 300 else line[:299] + "…").translate(_BRACKETS)


def _fields(row: Any) -> dict[str, Any]:
    """Return the fields of a row; ``asdict`` would copy every value."""
    return {name: getattr(row, name) for name in row.__slots__}


def _persona(spec: Step, params: Mapping[str, object]) -> str:
    return str(fill(spec.persona, {"params": params}) or "") if spec.persona else ""
