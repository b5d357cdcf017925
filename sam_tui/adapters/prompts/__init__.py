"""Prompts and reminders as Markdown files: built-in, the person's, and the workspace's."""

from sam_tui.adapters.prompts.library import FilePrompts
from sam_tui.adapters.prompts.user_reminders import FileReminders

__all__ = ["FilePrompts", "FileReminders"]
