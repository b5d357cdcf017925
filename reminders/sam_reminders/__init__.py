"""What is put in front of the model before it answers: the injectors, in their order (seed 004)."""

from sam_reminders.todo_list import TodoListReminder
from sam_tui.core.prompt.reminders import Reminder


def build_reminders() -> list[Reminder]:
    """Every built-in reminder, in injection order."""
    return [TodoListReminder()]
