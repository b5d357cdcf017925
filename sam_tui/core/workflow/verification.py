"""How far a list of tasks is, and whether that is enough: seed 000's verification, rule by rule.

Critical tasks must all be completed, the completed share must reach a threshold (95 % unless said
otherwise), nothing may be in progress, and who claims success while critical work was on the list
must have completed all of it. An empty list is complete.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.ports.workflows import TaskStatus

THRESHOLD = 95.0
"""Percent of the tasks that must be completed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One task as far as verification cares."""

    status: TaskStatus
    critical: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it is enough; ``rule`` is the first that failed, ``percent`` is rounded."""

    valid: bool
    percent: int
    critical_completed: int
    critical_total: int
    rule: str = ""
    reason: str = ""


def verify(tasks: Sequence[Measured], *, claimed: bool, threshold: float = THRESHOLD) -> Verdict:
    """Measure a list; ``claimed`` says whether its worker holds it to be done."""
    total, done = len(tasks), sum(t.status == "completed" for t in tasks)
    percent = round(100 * done / total) if total else 100
    critical = [t for t in tasks if t.critical]
    finished = sum(t.status == "completed" for t in critical)
    busy = sum(t.status == "running" for t in tasks)

    def failed(rule: str, reason: str) -> Verdict:
        return Verdict(False, percent, finished, len(critical), rule, reason)

    if finished < len(critical):
        return failed("critical", f"{finished} of {len(critical)} critical tasks are completed")
    if percent < threshold:
        return failed("threshold", f"{percent} % is below the threshold of {threshold:g} %")
    if busy:
        return failed("in_progress", f"{busy} tasks are still in progress")
    if claimed and critical and percent < 100:
        return failed(
            "consistency", f"success is claimed at {percent} % with critical tasks listed"
        )
    return Verdict(True, percent, finished, len(critical))


def is_critical(payload: Mapping[str, Any]) -> bool:
    """Whether a task counts as critical: high priority, a delegated one, or marked so."""
    return bool(
        payload.get("priority") in ("high", "critical")
        or payload.get("type") == "TaskAgent"
        or payload.get("meta_prompt")
        or payload.get("critical") is True
    )


def task_fields(item: Any, position: int) -> tuple[str, str, dict[str, Any]]:
    """The id, title and payload of an item of a list: a text, or an object that describes a task."""
    if not isinstance(item, Mapping):
        text = str(item)
        return str(position + 1), text[:500], {"title": text}
    payload = dict(cast("Mapping[str, Any]", item))
    title = next((payload[k] for k in ("title", "content", "task", "name") if payload.get(k)), "")
    payload.setdefault("title", str(title))
    return str(payload.get("id") or position + 1), str(title)[:500], payload
