"""Computes the list to store from the model's request; pure functions that return all or raise."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sam_tools.todo_operations.arguments import (
    Item,
    ItemT,
    NewTodo,
    Part,
    Rejected,
    TodoDraft,
    TodoUpdate,
)
from sam_tui.core.errors import ToolError
from sam_tui.core.todos import rules
from sam_tui.core.todos.item import Subtask, Todo

_SHOWN = 40
"""The most problems that are listed; further ones are counted."""
_FIELDS = {
    "title": "title",
    "description": "description",
    "status": "status",
    "priority": "priority",
    "dependencies": "dependencies",
    "canRunParallel": "can_run_parallel",
    "parallelGroup": "parallel_group",
    "progress": "progress",
    "blockedReason": "blocked_reason",
    "subtasks": "subtasks",
    "estimateMinutes": "estimate_minutes",
    "evidence": "evidence",
}


@dataclass(frozen=True, slots=True)
class TodoChange:
    """A list to store. ``demoted`` were set back so that one item is in progress; ``notes`` warn."""

    items: tuple[Todo, ...]
    demoted: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TodoBatch:
    """An update: the change, its ids, and the failures with their reasons."""

    change: TodoChange
    named: tuple[int, ...]
    failed: tuple[str, ...]


def written(
    before: Sequence[Todo], drafts: Sequence[TodoDraft | Rejected], now: float
) -> TodoChange:
    """The list that replaces ``before``.

    Subtasks, estimate and evidence of an item whose id was there stay where they are left out.
    Raises ``ToolError`` with every finding at once; nothing is to be stored then. Checked in this
    order: the items' form, the list's rules, completed items that would go.
    """
    old = {item.id: item for item in before}
    items = [_filled(_kept(old.get(d.id), d), d) for d in _readable(drafts)]
    running = {item.id for item in before if item.status == "in-progress"}
    # Several items of one call are in progress: the first of them stays so.
    started = [i.id for i in items if i.status == "in-progress" and i.id not in running][:1]
    change = _checked(before, items, started, now, earlier=())
    lost = rules.lost_completed(before, change.items)
    if lost:
        rows = "\n".join(f"  - Todo {item.id}: {item.title}" for item in lost)
        raise ToolError(
            f"The list leaves out completed todos, and those cannot be deleted:\n{rows}",
            hint="Send them along as they are, or use add to append and update to change.",
        )
    return change


def updated(
    before: Sequence[Todo], updates: Sequence[TodoUpdate | Rejected], now: float
) -> TodoBatch:
    """Some items changed, in the order given; of a duplicate id the later fields win.

    An item that cannot be read or found fails alone. A list that breaks a rule raises ``ToolError``
    and rejects the whole batch.
    """
    items = {item.id: item for item in before}
    failed: list[str] = []
    named: dict[int, None] = {}
    started: list[int] = []
    for index, update in enumerate(updates):
        problem = _refusal(update, items)
        if problem:
            failed.append(f"{_called(update, index)}: {problem}")
            continue
        assert isinstance(update, TodoUpdate)
        was = items[update.id]
        items[update.id] = _filled(was, update)
        named[update.id] = None
        if items[update.id].status == "in-progress" and was.status != "in-progress":
            started.append(update.id)
    change = _checked(before, tuple(items.values()), started, now, earlier=_errors(before))
    return TodoBatch(change, tuple(named), tuple(failed))


def appended(before: Sequence[Todo], new: Sequence[NewTodo | Rejected], now: float) -> TodoChange:
    """The list with items after it, numbered on from its highest id.

    Raises ``ToolError`` with every finding at once; nothing is to be stored then.
    """
    highest = max((item.id for item in before), default=0)
    added = [
        _filled(Todo(highest + offset, item.title), item)
        for offset, item in enumerate(_readable(new), start=1)
    ]
    started = [item.id for item in added if item.status == "in-progress"][:1]
    return _checked(before, [*before, *added], started, now, earlier=_errors(before))


def _readable(items: Sequence[ItemT | Rejected]) -> list[ItemT]:
    """The items, when all could be read."""
    bad = [(index, item) for index, item in enumerate(items) if isinstance(item, Rejected)]
    if bad:
        raise ToolError(
            _listed(
                "Nothing was stored", [f"{_called(i, n)}: {'; '.join(i.problems)}" for n, i in bad]
            )
        )
    return [item for item in items if not isinstance(item, Rejected)]


def _called(item: Item | Rejected, index: int) -> str:
    id_ = item.id if isinstance(item, (Rejected, TodoUpdate)) else None
    return f"Item at index {index}" if id_ is None else f"Todo #{id_}"


def _refusal(update: TodoUpdate | Rejected, items: dict[int, Todo]) -> str:
    """Return why an update cannot be applied; empty if it can."""
    if isinstance(update, Rejected):
        return "; ".join(update.problems)
    if update.id not in items:
        return "not in the list"
    fields = [field for field in _FIELDS if update.gives(field)]
    if not fields:
        return f"nothing to change was given; fields are {', '.join(_FIELDS)}"
    blocked = (update.status if update.gives("status") else items[update.id].status) == "blocked"
    if update.blockedReason and not blocked and not update.gives("status"):
        return 'blockedReason goes with status "blocked"'
    return ""


def _kept(old: Todo | None, draft: TodoDraft) -> Todo:
    """A new item with the subtasks, estimate and evidence of the item that it replaces."""
    bare = Todo(draft.id, draft.title)
    if old is None:
        return bare
    return replace(
        bare,
        subtasks=old.subtasks,
        estimate_minutes=old.estimate_minutes,
        evidence=old.evidence,
    )


def _merged(old: Sequence[Subtask], parts: Sequence[Part], *, whole: bool) -> tuple[Subtask, ...]:
    """Subtasks changed by id and new ones after them, numbered on where they have no id.

    ``whole`` leaves out those that ``parts`` does not name.
    """
    parts_by_id = {part.id: part for part in old}
    fresh = max([0, *parts_by_id, *(part.id for part in parts)])
    merged: list[Subtask] = [] if whole else list(old)
    for part in parts:
        fields = {n: getattr(part, n) for n in ("title", "status") if n in part.model_fields_set}
        id_ = part.id if "id" in part.model_fields_set else (fresh := fresh + 1)
        changed = replace(parts_by_id.get(id_, Subtask(id_, "")), **fields)
        at = [i for i, other in enumerate(merged) if other.id == id_ and not whole]
        if at:
            merged[at[0]] = changed
        else:
            merged.append(changed)
    return tuple(merged)


def _filled(item: Todo, draft: Item) -> Todo:
    """``item`` with the given fields. Subtasks change by id; an empty list of them removes all."""
    changes = {field: getattr(draft, name) for name, field in _FIELDS.items() if draft.gives(name)}
    if draft.gives("subtasks"):
        whole = isinstance(draft, TodoDraft) or not draft.subtasks
        changes["subtasks"] = _merged(item.subtasks, draft.subtasks, whole=whole)
    if draft.gives("estimateMinutes"):
        changes["estimate_minutes"] = draft.estimateMinutes or None
    filled = replace(item, **changes)
    if filled.progress == 1.0 and not draft.gives("progress") and _is_reopened(item, filled):
        return replace(filled, progress=None)
    return filled


def _is_reopened(before: Todo, after: Todo) -> bool:
    return before.status == "completed" and after.status != "completed"


def _checked(
    before: Sequence[Todo],
    items: Sequence[Todo],
    started: Sequence[int],
    now: float,
    *,
    earlier: Collection[rules.TodoFinding],
) -> TodoChange:
    """The list, validated, settled and dated. Errors that the list had before do not block a change."""
    findings = rules.validate(items)
    errors = [f.text for f in findings if f.severity == "error" and f not in earlier]
    if errors:
        raise ToolError(_listed("Nothing was stored, the list breaks its rules", errors))
    settled = rules.settle(list(map(rules.consistent, items)), started=started)
    old = rules.validate(before)
    fresh = [f for f in findings if f.severity == "warning" and f not in old]
    notes = tuple(finding.text for finding in fresh if finding.todo not in settled.demoted)
    return TodoChange(rules.stamped(before, settled.items, now=now), settled.demoted, notes)


def _errors(items: Sequence[Todo]) -> frozenset[rules.TodoFinding]:
    return frozenset(f for f in rules.validate(items) if f.severity == "error")


def _listed(head: str, rows: Sequence[str]) -> str:
    listing = "\n".join(f"  - {row}" for row in rows[:_SHOWN])
    more = f"\n  - and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"{head} ({len(rows)} {'problem' if len(rows) == 1 else 'problems'}):\n{listing}{more}"
