"""A person's edits of a todo list, under the rules for the model, and their description for it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sam_tui.core.errors import ToolError
from sam_tui.core.todos.item import Todo, TodoStatus, one_line
from sam_tui.core.todos.rules import consistent, settle, stamped, validate

EditKind = Literal["add", "retitle", "cycle", "remove", "up", "down"]

_NEXT: dict[TodoStatus, TodoStatus] = {
    "not-started": "in-progress",
    "in-progress": "completed",
    "completed": "not-started",
    "blocked": "not-started",
}
_ORDER_SHOWN = 40


@dataclass(frozen=True, slots=True)
class TodoEdit:
    """One edit: ``todo`` is the id it is about (none for ``add``), ``title`` for add and retitle."""

    kind: EditKind
    todo: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class EditSpan:
    """The list before and after edits of a person that nothing came between."""

    before: tuple[Todo, ...]
    after: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class DeliveredEdits:
    """Edits to tell the model of now; ``times`` counts the tellings since the person last wrote."""

    spans: tuple[EditSpan, ...] = ()
    times: int = 0


def edited(items: Sequence[Todo], edit: TodoEdit, *, now: float) -> tuple[Todo, ...]:
    """Return the list after one edit; unchanged if the item is gone or there is nothing to change.

    Unlike the model a person may remove completed items; dependencies on a removed item go with it.
    Raises ``ToolError`` if the list would break a rule that it meets now.
    """
    changed = _applied(tuple(items), edit)
    before = {finding for finding in validate(items) if finding.severity == "error"}
    broken = [f for f in validate(changed) if f.severity == "error" and f not in before]
    if broken:
        raise ToolError("; ".join(finding.text for finding in broken))
    settled = settle([consistent(item) for item in changed], started=[edit.todo])
    return stamped(items, settled.items, now=now)


def extended(
    spans: Sequence[EditSpan], before: Sequence[Todo], after: Sequence[Todo]
) -> list[EditSpan]:
    """Return ``spans`` and one more edit. An edit that was undone leaves no span."""
    last = spans[-1] if spans and spans[-1].after == tuple(before) else None
    earlier = list(spans[:-1] if last else spans)
    span = EditSpan(last.before if last else tuple(before), tuple(after))
    return earlier if _timeless(span.before) == _timeless(span.after) else [*earlier, span]


def differences(span: EditSpan, named: Callable[[Todo], str]) -> list[str]:
    """The person's changes in a few words each; ``named`` gives an item's id and title."""
    old = {item.id: item for item in span.before}
    new = {item.id: item for item in span.after}
    rows = [f"removed {named(item)}" for id_, item in old.items() if id_ not in new]
    rows += [f"added {named(item)}" for id_, item in new.items() if id_ not in old]
    for id_, item in new.items():
        rows += _changes(old.get(id_), item, named)
    if list(filter(old.__contains__, new)) != list(filter(new.__contains__, old)):
        more = ", …" if len(new) > _ORDER_SHOWN else ""
        rows.append(f"the order is now {', '.join(map(str, [*new][:_ORDER_SHOWN]))}{more}")
    return rows


def _changes(before: Todo | None, item: Todo, named: Callable[[Todo], str]) -> Iterator[str]:
    """The differences of one item in words; ``before`` is None for an added item."""
    if before is None:
        if item.status != "not-started":
            yield f"{named(item)} is now {item.status}"
        return
    if before.title != item.title:
        yield f"{named(before)} is now called {named(item)}"
    if before.status != item.status:
        yield f"{named(item)} is now {item.status}"
    removed = [str(other) for other in before.dependencies if other not in item.dependencies]
    if removed:
        yield f"{named(item)} no longer waits for {', '.join(removed)}"


def _applied(items: tuple[Todo, ...], edit: TodoEdit) -> tuple[Todo, ...]:
    if edit.kind == "add":
        highest = max((item.id for item in items), default=0)
        return (*items, Todo(highest + 1, one_line(edit.title)))
    ids = [item.id for item in items]
    if edit.todo not in ids:
        return items
    at = ids.index(edit.todo)
    match edit.kind:
        case "retitle":
            return _with(items, at, replace(items[at], title=one_line(edit.title)))
        case "cycle":
            return _with(items, at, _cycled(items[at]))
        case "remove":
            return tuple(_without(item, edit.todo) for item in (*items[:at], *items[at + 1 :]))
        case "up":
            return _exchanged(items, at, at - 1)
        case "down":
            return _exchanged(items, at, at + 1)


def _exchanged(items: tuple[Todo, ...], at: int, to: int) -> tuple[Todo, ...]:
    if not 0 <= to < len(items):
        return items
    rows = list(items)
    rows[at], rows[to] = rows[to], rows[at]
    return tuple(rows)


def _with(items: tuple[Todo, ...], at: int, item: Todo) -> tuple[Todo, ...]:
    return (*items[:at], item, *items[at + 1 :])


def _cycled(item: Todo) -> Todo:
    reopened = item.status == "completed" and item.progress == 1.0
    return replace(item, status=_NEXT[item.status], progress=None if reopened else item.progress)


def _without(item: Todo, removed: int) -> Todo:
    if removed not in item.dependencies:
        return item
    return replace(item, dependencies=tuple(id_ for id_ in item.dependencies if id_ != removed))


def _timeless(items: Sequence[Todo]) -> list[Todo]:
    return [replace(item, created_at=0.0, updated_at=0.0) for item in items]
