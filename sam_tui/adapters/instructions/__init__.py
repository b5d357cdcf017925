"""Instruction files: ``AGENTS.md``, and files of the same purpose under other names."""

from sam_tui.adapters.instructions.files import FileInstructions

__all__ = ["FileInstructions"]
