"""Asks for a word on whether work goes on, in workflow mode (spec/sam.md 2.1, StatusSignal)."""

from collections.abc import Callable

from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.reminders import TurnView

_TEXT = (
    'Workflow mode is on. End every step of work with one line of JSON: {"status": "continue"} when'
    ' more of the task is left, {"status": "complete"} when all of it is done. Having planned, or'
    " having said what you will do, is not a step: continue only after something was done."
)


class StatusSignalReminder:
    """One paragraph while workflow mode is on."""

    name = "status_signal"

    def __init__(self, workflow_mode: Callable[[ConversationId], bool]) -> None:
        self._workflow_mode = workflow_mode

    def content(self, view: TurnView) -> str | None:
        """How to say that work goes on, or None outside workflow mode."""
        return _TEXT if self._workflow_mode(view.conversation) else None
