"""Workflows on disk: ``workflows.db`` in the data folder, and definition files in three folders."""

from sam_tui.adapters.workflows.files import DefinitionFiles
from sam_tui.adapters.workflows.store import SqliteWorkflows, open_workflows, save_file

__all__ = ["DefinitionFiles", "SqliteWorkflows", "open_workflows", "save_file"]
