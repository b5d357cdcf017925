"""The memory of the agent: memories, notes and long-term knowledge (seed 004, memory_operations)."""

from sam_tools.memory_operations.tool import MemoryOperations

__all__ = ["MemoryOperations"]
