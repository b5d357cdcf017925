"""workflow: work by phases, from within a conversation."""

from sam_tools.workflow.tool import WorkflowTool

__all__ = ["WorkflowTool"]
