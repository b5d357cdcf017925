"""Prompts and reminders as Markdown files: built-in, the person's, and the workspace's."""

from sam_tui.adapters.prompts.library import FilePrompts, FileReminders

__all__ = ["FilePrompts", "FileReminders"]
