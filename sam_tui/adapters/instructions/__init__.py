"""Instruction files: ``AGENTS.md``, and files of the same purpose under other names."""

from sam_tui.adapters.instructions.files import PROJECT_FILES, USER_FILE, FileInstructions

__all__ = ["PROJECT_FILES", "USER_FILE", "FileInstructions"]
