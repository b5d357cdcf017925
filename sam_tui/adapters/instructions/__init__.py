"""Instruction files: AGENTS.md and what others call it."""

from sam_tui.adapters.instructions.files import PROJECT_FILES, USER_FILE, FileInstructions

__all__ = ["PROJECT_FILES", "USER_FILE", "FileInstructions"]
