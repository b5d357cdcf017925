"""Evidence: what the host itself saw a step do, so that no guard has to believe a report.

A call counts for the attempt that its conversation has claimed. The gate of a conversation comes
from here, so that the recorder begins to listen before the first call of a phase runs.
"""

from sam_tui.core.bus import Bus, Subscription
from sam_tui.core.display import Terminal
from sam_tui.core.events import ToolFinished
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.workflow.execution.completion import RecordedCall
from sam_tui.core.workflow.gate import UNGATED
from sam_tui.core.workflow.service import Workflows


class EvidenceRecorder:
    """Records the calls of conversations that work on a step, as evidence. Subscribes to events only while
    there are any."""

    def __init__(self, workflows: Workflows, bus: Bus) -> None:
        self._workflows = workflows
        self._bus = bus
        self._subscription: Subscription | None = None
        self._watched: set[str] = set()

    def gate(self, conversation: str, scope: tuple[str, str] | None = None) -> Gate:
        """The gate of a conversation; calls that it lets through during a phase are recorded."""
        decide = self._workflows.gate(conversation, scope)

        def watched(key: str) -> str:
            self.watch(conversation)
            return decide(key)

        return watched

    def watch(self, conversation: str) -> None:
        """Keep what was heard so far, and go on listening if the conversation is at work."""
        self.flush()
        if self._workflows.records.is_at_work(conversation):
            self._watched.add(conversation)
        else:
            self._watched.discard(conversation)
        if self._watched and self._subscription is None:
            self._subscription = self._bus.subscribe()
        elif not self._watched and self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def flush(self) -> None:
        """Write down everything heard. Called before a step hands in its output."""
        if calls := self.take():
            self._workflows.notes.add_evidence(calls)

    def take(self) -> list[RecordedCall]:
        """The calls recorded since the last look; the caller stores them with the outcome of the step."""
        return [
            recorded_call(event)
            for event in (self._subscription.drain() if self._subscription else ())
            if isinstance(event, ToolFinished)
            and event.conversation in self._watched
            # A verb of the engine bears out nothing: else every advance would vouch for itself.
            and event.operation.partition(".")[0] not in UNGATED
        ]

    def close(self) -> None:
        """Hear nothing more."""
        self.flush()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None


def recorded_call(event: ToolFinished) -> RecordedCall:
    """A finished call as evidence: a command by its text and exit code, anything else by its line."""
    card = next((d for d in event.display if isinstance(d, Terminal)), None)
    code = card.exit_code if card else None
    subject = card.command if card else event.summary
    ok = event.ok and code in (None, 0)
    return RecordedCall(event.conversation, event.operation, subject, ok, code, event.text)
