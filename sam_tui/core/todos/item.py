"""A todo item, and totals of a list of them: seed 004, Todo List Management."""

import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

TodoStatus = Literal["not-started", "in-progress", "completed", "blocked"]
TodoPriority = Literal["low", "medium", "high", "critical"]

TODO_STATUSES: tuple[TodoStatus, ...] = get_args(TodoStatus)
TODO_PRIORITIES: tuple[TodoPriority, ...] = get_args(TodoPriority)


@dataclass(frozen=True, slots=True)
class Subtask:
    """A part of an item, one level deep: it has no parts of its own. Its id is unique in the item."""

    id: int
    title: str
    status: TodoStatus = "not-started"


@dataclass(frozen=True, slots=True)
class Todo:
    """One item. Times are seconds since the epoch; ``progress`` is 0 to 1 or None if not reported.

    ``estimate_minutes`` is how long it is thought to take, None when not told. ``evidence`` names
    what proves it, a short line each: ids of tool calls, files, commands.
    """

    id: int
    title: str
    description: str = ""
    status: TodoStatus = "not-started"
    priority: TodoPriority = "medium"
    dependencies: tuple[int, ...] = ()
    can_run_parallel: bool = False
    parallel_group: str = ""
    progress: float | None = None
    blocked_reason: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    subtasks: tuple[Subtask, ...] = ()
    estimate_minutes: float | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TodoStatistics:
    """The numbers of todos by status."""

    total: int
    completed: int
    in_progress: int
    not_started: int
    blocked: int

    @property
    def rate(self) -> float:
        """The completed share, 0 to 1; 0 for an empty list."""
        return self.completed / self.total if self.total else 0.0

    @property
    def complete(self) -> bool:
        """Whether the list has items and all of them are completed."""
        return self.total > 0 and self.completed == self.total


def todo_statistics(items: Iterable[Todo]) -> TodoStatistics:
    """Count a list by status."""
    counts = dict.fromkeys(TODO_STATUSES, 0)
    for item in items:
        counts[item.status] += 1
    return TodoStatistics(
        total=sum(counts.values()),
        completed=counts["completed"],
        in_progress=counts["in-progress"],
        not_started=counts["not-started"],
        blocked=counts["blocked"],
    )


def with_status(items: Iterable[Todo], status: TodoStatus) -> list[Todo]:
    """The items of one status, by id."""
    return sorted((item for item in items if item.status == status), key=lambda item: item.id)


def completed_ids(items: Iterable[Todo]) -> frozenset[int]:
    """The ids of the completed items."""
    return frozenset(item.id for item in items if item.status == "completed")


def open_subtasks(item: Todo) -> tuple[Subtask, ...]:
    """The parts that are not completed."""
    return tuple(part for part in item.subtasks if part.status != "completed")


def unmet_dependencies(item: Todo, done: Collection[int]) -> tuple[int, ...]:
    """Return the dependencies of ``item`` that are not in ``done`` (``completed_ids``), in its order."""
    return tuple(other for other in item.dependencies if other not in done)


def one_line(text: str) -> str:
    """Text on one line: white space runs become a space; what cannot be seen or stored goes."""
    return " ".join(visible_text(text).split())


def visible_text(text: str) -> str:
    """Text without control characters (but tab and newline), direction marks and lone surrogates."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return "".join(map(_visible, text.replace("\r\n", "\n"))).strip()


_FORMAT_CHARACTERS = "\n\t\u200c\u200d"
"""The format characters that scripts and emoji need; all others only hide or reorder text."""


def _visible(character: str) -> str:
    if character in _FORMAT_CHARACTERS:
        return character
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
