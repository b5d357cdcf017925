"""Workflows that are opened on first use: before that they cost neither imports nor a database.

A runtime has one. Before the first workflow of a data folder there is nothing to ask, so gates are
open and reminders silent; after it a conversation is looked up, and the engine is only loaded for
those that work on a step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sam_tui.core.bus import Bus
from sam_tui.core.clock import Clock
from sam_tui.core.events import WorkflowMoved
from sam_tui.core.ids import ConversationId
from sam_tui.core.tooling.executor import Gate

if TYPE_CHECKING:
    from sam_tui.core.ports.prompts import DefinitionSource
    from sam_tui.core.ports.workflows import EventRow, WorkflowStore
    from sam_tui.core.workflow.drivers.run import EvidenceRecorder
    from sam_tui.core.workflow.service import Workflows
    from sam_tui.core.workflow.views import Phase

DATABASE = "workflows.db"
"""The file of the store in a data folder; without it, there are no executions."""


@dataclass(slots=True, eq=False)
class LazyWorkflows:
    """Opens workflows on first use, and answers for conversations: gate, phase and reminder.

    ``used`` tells whether the store exists yet.
    """

    store: "Callable[[], WorkflowStore]"
    source: "Callable[[], DefinitionSource]"
    used: Callable[[], bool]
    clock: Clock
    bus: Bus
    tools: Callable[[], Mapping[str, str]] | None = None
    _store: "WorkflowStore | None" = None
    _workflows: "Workflows | None" = None
    _recorder: "EvidenceRecorder | None" = None
    _new: set[ConversationId] = field(default_factory=set[ConversationId])
    _drivers: dict[str, ConversationId] = field(default_factory=dict[str, ConversationId])

    def on_conversation(self, conversation: ConversationId) -> None:
        """A conversation began in this program: before a workflow is opened here it is in no phase."""
        self._new.add(conversation)

    def workflows(self) -> "Workflows":
        """The service, opened if it is not. Raises ``StorageError``."""
        if self._workflows is None:
            from sam_tui.core.workflow.service import Workflows

            self._workflows = Workflows(
                self._opened(), self.source(), self.clock, self._announce, self.tools
            )
        return self._workflows

    def recorder(self) -> "EvidenceRecorder":
        """The recorder of calls, which become evidence of workflow steps."""
        if self._recorder is None:
            from sam_tui.core.workflow.drivers.run import EvidenceRecorder

            self._recorder = EvidenceRecorder(self.workflows(), self.bus)
        return self._recorder

    def flush(self) -> None:
        """Store the evidence so far; see ``EvidenceRecorder.flush``."""
        if self._recorder is not None:
            self._recorder.flush()

    def gate(self, conversation: ConversationId) -> Gate:
        """The gate of a conversation, for every turn of it; it follows the phases."""

        def decide(key: str) -> str:
            if not self._at_work(conversation):
                return ""
            return self.recorder().gate(conversation)(key)

        return decide

    def phase(self, conversation: ConversationId) -> "Phase | None":
        """The phase that a conversation works on, or None."""
        return self.workflows().records.phase(conversation) if self._at_work(conversation) else None

    def digest(self, conversation: ConversationId) -> str:
        """Return the reminder's text about a conversation; empty if there is nothing to say."""
        return self.workflows().records.digest(conversation) if self._at_work(conversation) else ""

    def close(self) -> None:
        """Store the evidence and close the store; closing again does nothing."""
        if self._recorder is not None:
            self._recorder.close()
        if self._store is not None:
            self._store.close()

    def _at_work(self, conversation: ConversationId) -> bool:
        """Whether a conversation may have a phase: two queries, and none where no store exists."""
        if self._workflows is not None:
            return True
        if conversation in self._new:
            return False
        if self._store is None and not self.used():
            return False
        reader = self._opened().reader
        return bool(reader.attempt_of(conversation) or reader.driven_by(conversation))

    def _opened(self) -> "WorkflowStore":
        self._store = self._store or self.store()
        return self._store

    def _announce(self, row: "EventRow") -> None:
        """Inform the front ends. An event of a conversation's own execution names that conversation."""
        conversation = self._drivers.get(row.execution)
        if conversation is None:  # whose an execution is never changes
            execution = self._opened().reader.execution(row.execution)
            conversation = ConversationId(execution.conversation if execution else "")
            self._drivers[row.execution] = conversation
        self.bus.publish(WorkflowMoved(conversation, row.execution, row.type, row.step, row.seq))
