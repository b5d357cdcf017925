"""Commands and terminal sessions for the model (seed 004, terminal_operations)."""

from sam_tools.terminal_operations.tool import TerminalOperations, TerminalParts

__all__ = ["TerminalOperations", "TerminalParts"]
