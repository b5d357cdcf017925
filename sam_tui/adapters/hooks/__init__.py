"""Hooks as files of the field's form (Claude Code's ``hooks``), run as held commands."""

from sam_tui.adapters.hooks.library import PROJECT_FILE, USER_FILE, FileHooks

__all__ = ["PROJECT_FILE", "USER_FILE", "FileHooks"]
