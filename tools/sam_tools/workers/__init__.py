"""Tools that the steps of plans name (seed 002): a calculator, and aliases of our own operations."""

from sam_tools.workers.calculator import calculator
from sam_tools.workers.research import ResearchWork
from sam_tools.workers.task_files import FileActions, TaskFiles

__all__ = ["FileActions", "ResearchWork", "TaskFiles", "calculator"]
