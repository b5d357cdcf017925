"""document_operations: import documents into memory, make new ones, look at one."""

from sam_tools.document_operations.tool import DocumentOperations

__all__ = ["DocumentOperations"]
