"""What a run adds up to: the totals that its result carries, folded from events."""

from time import monotonic
from typing import Any

from sam_tui.core.display import Diff
from sam_tui.core.events import (
    Answered,
    DecisionMade,
    Event,
    InquiryClosed,
    ModelRetried,
    RequestSent,
    TerminalClosed,
    TerminalOpened,
    TodosChanged,
    ToolFinished,
    TurnFinished,
)
from sam_tui.core.ids import CallId, SessionId
from sam_tui.core.messages import ToolCall
from sam_tui.core.todos import Todo
from sam_tui.core.usage import Usage
from sam_tui.headless.arguments import tool_input


class Ledger:
    """Totals of one run; ``take`` every event in order."""

    def __init__(self, todos: tuple[Todo, ...] = ()) -> None:
        self.started = monotonic()
        self.todos = todos
        self.finished: TurnFinished | None = None
        self.unattended = 0
        self.turns = 0
        self.usage = Usage()
        self.last_text = ""
        self.files_changed: list[str] = []
        self.denials: list[dict[str, Any]] = []
        self.terminals: list[SessionId] = []
        self._api_seconds = 0.0
        self._asked_at: float | None = None
        self._calls: dict[CallId, ToolCall] = {}

    def take(self, event: Event) -> None:
        """Count one event."""
        match event:
            case RequestSent(step=step):
                self.turns = step
                self._asked_at = monotonic()
            case ModelRetried():
                self._stop_asking()
            case Answered():
                self._stop_asking()
                self._answered(event)
            case ToolFinished():
                self._tool_finished(event)
            case DecisionMade():
                self._decided(event)
            case InquiryClosed(outcome="unattended"):
                self.unattended += 1
            case TodosChanged(items=items):
                self.todos = items
            case TerminalOpened(session=session):
                self.terminals.append(session)
            case TerminalClosed(session=session) if session in self.terminals:
                self.terminals.remove(session)
            case TurnFinished():
                self._stop_asking()
                self.finished = event
            case _:
                pass

    @property
    def milliseconds(self) -> int:
        """Since the run began."""
        return round((monotonic() - self.started) * 1000)

    @property
    def api_milliseconds(self) -> int:
        """Spent waiting for the model."""
        return round(self._api_seconds * 1000)

    def tool_name(self, call: CallId, otherwise: str) -> str:
        """The name by which the model called."""
        known = self._calls.get(call)
        return known.name if known else otherwise

    def _stop_asking(self) -> None:
        if self._asked_at is not None:
            self._api_seconds += monotonic() - self._asked_at
            self._asked_at = None

    def _answered(self, event: Answered) -> None:
        self.usage = self.usage.plus(event.usage)
        self.last_text = event.message.text or self.last_text
        self._calls.update({call.id: call for call in event.message.calls})

    def _tool_finished(self, event: ToolFinished) -> None:
        changed = [d.path for d in event.display if isinstance(d, Diff)] if event.ok else []
        self.files_changed.extend(p for p in changed if p not in self.files_changed)

    def _decided(self, event: DecisionMade) -> None:
        if event.decision.allowed:
            return
        call = self._calls.get(event.call)
        self.denials.append({
            "tool_name": call.name if call else event.decision.operation,
            "tool_use_id": event.call,
            "tool_input": tool_input(call.arguments) if call else {},
            "operation": event.decision.operation,
            "rule": event.decision.rule,
            "reason": event.decision.reason,
        })
