"""Evaluation of a step's guards on its output, its evidence and its tasks."""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from sam_tui.core.ports.workflows import EvidenceRow, TaskRow
from sam_tui.core.workflow.definitions.model import OnFail, StepGuard
from sam_tui.core.workflow.definitions.references import ReferenceMissing, fill, fill_text
from sam_tui.core.workflow.views import Failure

THRESHOLD = 95.0
"""The percentage of tasks that must be completed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A list as it was measured; ``rule`` is the first that failed or empty, ``percent`` is rounded."""

    percent: int
    critical_completed: int
    critical_total: int
    rule: str = ""
    reason: str = ""


def verify(tasks: Sequence[TaskRow], *, claimed: bool, threshold: float = THRESHOLD) -> Verdict:
    """Measure a list; ``claimed`` says whether its worker holds it to be done."""
    total, done = len(tasks), sum(t.status == "completed" for t in tasks)
    percent = round(100 * done / total) if total else 100
    critical = [t for t in tasks if t.critical]
    finished = sum(t.status == "completed" for t in critical)
    busy = sum(t.status == "running" for t in tasks)
    rule, reason = "", ""
    if finished < len(critical):
        rule, reason = "critical", f"{finished} of {len(critical)} critical tasks are completed"
    elif percent < threshold:
        rule, reason = "threshold", f"{percent} % is below the threshold of {threshold:g} %"
    elif busy:
        rule, reason = "in_progress", f"{busy} tasks are still in progress"
    elif claimed and critical and percent < 100:
        rule, reason = (
            "consistency",
            f"success is claimed at {percent} % with critical tasks listed",
        )
    return Verdict(percent, finished, len(critical), rule, reason)


def is_critical(payload: Mapping[str, object]) -> bool:
    """Whether a task counts as critical: high priority, a delegated one, or marked so."""
    return bool(
        payload.get("priority") in ("high", "critical")
        or payload.get("type") == "TaskAgent"
        or payload.get("meta_prompt")
        or payload.get("critical") is True
    )


def task_fields(item: object, position: int) -> tuple[str, str, dict[str, object]]:
    """The id, title and payload of an item of a list: a text, or an object that describes a task."""
    if not isinstance(item, Mapping):
        text = str(item)
        return str(position + 1), text[:500], {"title": text}
    payload = dict(cast("Mapping[str, Any]", item))
    title = next((payload[k] for k in ("title", "content", "task", "name") if payload.get(k)), "")
    payload.setdefault("title", str(title))
    return str(payload.get("id") or position + 1), str(title)[:500], payload


@dataclass(frozen=True, slots=True)
class Scene:
    """The data that guards read: values by reference, the attempt's evidence, and tasks by step."""

    scope: Mapping[str, object]
    evidence: Sequence[EvidenceRow]
    tasks: Callable[[str], Sequence[TaskRow]]
    claimed: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """The failed guards, the action of the first of them, and the percentage of tasks."""

    failures: tuple[Failure, ...]
    on_fail: OnFail | None
    percent: int | None


def judge(guards: Sequence[StepGuard], scene: Scene) -> Judged:
    """Evaluate every guard, in order."""
    failures: list[Failure] = []
    on_fail: OnFail | None = None
    percents: list[int] = []
    for guard in guards:
        failure, verdict = _evaluate(guard, scene)
        if verdict is not None:
            percents.append(verdict.percent)
        if failure is None:
            continue
        if not failures:
            on_fail = guard.rules.get(verdict.rule if verdict else "") or guard.on_fail
        failures.append(failure)
    return Judged(tuple(failures), on_fail, min(percents, default=None))


def _evaluate(guard: StepGuard, scene: Scene) -> tuple[Failure | None, Verdict | None]:
    if guard.tasks:
        tasks = scene.tasks(guard.tasks)
        verdict = verify(tasks, claimed=scene.claimed, threshold=guard.threshold)
        return _tasks_failure(guard, verdict), verdict
    if guard.evidence:
        return _evidence_failure(guard, scene), None
    return _value_failure(guard, scene.scope), None


def _failure(guard: StepGuard, why: str, details: Mapping[str, object]) -> Failure:
    """The failure of a guard, in its own words if it has any."""
    return Failure(guard.kind, guard.message or why, details)


def _tasks_failure(guard: StepGuard, verdict: Verdict) -> Failure | None:
    if not verdict.rule:
        return None
    names = ("rule", "percent", "critical_completed", "critical_total")
    return _failure(guard, verdict.reason, {name: getattr(verdict, name) for name in names})


def _evidence_failure(guard: StepGuard, scene: Scene) -> Failure | None:
    try:
        part = fill_text(guard.contains, scene.scope)
    except ReferenceMissing as missing:
        return _failure(guard, str(missing), {"wanted": guard.contains})
    matching = [
        row
        for row in scene.evidence
        if fnmatch.fnmatchcase(row.operation, guard.evidence) and part in row.subject
    ]
    sought = guard.evidence + (f" with “{part}”" if part else "")
    if not matching:
        why = f"nothing shows that {sought} was run in this step"
        return _failure(guard, why, {"wanted": sought, "seen": 0})
    last = matching[-1]
    if _ended(guard, last):
        return None
    ended = "failed" if last.exit_code is None else f"ended with exit code {last.exit_code}"
    ended = "succeeded" if last.ok and guard.ended == "badly" else ended
    details = {"seen": len(matching), "exit_code": last.exit_code, "ok": last.ok}
    return _failure(guard, f"the last {sought} {ended}", {"wanted": sought, **details})


def _ended(guard: StepGuard, last: EvidenceRow) -> bool:
    if guard.exit_code is not None:
        return last.exit_code == guard.exit_code
    if guard.ended == "badly":
        # A command that was refused or never began has not shown that anything fails.
        return not last.ok and last.exit_code is not None
    return guard.ended == "any" or last.ok


def _value_failure(guard: StepGuard, scope: Mapping[str, object]) -> Failure | None:
    try:
        value, to = fill(guard.value, scope), fill(guard.to, scope)
    except ReferenceMissing as missing:
        return _failure(guard, str(missing), {"value": str(guard.value)})
    if compare(value, guard.is_, to):
        return None
    condition = f"{guard.value} {guard.is_.replace('_', ' ')}"
    condition += "" if guard.is_ == "present" else f" {to!r}"
    details = {"value": value, "is": guard.is_, "to": to}
    return _failure(guard, f"{condition} does not hold", details)


def compare(value: object, how: str, to: object) -> bool:
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


def _same(value: object, to: object) -> bool:
    return isinstance(value, bool) == isinstance(to, bool) and value == to


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
