"""Keeps the phase before the model's eyes: which step, which tools, what failed, what is left."""

from collections.abc import Callable

from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.reminders import TurnView


class WorkflowPhaseReminder:
    """Where the workflow of a conversation stands; silent where there is none."""

    name = "workflow_phase"

    def __init__(self, digest: Callable[[ConversationId], str]) -> None:
        self._digest = digest

    def content(self, view: TurnView) -> str | None:
        """The phase between ``<workflowPhase>`` tags, or None."""
        digest = self._digest(view.conversation)
        return f"<workflowPhase>\n{digest}\n</workflowPhase>" if digest else None
