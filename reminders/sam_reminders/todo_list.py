"""Keeps the todo list before the model's eyes: seed 004, TodoReminderInjector."""

from collections.abc import Sequence

from sam_tui.core.prompt.view import TurnView
from sam_tui.core.todos import (
    Todo,
    completed_ids,
    one_line,
    todo_statistics,
    unmet_dependencies,
    with_status,
)

_TITLE = 120
_ITEMS = 25
"""Items named per line; the tool's ``read`` shows all."""
_BRACKETS = str.maketrans("<>", "‹›")


class TodoListReminder:
    """Where the list stands, and the one thing to do about it now."""

    name = "todo_list"

    def content(self, view: TurnView) -> str | None:
        """The list between ``<todoList>`` tags, or None when there is none."""
        items = view.todos
        if not items:
            return None
        counts = todo_statistics(items)
        lines = [f"Completed: {counts.completed}"] if counts.completed else []
        lines += _line("In Progress", with_status(items, "in-progress"))
        lines += _line("Not Started", with_status(items, "not-started"))
        lines += _line("Blocked", with_status(items, "blocked"))
        return "\n".join(["<todoList>", *lines, "", _guidance(items), "</todoList>"])


def _guidance(items: Sequence[Todo]) -> str:
    """Exactly one branch: all done, one under way, some to begin, only blocked ones left."""
    running = with_status(items, "in-progress")
    waiting = with_status(items, "not-started")
    if todo_statistics(items).complete:
        return (
            f"All {len(items)} are done. New work goes on this list with todo_operations add;"
            " what is on it stays."
        )
    if running:
        return (
            f"You are on [{running[0].id}]; it is marked already. Work on it, and the moment it is"
            f" done call {_call(running[0].id, 'completed')}. Saying so in the answer does not"
            " change the list."
        )
    if waiting:
        done = completed_ids(items)
        first = next((i for i in waiting if not unmet_dependencies(i, done)), waiting[0])
        return (
            "None is being worked on. Choose one and mark it before any other step, for example"
            f" {_call(first.id, 'in-progress')}."
        )
    return (
        "All that is left is blocked. See whether a reason no longer holds and set that one to"
        " in-progress; otherwise tell the person what is needed."
    )


def _call(id_: int, status: str) -> str:
    return (
        f'todo_operations {{"operation": "update", "todoUpdates": [{{"id": {id_},'
        f' "status": "{status}"}}]}}'
    )


def _line(label: str, items: Sequence[Todo]) -> list[str]:
    if not items:
        return []
    named = [_named(item) for item in items[:_ITEMS]]
    if len(items) > _ITEMS:
        named.append(f"and {len(items) - _ITEMS} more")
    return [f"{label}: {', '.join(named)}"]


def _named(item: Todo) -> str:
    reason = f" ({_quiet(item.blocked_reason)})" if item.status == "blocked" else ""
    return f"[{item.id}] {_quiet(item.title)}{reason}"


def _quiet(text: str) -> str:
    """The model's own words, which may repeat a file's: one short line that can be no tag."""
    line = one_line(text)
    line = line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
    return line.translate(_BRACKETS)
