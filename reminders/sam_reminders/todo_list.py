"""Keeps the todo list before the model's eyes: seed 004, TodoReminderInjector."""

from collections.abc import Sequence

from sam_tui.core.board import TodoBoard
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.todos.edits import DeliveredEdits, differences
from sam_tui.core.todos.item import (
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


_EDITS = 30
"""Changes of a person told one by one; the list itself shows what came of them."""


class TodoListReminder:
    """Where the list stands, what the person changed about it, and the one thing to do now.

    Without a ``board`` it knows nothing of a person's edits.
    """

    name = "todo_list"
    repeats = True
    """In a long loop it stands again though nothing changed: near on every call."""

    def __init__(self, board: TodoBoard | None = None) -> None:
        self._board = board

    def content(self, view: TurnView) -> str | None:
        """The list between ``<todoList>`` tags, or None when there is none."""
        items = view.todos
        edits_made = DeliveredEdits()
        if self._board is not None:
            edits_made = self._board.edits_to_tell(view.conversation, new_message=view.new_message)
        edits = _edits(edits_made)
        if not items:
            return (
                "\n".join(["<todoList>", *edits, "It is empty now.", "</todoList>"])
                if edits
                else None
            )
        counts = todo_statistics(items)
        lines = [f"Completed: {counts.completed}"] if counts.completed else []
        lines += _line("In Progress", with_status(items, "in-progress"))
        lines += _line("Not Started", with_status(items, "not-started"))
        lines += _line("Blocked", with_status(items, "blocked"))
        return "\n".join(["<todoList>", *lines, *edits, "", _guidance(items), "</todoList>"])


def _edits(edits: DeliveredEdits) -> list[str]:
    """One line for all that the person changed since the model was last told; none for nothing.

    A second line of the same turn says so: it must differ from the first even where its words are
    the same, else it would not be appended.
    """
    rows = [row for span in edits.spans for row in differences(span, _titled)]
    if not rows:
        return []
    again = f" again ({edits.times})" if edits.times > 1 else ""
    if len(rows) > _EDITS:
        rows[_EDITS:] = [f"and {len(rows) - _EDITS} more changes"]
    return [f"The person changed the list{again}: {'; '.join(rows)}."]


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
        # In the order of the list, which is the person's to change.
        ready = (i for i in items if i in waiting and not unmet_dependencies(i, done))
        first = next(ready, waiting[0])
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
    return f"{_titled(item)}{reason}"


def _titled(item: Todo) -> str:
    return f"[{item.id}] {_quiet(item.title)}"


def _quiet(text: str) -> str:
    """The model's own words, which may repeat a file's: one short line that can be no tag."""
    line = one_line(text)
    line = line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
    return line.translate(_BRACKETS)
