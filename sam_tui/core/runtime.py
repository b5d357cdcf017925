"""The interface of the core to a front end: everything that runs, behind a few names."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Protocol

from sam_tui.core.agent.budget import Budget, Limits
from sam_tui.core.agent.history import COPIED, INTERRUPTED, TAKEN_OVER, History
from sam_tui.core.agent.session import Session
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import NO_CONVERSATION, ConversationId, mint_conversation, named_conversation
from sam_tui.core.ports.memory import Scope
from sam_tui.core.services import Services

if TYPE_CHECKING:
    from sam_tui.core.authorization.guard import Guard
    from sam_tui.core.authorization.policy.policy import PermissionMode
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.bus import Bus
    from sam_tui.core.ports.calls import CallLog
    from sam_tui.core.ports.checkpoints import CheckpointStore
    from sam_tui.core.ports.documents import Pictures
    from sam_tui.core.ports.fleets import FleetControl
    from sam_tui.core.ports.model import Model, ModelCatalog
    from sam_tui.core.ports.policy import DecisionHistory
    from sam_tui.core.ports.processes.recordings import Recordings
    from sam_tui.core.ports.servers import McpServers
    from sam_tui.core.ports.storage import (
        ConversationCatalog,
        ConversationDocument,
        ConversationFiles,
        ConversationRecord,
        ConversationStore,
        NoticeStore,
    )
    from sam_tui.core.services import PluginReport
    from sam_tui.core.tooling.checkpoints import Rewinder
    from sam_tui.core.tooling.executor import Executor
    from sam_tui.core.tooling.registry import Registry
    from sam_tui.core.workflow.definitions.model import Step
    from sam_tui.core.workflow.drivers.models import ModelSource
    from sam_tui.core.workflow.drivers.run import StepHandOut
    from sam_tui.core.workflow.drivers.runner import Runner
    from sam_tui.core.workflow.views import StepView


class RuntimeParts(Services, Protocol):
    """The parts of a runtime, each made when it is first asked for."""

    bus: "Bus"
    trust: "FolderTrust"

    @property
    def guard(self) -> "Guard": ...
    @property
    def executor(self) -> "Executor": ...
    @property
    def engine(self) -> TurnEngine: ...
    @property
    def servers(self) -> "McpServers": ...
    @property
    def plugins(self) -> "tuple[PluginReport, ...]": ...
    @property
    def catalog(self) -> "ModelCatalog": ...
    def save_task_file(self, path: str, text: str) -> None:
        """Write a file among the saved tasks. Raises ``OSError``."""
        ...

    def remember(self, text: str) -> str:
        """Add a line to the person's own instructions; returns their path. Raises ``StorageError``."""
        ...

    @property
    def model_source(self) -> "ModelSource": ...
    @property
    def recordings(self) -> "Recordings": ...
    @property
    def pictures(self) -> "Pictures": ...
    @property
    def conversations(self) -> "ConversationStore": ...
    @property
    def notices(self) -> "NoticeStore": ...
    @property
    def calls(self) -> "CallLog": ...
    @property
    def sessions(self) -> "ConversationCatalog": ...
    @property
    def conversation_files(self) -> "ConversationFiles": ...
    @property
    def decisions(self) -> "DecisionHistory": ...
    @property
    def checkpoints(self) -> "CheckpointStore": ...
    @property
    def fleets(self) -> "FleetControl": ...
    @property
    def hand_out(self) -> "StepHandOut | None": ...
    def require_hand_out(self) -> None:
        """Raise ``UsageError`` where a role is to be handed out that cannot be."""
        ...

    async def end_processes(self) -> None:
        """End every task, command and terminal that was begun."""
        ...

    def release(self) -> None:
        """Release every part that was made, the newest first."""
        ...


Opening = Literal["continue", "fork", "take over"]
"""How a stored conversation is opened: as its one writer, as a copy, or from another program."""
_RECALLED, _RELEVANT = 5, 0.2
"""How many memories a planner reads, and the least relevance of each."""
UNUSED_SECONDS = 86_400.0
"""Age from which an unused conversation is nobody's any more, not even another process's."""


class Runtime(RuntimeParts):
    """One running workbench. ``assembly`` makes its parts; nothing in it is global.

    ``limits`` are of each turn. ``topic`` says whose memory new conversations share, empty for their own.
    """

    def __init__(self, limits: Limits, topic: str) -> None:
        self.limits = limits
        self.topic = topic
        self.model: Model | None = None
        self._closed = False
        self._made: set[ConversationId] = set()  # began here; empty ones are deleted at the end

    @property
    def registry(self) -> "Registry":
        """The tools that a call may name."""
        return self.executor.registry

    @property
    def rewinder(self) -> "Rewinder":
        """Restores the files to their state at a message."""
        from sam_tui.core.tooling.checkpoints import Rewinder

        return Rewinder(self.conversations, self.checkpoints)

    @property
    def mode(self) -> "PermissionMode":
        """The permission mode that holds now."""
        return self.guard.policy.mode

    def use_model(self, model: "Model") -> None:
        """The model of sessions opened from now on."""
        self.model = model

    def open_session(
        self,
        conversation: ConversationId | None = None,
        *,
        how: Opening = "continue",
        at: int | None = None,
    ) -> Session:
        """A new conversation, or a stored one continued, copied or taken from another program.

        ``at`` is the message that a copy ends at, see ``fork``.

        Raises ``UsageError`` for one of another workspace, ``ConversationInUse`` where another
        program writes to it.
        """
        identifier = named_conversation(conversation) if conversation else mint_conversation()
        broken = INTERRUPTED
        if how == "fork":
            identifier, broken = self.fork(identifier, at), COPIED
        elif self.engine.budgets.get(identifier) is not None:
            # Opening closes calls without a result as broken off; these still get theirs.
            raise UsageError(
                f"Conversation {identifier} is working.", hint="Wait until it ends, or cancel it."
            )
        record = self._own(identifier)
        if self.conversations.writer(identifier) is not None:
            broken = TAKEN_OVER
        self.conversations.claim(identifier, take_over=how == "take over")
        if record is None:
            self.conversations.create(identifier, self.workspace.root)
            self.workflows.on_conversation(identifier)
            self._made.add(identifier)
            if self.topic:
                self.remembered.memories.set_topic(identifier, self.topic)
        history = History(self.conversations, identifier)
        if record is not None:
            history.restore(self.executor.plan, broken=broken)
        return Session(self.engine, history, self.model, limits=self.limits)

    def document(self, conversation: ConversationId) -> "ConversationDocument":
        """A stored conversation as a document. Raises ``UsageError`` where there is none."""
        from sam_tui.core.ports.storage import ConversationDocument, DatedMessage

        record = self.conversations.find(conversation)
        if record is None:
            raise UsageError(f"There is no conversation {conversation}.")
        entries = [DatedMessage(*moment) for moment in self.conversations.timeline(conversation)]
        displays = self.conversations.call_displays(conversation)
        notices = self.notices.load(conversation)
        return ConversationDocument(record.title, record.workspace, entries, displays, notices)

    def add_document(self, document: "ConversationDocument") -> ConversationId:
        """Store a document as a new conversation of this workspace; returns its id."""
        conversation = mint_conversation()
        self.conversations.create(conversation, self.workspace.root)
        timeline = [(entry.at, entry.message) for entry in document.entries]
        self.conversations.add_whole(conversation, timeline, document.displays.values())
        if document.title:
            self.sessions.rename(conversation, document.title)
        return conversation

    def _own(self, conversation: ConversationId) -> "ConversationRecord | None":
        """The record of a conversation of this workspace. Raises ``UsageError`` for another's."""
        record = self.conversations.find(conversation)
        if record is not None and record.workspace != self.workspace.root:
            raise UsageError(
                f"Conversation {conversation} belongs to {record.workspace}.",
                hint="Open it with --workspace set to that folder.",
            )
        return record

    def fork(self, conversation: ConversationId, at: int | None = None) -> ConversationId:
        """Copy a conversation of this workspace; returns the copy's id.

        With ``at`` it ends at the message of that position, see ``ConversationStore.fork``.
        """
        if self._own(conversation) is None:
            raise UsageError(f"There is no conversation {conversation} to copy.")
        self.conversations.fork(conversation, copy := mint_conversation(), at=at)
        return copy

    def open_runner(self, report: Callable[[str], None]) -> "Runner":
        """A runner that drives executions with this runtime's agent; ``report`` receives progress.

        Raises ``SamError`` where steps are to be handed out and no queue can be opened.
        """
        from sam_tui.core.workflow.drivers.run import RunContext
        from sam_tui.core.workflow.drivers.runner import Runner

        crew = RunContext(
            self.engine,
            self.conversations,
            self.inquiries,
            self.model,
            self.model_source,
            NO_CONVERSATION,
            report,
            self.save_task_file,
            self._recall,
            self.hand_out,
            Budget(self.limits.steps, limits=self.limits),
        )
        return Runner(self.workflows.workflows(), crew, self.bus)

    def require_models(self, steps: "Iterable[Step | StepView]", service: str = "") -> None:
        """Raise ``ConfigurationError`` where steps would ask a model and none is chosen for them."""
        from sam_tui.core.workflow.drivers.models import RunModels

        RunModels(self.model, self.model_source, service).require(steps)

    async def _recall(self, conversation: ConversationId, task: str) -> str:
        """Return the memories about a task: knowledge of this workspace, or of the topic in use."""
        remembered = self.remembered
        scope = Scope(f"workspace:{self.workspace.root}")
        if self.topic:
            remembered.memories.set_topic(conversation, self.topic)
            scope = remembered.memories.scope_of(conversation)
        await remembered.memories.prepare([task])
        memories = remembered.memories.search(scope, task, limit=_RECALLED, threshold=_RELEVANT)
        learnt = remembered.knowledge.search(scope, task, limit=_RECALLED, threshold=_RELEVANT)
        lines = [hit.memory.draft.content for hit in memories]
        lines += [f"{hit.learnt.subject}: {hit.learnt.detail}" for hit in learnt]
        return "\n".join(f"- {' '.join(line.split())[:500]}" for line in lines)

    async def close(self) -> None:
        """End processes and connections, then release everything else. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.end_processes()
            if self.model is not None:
                await self.model.close()
            if self._made:
                before = self.engine.clock.now() - UNUSED_SECONDS
                self.conversations.remove_unused(before=before, also=self._made)
        finally:
            self.release()
