"""A todo item: seed 004, Todo List Management."""

from dataclasses import dataclass
from typing import Literal

TodoStatus = Literal["not-started", "in-progress", "completed", "blocked"]
TodoPriority = Literal["low", "medium", "high", "critical"]


@dataclass(frozen=True, slots=True)
class Todo:
    """One item. Times are seconds since the epoch; ``progress`` is 0 to 1 or None when not told."""

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
