"""The ``Tasks`` port over ``Commands``, and the book of task definitions in the data folder."""

from sam_tui.adapters.tasks.book import FileTaskBook
from sam_tui.adapters.tasks.runs import CommandTasks

__all__ = ["CommandTasks", "FileTaskBook"]
