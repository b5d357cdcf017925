"""Whether a step's outcome holds: its guards, evaluated on what was handed in and what was seen."""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.ports.workflows import EvidenceRow
from sam_tui.core.workflow.definition import OnFail, StepGuard
from sam_tui.core.workflow.references import ReferenceMissing, fill, fill_text
from sam_tui.core.workflow.verification import Measured, Verdict, verify
from sam_tui.core.workflow.views import Failure


@dataclass(frozen=True, slots=True)
class Scene:
    """What guards look at: values by reference, the attempt's evidence, and tasks by step."""

    scope: Mapping[str, Any]
    evidence: Sequence[EvidenceRow]
    tasks: Callable[[str], Sequence[Measured]]
    claimed: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """The guards that failed, what the first of them wants done, and the tasks' percentage."""

    failures: tuple[Failure, ...]
    on_fail: OnFail | None
    percent: int | None


def judge(guards: Sequence[StepGuard], scene: Scene) -> Judged:
    """Evaluate every guard, in order."""
    failures: list[Failure] = []
    on_fail: OnFail | None = None
    percent: int | None = None
    for guard in guards:
        failure, verdict = _evaluate(guard, scene)
        if verdict is not None:
            percent = verdict.percent if percent is None else min(percent, verdict.percent)
        if failure is None:
            continue
        if not failures:
            on_fail = guard.rules.get(verdict.rule if verdict else "") or guard.on_fail
        failures.append(failure)
    return Judged(tuple(failures), on_fail, percent)


def _evaluate(guard: StepGuard, scene: Scene) -> tuple[Failure | None, Verdict | None]:
    match guard.kind:
        case "tasks":
            verdict = verify(
                scene.tasks(guard.tasks), claimed=scene.claimed, threshold=guard.threshold
            )
            return _tasks_failure(guard, verdict), verdict
        case "evidence":
            return _evidence_failure(guard, scene), None
        case _:
            return _value_failure(guard, scene.scope), None


def _tasks_failure(guard: StepGuard, verdict: Verdict) -> Failure | None:
    if verdict.valid:
        return None
    details = {
        "rule": verdict.rule,
        "percent": verdict.percent,
        "critical_completed": verdict.critical_completed,
        "critical_total": verdict.critical_total,
    }
    return Failure("tasks", guard.message or verdict.reason, details)


def _evidence_failure(guard: StepGuard, scene: Scene) -> Failure | None:
    try:
        part = fill_text(guard.contains, scene.scope)
    except ReferenceMissing as missing:
        return Failure("evidence", guard.message or str(missing), {"wanted": guard.contains})
    matching = [
        row
        for row in scene.evidence
        if fnmatch.fnmatchcase(row.operation, guard.evidence) and part in row.subject
    ]
    sought = guard.evidence + (f" with “{part}”" if part else "")
    if not matching:
        text = guard.message or f"nothing shows that {sought} was run in this step"
        return Failure("evidence", text, {"wanted": sought, "seen": 0})
    last = matching[-1]
    if _ended(guard, last):
        return None
    ended = "failed" if last.exit_code is None else f"ended with exit code {last.exit_code}"
    ended = "succeeded" if last.ok and guard.ended == "badly" else ended
    return Failure(
        "evidence",
        guard.message or f"the last {sought} {ended}",
        {"wanted": sought, "seen": len(matching), "exit_code": last.exit_code, "ok": last.ok},
    )


def _ended(guard: StepGuard, last: EvidenceRow) -> bool:
    if guard.exit_code is not None:
        return last.exit_code == guard.exit_code
    if guard.ended == "badly":
        # A command that was refused or never began has not shown that anything fails.
        return not last.ok and last.exit_code is not None
    return guard.ended == "any" or last.ok


def _value_failure(guard: StepGuard, scope: Mapping[str, Any]) -> Failure | None:
    try:
        value, to = fill(guard.value, scope), fill(guard.to, scope)
    except ReferenceMissing as missing:
        return Failure("value", guard.message or str(missing), {"value": str(guard.value)})
    if compare(value, guard.is_, to):
        return None
    condition = f"{guard.value} {guard.is_.replace('_', ' ')}"
    condition += "" if guard.is_ == "present" else f" {to!r}"
    details = {"value": value, "is": guard.is_, "to": to}
    return Failure("value", guard.message or f"{condition} does not hold", details)


def compare(value: Any, how: str, to: Any) -> bool:
    """One comparison. Numbers compare with numbers only; ``True`` is not 1."""
    match how:
        case "present":
            return value not in (None, "", [], {})
        case "equals":
            return _same(value, to)
        case "not_equals":
            return not _same(value, to)
        case "one_of":
            return isinstance(to, Sequence) and any(
                _same(value, candidate) for candidate in cast("Sequence[Any]", to)
            )
        case "contains":
            if isinstance(value, str):
                return str(to) in value
            return isinstance(value, Sequence) and to in value
        case _:
            if not (_is_number(value) and _is_number(to)):
                return False
            return value >= to if how == "at_least" else value <= to


def _same(value: Any, to: Any) -> bool:
    return isinstance(value, bool) == isinstance(to, bool) and value == to


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
