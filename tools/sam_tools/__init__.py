"""The model's hands: the explicit list of built-in tools, in the order the model sees (seed 004)."""

from sam_tools.build_and_version_control import BuildAndVersionControl
from sam_tools.document_operations import DocumentOperations
from sam_tools.file_operations import FileOperations
from sam_tools.image_generation import ImageGeneration
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
from sam_tools.web_operations import WebOperations
from sam_tools.workflow import WorkflowTool
from sam_tui.core.services import Services
from sam_tui.core.tooling.contract import Tool


def build_tools(services: Services) -> list[Tool]:
    """Every built-in tool, each given only what it needs."""
    remembered, online = services.remembered, services.online
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
        WebOperations(
            online.web,
            online.search,
            services.documents,
            remembered.memories,
            serpapi=online.serpapi,
        ).tool(),
        DocumentOperations(
            services.documents,
            services.files,
            online.web,
            remembered.memories,
            remembered.documents,
            clock=services.clock,
        ).tool(),
        FileOperations(
            services.files,
            services.search,
            journal=services.journal,
            insight=services.insight,
            commands=services.commands,
        ).tool(),
        TerminalOperations(
            services.commands,
            services.terminals,
            services.publish,
            files=services.files,
            background=services.background,
        ).tool(),
        BuildAndVersionControl(
            services.commands,
            services.tasks,
            book=services.task_book,
            files=services.files,
            workspace=services.workspace,
        ).tool(),
        *([ImageGeneration(online.images, services.files).tool()] if online.images else []),
        WorkflowTool(
            services.workflows.workflows, services.inquiries, services.workflows.flush
        ).tool(),
    ]
