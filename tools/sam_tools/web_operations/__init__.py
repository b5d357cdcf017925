"""web_operations: search, read and research the public web."""

from sam_tools.web_operations.tool import WebOperations

__all__ = ["WebOperations"]
