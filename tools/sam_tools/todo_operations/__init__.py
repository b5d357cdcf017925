"""The todo list of a conversation: read, write, update, add (seed 004, todo_operations)."""

from sam_tools.todo_operations.tool import TodoOperations

__all__ = ["TodoOperations"]
