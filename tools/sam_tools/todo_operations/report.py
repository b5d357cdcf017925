"""The reports to the model: always the stored list, never the requested one."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

from sam_tools.todo_operations.changes import TodoBatch, TodoChange
from sam_tui.core.todos.item import (
    Todo,
    TodoStatus,
    completed_ids,
    one_line,
    open_subtasks,
    todo_statistics,
    unmet_dependencies,
    with_status,
)

_SECTIONS: tuple[tuple[TodoStatus, str], ...] = (
    ("in-progress", "IN PROGRESS"),
    ("blocked", "BLOCKED"),
    ("not-started", "NOT STARTED"),
    ("completed", "COMPLETED"),
)
_MARKS: dict[TodoStatus, str] = {
    "not-started": "[ ]",
    "in-progress": "[>]",
    "completed": "[x]",
    "blocked": "[!]",
}
_ONE = "only one can be in progress"
_ALL_DONE = "All todos are completed."


def read_report(items: Sequence[Todo]) -> str:
    """The whole list by sections, with its progress."""
    if not items:
        return "TODO LIST\n\nThe list is empty. Create it with write."
    lines = ["TODO LIST", "", f"Progress: {_share(items)}"]
    if left := _minutes_left(items):
        lines.append(f"Estimated time left: {_time(left)}")
    done = completed_ids(items)
    for status, heading in _SECTIONS:
        section = with_status(items, status)
        if section:
            lines += ["", f"{heading}:"]
            for item in section:
                lines += _in_full(item, done)
    if todo_statistics(items).complete:
        lines += ["", _ALL_DONE]
    changed = datetime.fromtimestamp(max(item.updated_at for item in items), UTC)
    lines += ["", f"Last updated: {changed:%Y-%m-%d %H:%M} UTC"]
    return "\n".join(lines)


def write_report(before: Sequence[Todo], stored: Sequence[Todo], change: TodoChange) -> str:
    """The report of ``write``: counts before and now, items that were set back, and all titles."""
    counts = todo_statistics(stored)
    lines = [
        f"Stored {_count(len(stored))}.",
        "",
        f"PREVIOUS STATE: {_counts(before)}",
        f"NEW STATE: {_counts(stored)}",
        *_side_effects(before, stored, change),
        "",
    ]
    if not stored:
        return "\n".join([*lines, "The list is empty now."])
    closing = _ALL_DONE if counts.complete else f"{counts.not_started} not started."
    return "\n".join([*lines, "CURRENT STATUS:", *_titles(stored), "", closing])


def _minutes_left(items: Sequence[Todo]) -> float:
    return sum(i.estimate_minutes or 0.0 for i in items if i.status != "completed")


def update_report(
    before: Sequence[Todo], stored: Sequence[Todo], batch: TodoBatch
) -> tuple[str, bool]:
    """The outcome of each named item in words, and whether the call as a whole succeeded.

    An item succeeds when the stored one changed, and is redundant if it had these values before. One
    that is set back at once in favour of another item of the same call has failed.
    """
    old, new = {i.id: i for i in before}, {i.id: i for i in stored}
    failed, applied, redundant = list(batch.failed), list[str](), list[str]()
    for id_ in batch.named:
        difference = _difference(old[id_], new[id_])
        if difference:
            applied.append(f"{_name(new[id_])}: {difference}")
        elif id_ in batch.change.demoted:
            failed.append(f"{_name(new[id_])}: not begun, {_ONE} and another one of this call is")
        else:
            redundant.append(f"{_name(new[id_])}: already {new[id_].status}, nothing new")
    numbers = {"successful": applied, "failed": failed, "redundant": redundant}
    lines = [", ".join(f"{len(n)} {word}" for word, n in numbers.items() if n or n is applied)]
    lines += _block("Applied", applied) + _block("Failed", failed) + _block("Redundant", redundant)
    if redundant:
        lines.append("  An update that changes nothing can be left out.")
    lines += _side_effects(before, stored, batch.change)
    lines += ["", f"CURRENT STATUS: {_share(stored)}", *_titles(stored)]
    if todo_statistics(stored).complete:
        lines += ["", _ALL_DONE]
    return "\n".join(lines), bool(applied) or (bool(redundant) and not failed)


def add_report(before: Sequence[Todo], stored: Sequence[Todo], change: TodoChange) -> str:
    """The report of ``add``: the new items with their ids, and the list."""
    ids = {item.id for item in before}
    added = [item for item in stored if item.id not in ids]
    lines = [f"Added {_count(len(added))}."]
    lines += [f"  + #{item.id}: {item.title}" for item in added]
    lines += _side_effects(before, stored, change)
    lines += ["", f"CURRENT STATUS: {_counts(stored)}", *_titles(stored)]
    return "\n".join(lines)


def _in_full(item: Todo, done: Collection[int]) -> list[str]:
    if item.status == "completed":
        return [f"  ✓ {item.id}. {item.title}", *_parts(item)]
    lines = [f"  {item.id}. {item.title}{''.join(_attributes(item))}"]
    if item.description:
        lines.append(f"     → {one_line(item.description)}")
    if item.blocked_reason:
        lines.append(f"     blocked: {item.blocked_reason}")
    unmet = ", ".join(f"#{id_}" for id_ in unmet_dependencies(item, done))
    if unmet:
        started = item.status == "in-progress"
        lines.append(f"     {'WARNING: begun before' if started else 'after'} {unmet}")
    return lines + _parts(item)


def _attributes(item: Todo) -> Iterator[str]:
    if item.priority != "medium":
        yield f" [Priority: {item.priority}]"
    if item.can_run_parallel:
        group = f": {item.parallel_group}" if item.parallel_group else ""
        yield f" [Parallel{group}]"
    if item.progress is not None:
        yield f" ({_percent(item.progress)} complete)"
    if item.estimate_minutes is not None:
        yield f" [Estimate: {_time(item.estimate_minutes)}]"


def _parts(item: Todo) -> list[str]:
    """Return the subtasks, and the proof of the item."""
    lines = [
        f"     {_MARKS[part.status]} {item.id}.{part.id} {part.title}" for part in item.subtasks
    ]
    return lines + [f"     evidence: {entry}" for entry in item.evidence]


def _side_effects(before: Sequence[Todo], stored: Sequence[Todo], change: TodoChange) -> list[str]:
    """Return what the rules changed in addition to the request, and warnings."""
    running = {item.id for item in with_status(before, "in-progress")}
    demoted = [item for item in stored if item.id in change.demoted]
    set_back = [_name(item) for item in demoted if item.id in running]
    not_begun = [_name(item) for item in demoted if item.id not in running]
    lines: list[str] = []
    if set_back:
        lines += ["", f"Set back to not-started ({_ONE}): {', '.join(set_back)}"]
    if not_begun:
        lines += ["", f"Left at not-started ({_ONE}): {', '.join(not_begun)}"]
    return lines + _block("Notes", change.notes)


def _difference(old: Todo, new: Todo) -> str:
    """The fields that differ, as ``status: a→b, progress: 40%``."""
    return ", ".join(
        words(old, new) for field, words in _CHANGES if getattr(old, field) != getattr(new, field)
    )


def _or_dash(value: float | None, words: Callable[[float], str]) -> str:
    return "-" if value is None else words(value)


def _completed(item: Todo) -> str:
    return f"{len(item.subtasks) - len(open_subtasks(item))}/{len(item.subtasks)} completed"


_CHANGES: tuple[tuple[str, Callable[[Todo, Todo], str]], ...] = (
    ("status", lambda old, new: f"status: {old.status}→{new.status}"),
    ("progress", lambda _, new: f"progress: {_or_dash(new.progress, _percent)}"),
    ("title", lambda old, _: f"title: was {old.title}"),
    ("priority", lambda old, new: f"priority: {old.priority}→{new.priority}"),
    (
        "dependencies",
        lambda _, new: f"dependencies: {', '.join(map(str, new.dependencies)) or 'none'}",
    ),
    ("blocked_reason", lambda _, new: f"blockedReason: {new.blocked_reason or 'cleared'}"),
    ("subtasks", lambda _, new: f"subtasks: {_completed(new)}"),
    ("estimate_minutes", lambda _, new: f"estimate: {_or_dash(new.estimate_minutes, _time)}"),
    ("evidence", lambda _, new: f"evidence: {len(new.evidence)}"),
    ("description", lambda _, __: "description changed"),
    ("can_run_parallel", lambda _, __: "canRunParallel changed"),
    ("parallel_group", lambda _, __: "parallelGroup changed"),
)
"""For each field of an item, the words for a change of it."""


def _titles(items: Sequence[Todo]) -> list[str]:
    """One line per status that has items: their ids and titles."""
    lines: list[str] = []
    for status, heading in _SECTIONS:
        names = ", ".join(f"#{item.id}: {item.title}" for item in with_status(items, status))
        if names:
            lines.append(f"  {heading.capitalize()}: {names}")
    return lines


def _block(heading: str, rows: Sequence[str]) -> list[str]:
    return ["", f"{heading}:", *(f"  {row}" for row in rows)] if rows else []


def _counts(items: Sequence[Todo]) -> str:
    n = todo_statistics(items)
    return (
        f"{n.completed} completed, {n.in_progress} in progress,"
        f" {n.not_started} not started, {n.blocked} blocked"
    )


def _share(items: Sequence[Todo]) -> str:
    n = todo_statistics(items)
    return f"{n.completed}/{n.total} completed ({n.rate:.1%})"


def _percent(progress: float) -> str:
    return f"{round(progress * 100)}%"


def _time(minutes: float) -> str:
    """``45 min`` or ``1 h 30 min``."""
    hours, remainder = divmod(round(minutes), 60)
    if not hours:
        return f"{round(minutes, 1):g} min" if minutes < 1 else f"{remainder} min"
    return f"{hours} h {remainder} min" if remainder else f"{hours} h"


def _name(item: Todo) -> str:
    return f"Todo #{item.id} ({item.title})"


def _count(number: int) -> str:
    return "1 todo" if number == 1 else f"{number} todos"
