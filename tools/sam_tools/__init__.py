"""The model's hands: the explicit list of built-in tools, in the order the model sees (seed 004)."""

from sam_tools.file_operations import FileOperations
from sam_tools.increase_max_iterations import IncreaseMaxIterations
from sam_tools.memory_operations import MemoryOperations
from sam_tools.prompts import ListMiniPrompts, ListSystemPrompts
from sam_tools.read_tool_result import ReadToolResult
from sam_tools.recall_history import RecallHistory
from sam_tools.run_subagent import SubagentTool
from sam_tools.terminal_operations import TerminalOperations
from sam_tools.think import Think
from sam_tools.todo_operations import TodoOperations
from sam_tools.user_collaboration import UserCollaboration
from sam_tui.core.services import Services
from sam_tui.core.tooling.contract import Tool


def build_tools(services: Services) -> list[Tool]:
    """Every built-in tool, each given only what it needs."""
    remembered = services.remembered
    return [
        Think().tool(),
        UserCollaboration(services.inquiries).tool(),
        SubagentTool(services.subagents).tool(),
        IncreaseMaxIterations(services.budgets.get).tool(),
        ListSystemPrompts(services.prompts).tool(),
        ListMiniPrompts(services.prompts).tool(),
        MemoryOperations(
            remembered.memories, remembered.notes, remembered.knowledge, services.clock
        ).tool(),
        TodoOperations(services.todos).tool(),
        ReadToolResult(services.results).tool(),
        RecallHistory(remembered.archive, remembered.memories).tool(),
        FileOperations(services.files, services.search).tool(),
        TerminalOperations(services.commands, services.terminals, services.publish).tool(),
    ]
