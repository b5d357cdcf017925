"""Patches as models write them: parsed, placed by context, applied to text."""

from sam_tools.file_operations.patch.application import created, patched
from sam_tools.file_operations.patch.dialects import parse
from sam_tools.file_operations.patch.pieces import FilePatch, Hunk, Line, Patch

__all__ = ["FilePatch", "Hunk", "Line", "Patch", "created", "parse", "patched"]
