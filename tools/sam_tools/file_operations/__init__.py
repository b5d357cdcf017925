"""file_operations: reading, searching and editing files (seed 004)."""

from sam_tools.file_operations.tool import FileOperations

__all__ = ["FileOperations"]
