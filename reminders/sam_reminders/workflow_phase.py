"""Keeps the phase before the model's eyes: which step, which tools, what failed, what is left."""

from sam_tui.core.prompt.view import TurnView
from sam_tui.core.workflow.service import Workflows


class WorkflowPhaseReminder:
    """Where the workflow of a conversation stands; silent where there is none."""

    name = "workflow_phase"

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows

    def content(self, view: TurnView) -> str | None:
        """The phase between ``<workflowPhase>`` tags, or None."""
        digest = self._workflows.digest(view.conversation)
        return f"<workflowPhase>\n{digest}\n</workflowPhase>" if digest else None
