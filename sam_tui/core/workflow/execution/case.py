"""An execution within one transaction: rows, definition, events and transitions of state."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from sam_tui.core.ids import mint
from sam_tui.core.ports.workflows import (
    AttemptRow,
    AttemptStatus,
    EventRow,
    ExecutionRow,
    ExecutionState,
    StepRow,
    TaskRow,
    TaskStatus,
    WorkflowReader,
    WorkflowUnit,
)
from sam_tui.core.workflow.definitions.model import Step, WorkflowDefinition
from sam_tui.core.workflow.definitions.stages import Capability, read_capabilities
from sam_tui.core.workflow.views import Failure, Outcome, WorkflowRefused

NEXT: Final[dict[ExecutionState, frozenset[ExecutionState]]] = {
    "idle": frozenset({"running", "abandoned"}),
    "running": frozenset({"completed", "failed", "paused", "abandoned", "diverged"}),
    "paused": frozenset({"running", "failed", "abandoned", "diverged"}),
    "failed": frozenset({"running"}),
    "diverged": frozenset({"running"}),
    "completed": frozenset(),
    "abandoned": frozenset(),
}
ENDED: Final[frozenset[ExecutionState]] = frozenset({
    "completed", "failed", "abandoned", "diverged",
})  # fmt: skip


def require_next(execution: str, state: ExecutionState, target: ExecutionState) -> None:
    """Raise ``WorkflowRefused`` (``transition_invalid``) for a change the table does not have."""
    if target not in NEXT[state]:
        allowed = sorted(NEXT[state])
        raise WorkflowRefused(
            "transition_invalid",
            f"Execution {execution} is {state} and cannot become {target}.",
            hint=f"From {state} it can become: {', '.join(allowed) or 'nothing else'}.",
            execution_id=execution,
            **{"from": state},
            to=target,
            allowed=allowed,
        )


DONE = ("completed", "skipped")
CAPABILITIES = "/capabilities"
"""The key, among the pins of personas, of a planner's capabilities; no persona has this name."""


_parse_definition = lru_cache(256)(WorkflowDefinition.model_validate_json)
_parse_step = lru_cache(1024)(Step.model_validate_json)


def stored_execution(reader: WorkflowReader, execution: str) -> ExecutionRow:
    """The row of an execution. Raises ``WorkflowRefused`` (``execution_unknown``)."""
    row = reader.execution(execution)
    if row is None:
        raise WorkflowRefused(
            "execution_unknown", f"There is no execution {execution!r}.", execution_id=execution
        )
    return row


def pinned_definition(reader: WorkflowReader, version: str) -> WorkflowDefinition:
    """The definition an execution was started with."""
    return _parse_definition(pinned_text(reader, version))


def pinned_text(reader: WorkflowReader, sha256: str) -> str:
    """A pinned text. Raises ``WorkflowRefused`` (``pin_missing``) when the store lost it."""
    text = reader.pinned(sha256)
    if text is None:
        raise WorkflowRefused("pin_missing", f"The pinned text {sha256[:12]} is gone.")
    return text


def spec_of(definition: WorkflowDefinition, row: StepRow) -> Step:
    """The specification of a step, from the definition or from the plan that added it."""
    if row.spec_json:
        return _parse_step(row.spec_json)
    step = definition.step(row.id)
    if step is None:
        raise WorkflowRefused("step_unknown", f"The definition has no step {row.id!r}.")
    return step


def needs_of(definition: WorkflowDefinition, row: StepRow) -> tuple[str, ...]:
    """The full ids of the steps that a step waits for; a planned step also waits for its plan."""
    needs = spec_of(definition, row).needs
    return (row.parent, *(f"{row.parent}/{need}" for need in needs)) if row.parent else needs


def living(rows: Sequence[StepRow]) -> list[StepRow]:
    """The steps of current plans; those of replaced plans are left out."""
    revisions = {row.id: row.revision for row in rows}
    return [r for r in rows if not r.parent or r.revision == revisions.get(r.parent)]


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction: the unit of work, its time, and the events appended in it."""

    unit: WorkflowUnit
    now: float
    events: list[EventRow] = field(default_factory=list[EventRow])


class StepOutputs(Mapping[str, object]):
    """The outputs of steps by id; steps of one plan find each other by short ids.

    An output is parsed when it is asked for: most steps refer to few of them.
    """

    def __init__(self, steps: Mapping[str, StepRow], parent: str) -> None:
        self._steps = steps
        self._prefix = f"{parent}/" if parent else ""
        self._parsed: dict[str, dict[str, object]] = {}

    def __getitem__(self, name: str) -> dict[str, object]:
        sibling = self._steps.get(self._prefix + name)
        row = sibling if sibling is not None and sibling.output_json else self._steps[name]
        if row.id not in self._parsed:
            value = row.output
            if value is None:
                raise KeyError(name)
            # Names of seed 002 for the outcome of a step.
            raw = value.setdefault("result_data", value.get("text") or value.get("summary"))
            value.setdefault("processed_result_data", raw)
            self._parsed[row.id] = value
        return self._parsed[row.id]

    def __iter__(self) -> Iterator[str]:
        return (row.id for row in self._steps.values() if row.output_json)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ExecutionCase:
    """The rows of one execution within one transaction. Changes are written at once."""

    def __init__(self, transaction: Transaction, execution: ExecutionRow) -> None:
        self._transaction = transaction
        self.unit = transaction.unit
        self.now = transaction.now
        self.row = execution
        self.opened: list[AttemptRow] = []
        self.failures: list[Failure] = []
        self.outcome: Outcome | None = None
        self.target = ""

    @classmethod
    def load(cls, transaction: Transaction, execution: str) -> "ExecutionCase":
        """A stored execution. Raises ``WorkflowRefused`` (``execution_unknown``)."""
        return cls(transaction, stored_execution(transaction.unit, execution))

    def refusal(
        self, code: str, message: str, *, hint: str = "", **details: object
    ) -> WorkflowRefused:
        """Return the refusal of an action on this execution, which its details name."""
        return WorkflowRefused(code, message, hint=hint, execution_id=self.row.id, **details)

    def require_running(self, reopening: str = "") -> None:
        """Raise ``WorkflowRefused`` (``execution_paused`` or ``execution_closed``) unless it runs.

        ``reopening`` is the hint about one that ended.
        """
        state = self.row.state
        if state == "running":
            return
        code, hint = "execution_paused", "Resume it first."
        if state in ENDED:
            code, hint = "execution_closed", reopening
        raise self.refusal(code, f"Execution {self.row.id} is {state}.", hint=hint, state=state)

    def require_open(self, step: str, attempt: str = "") -> AttemptRow:
        """The open attempt at a step, of that id. Raises ``WorkflowRefused``, which names what is open."""
        expected: list[str] = []
        for row in self.attempts():
            if row.step == step and attempt in ("", row.id):
                return row
            expected.append(row.step)
        raise WorkflowRefused(
            "phase_mismatch" if expected or step not in self.steps else "step_not_running",
            f"Step {step} is not open now; open: {', '.join(expected) or 'none'}.",
            expected=expected,
            got=step,
        )

    @cached_property
    def definition(self) -> WorkflowDefinition:
        """The definition that the execution was started with."""
        return pinned_definition(self.unit, self.row.version)

    @cached_property
    def steps(self) -> dict[str, StepRow]:
        """All steps by id, in order. They are loaded only when asked for."""
        return {row.id: row for row in self.unit.steps(self.row.id)}

    def record(self, type_: str, step: str = "", attempt: str = "", **data: object) -> None:
        """Append an event to the transaction."""
        text = json.dumps(data, ensure_ascii=False) if data else "{}"
        row = EventRow(0, self.row.id, type_, step, attempt, text, self.now)
        self._transaction.events.append(replace(row, seq=self.unit.append(row)))

    def put(self, step: StepRow, **changes: object) -> StepRow:
        """Store a step with changes."""
        row = self.steps[step.id] = replace(step, **changes)
        self.unit.save(row)
        return row

    def change(self, **fields: object) -> None:
        """Change the execution's own row."""
        self.row = replace(self.row, updated_at=self.now, **fields)
        self.unit.save(self.row)

    def move(self, state: ExecutionState, reason: str = "") -> None:
        """Change the state. Raises ``WorkflowRefused`` (``transition_invalid``)."""
        before = self.row.state
        require_next(self.row.id, before, state)
        ended = self.now if state in ENDED else None
        started = self.row.started_at or (self.now if state == "running" else None)
        self.change(state=state, reason=reason, completed_at=ended, started_at=started)
        self.record("workflow_state_transition", **{"from": before, "to": state, "reason": reason})
        if state in ENDED:
            self.record(f"workflow_{state}", reason=reason, total_steps=len(self.steps))

    def close_attempt(self, attempt: AttemptRow, status: AttemptStatus, error: str = "") -> None:
        """End an attempt, with its output if it has one, and make its other tokens useless."""
        self.unit.save(replace(attempt, status=status, error=error, ended_at=self.now))
        self.unit.revoke_tokens(attempt.id, f"attempt {status}")
        self.opened = [open_ for open_ in self.opened if open_.id != attempt.id]

    def open_attempt(self, step: StepRow, task: int | None = None) -> AttemptRow:
        """Begin an attempt at a step; its token is minted once the transaction is settled."""
        spec = self.spec(step.id)
        deadline = self.now + spec.timeout if spec.timeout is not None else None
        number = step.attempts + 1
        row = AttemptRow(
            mint("att"), self.row.id, step.id, number, task, "open", "", "", "", "", self.now,
            deadline, None,
        )  # fmt: skip
        self.unit.save(row)
        self.put(
            step,
            status="running",
            attempts=number,
            tries=step.tries + 1,
            cursor=step.cursor if task is None else task,
            started_at=step.started_at or self.now,
            completed_at=None,
        )
        self.record("step_started", step.id, row.id, number=number, task=task)
        self.opened.append(row)
        return row

    def reach(self, outcome: Outcome, target: str = "") -> None:
        """Note the outcome of the verb, and the step that it went back to."""
        self.outcome, self.target = outcome, target or self.target

    def reopen_tickets(self) -> None:
        """Give out tickets for all open attempts, not only for those opened now."""
        self.opened = list(self.attempts())

    def spec(self, step: str) -> Step:
        """The definition of a step."""
        return spec_of(self.definition, self.steps[step])

    def needs(self, status: str = "") -> dict[str, tuple[str, ...]]:
        """Return the steps that each present step waits for; a join waits for a plan's steps too.

        With ``status`` only the steps that have it.
        """
        children: dict[str, list[str]] = {}
        rows = self.living()
        for row in rows:
            if row.parent:
                children.setdefault(row.parent, []).append(row.id)
        needs: dict[str, tuple[str, ...]] = {}
        for row in rows:
            if status not in ("", row.status):
                continue
            direct = needs_of(self.definition, row)
            joined = [c for n in direct if n != row.parent for c in children.get(n, ())]
            needs[row.id] = (*direct, *joined)
        return needs

    def living(self) -> list[StepRow]:
        """The steps of current plans; those of replaced plans are left out."""
        return living(list(self.steps.values()))

    def attempts(self) -> Sequence[AttemptRow]:
        """The open attempts."""
        return self.unit.attempts(self.row.id, status="open")

    def tasks(self, step: str) -> Sequence[TaskRow]:
        """The items of a step's present list; none of a step that is not there."""
        row = self.steps.get(step)
        if row is None or row.cursor < 0:
            return ()
        return self.unit.tasks(self.row.id, step, row.revision)

    def item(self, attempt: AttemptRow) -> TaskRow | None:
        """The item of its step's list that an attempt works on; None if it works on none."""
        return next((t for t in self.tasks(attempt.step) if t.position == attempt.task), None)

    def mark_item(self, attempt: AttemptRow, status: TaskStatus) -> None:
        """Store the state of the item that an attempt works on."""
        if (task := self.item(attempt)) is not None:
            self.unit.save(replace(task, status=status))

    def scope(self, step: str, task: TaskRow | None = None) -> dict[str, object]:
        """Return the values that references of a step may use."""
        row = self.steps[step]
        outputs = StepOutputs(self.steps, row.parent)
        scope: dict[str, object] = {"params": self.row.params, "outputs": outputs}
        scope["failure"] = {"message": row.error}
        if task is not None:
            scope["item"] = {**task.payload, "position": task.position, "title": task.title}
        return scope

    @property
    def message(self) -> str:
        """Return the effect of a verb, in a sentence for its caller."""
        names = ", ".join(attempt.step for attempt in self.opened)
        match self.row.state:
            case "running":
                return f"Next: {names}." if names else "Other steps are still running."
            case "idle":
                return "Created. Resume it to begin."
            case "paused":
                return f"Paused. {self.row.reason}".strip()
            case "completed":
                return "The workflow is completed."
            case state:
                return f"The workflow is {state}: {self.row.reason}".rstrip(": ")

    @cached_property
    def pins(self) -> dict[str, str]:
        """The hashes of the pinned personas, by name, and of ``CAPABILITIES``."""
        return json.loads(self.row.personas_json)

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """The capabilities recorded for the planner at the start."""
        pin = self.pins.get(CAPABILITIES)
        return read_capabilities(pinned_text(self.unit, pin)) if pin else ()
