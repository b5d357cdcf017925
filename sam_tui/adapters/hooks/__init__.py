"""Hooks as files of the field's form (Claude Code's ``hooks``), run as held commands."""

from sam_tui.adapters.hooks.library import FileHooks

__all__ = ["FileHooks"]
