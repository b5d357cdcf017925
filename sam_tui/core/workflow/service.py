"""The door to workflows: every front end, tool, server and runner comes through ``Workflows``.

    workflows = Workflows(store, source, clock, announce)
    done = workflows.start("fix-bug", params={"objective": "..."})
    done = workflows.advance(done.opened[0].token, {"summary": "..."})     # any driver, by token
    done = workflows.submit(done.execution_id, "fix", {"summary": "..."})  # a driver in this process

All of it is synchronous and returns after the commit. What is refused raises ``WorkflowRefused``
with a ``code`` and ``details``; nothing has changed then, but for the event that tells of it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sam_tui.core.clock import Clock
from sam_tui.core.errors import StorageError
from sam_tui.core.ports.workflows import (
    ArtifactRow,
    DefinitionSource,
    EventQuery,
    EventRow,
    EvidenceRow,
    FindingQuery,
    FindingRow,
    WorkflowStore,
)
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.workflow.definitions.catalog import WorkflowCatalog
from sam_tui.core.workflow.definitions.model import WorkflowDefinition, sha256
from sam_tui.core.workflow.execution.engine import WorkflowEngine
from sam_tui.core.workflow.gate import conversation_gate
from sam_tui.core.workflow.notes import FindingDraft, Witnessed, WorkflowNotes
from sam_tui.core.workflow.prompts import phase_digest
from sam_tui.core.workflow.records import WorkflowRecords
from sam_tui.core.workflow.upkeep import prune, sync
from sam_tui.core.workflow.views import (
    Advanced,
    AttemptView,
    DefinitionProblem,
    DefinitionView,
    ExecutionView,
    Phase,
    StepView,
    SyncReport,
    TextChunk,
    Ticket,
)


class Workflows:
    """All workflows of one data folder. ``announce`` hears each event after its commit."""

    def __init__(
        self,
        store: WorkflowStore,
        source: DefinitionSource,
        clock: Clock,
        announce: Callable[[EventRow], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._catalog = WorkflowCatalog(source)
        self._engine = WorkflowEngine(store, self._catalog, clock, announce)
        self._records = WorkflowRecords(store.reader)
        self._notes = WorkflowNotes(store, clock, announce)

    # -- definitions ---------------------------------------------------------------------------

    def definitions(self) -> tuple[DefinitionView, ...]:
        """Every workflow that can be started, by name. Files are read anew when they changed."""
        return self._catalog.views()

    def details(self, name: str) -> DefinitionView:
        """One workflow. Raises ``WorkflowRefused`` (``workflow_unknown``) with the nearest names."""
        return self._catalog.view(name)

    def definition(self, name: str) -> WorkflowDefinition:
        """The definition itself, as a start would pin it. Raises as ``details``."""
        return self._catalog.find(name).definition

    def personas(self) -> Mapping[str, str]:
        """Every persona's text by its name."""
        return self._catalog.personas()

    def lint(self, path: str = "") -> tuple[DefinitionProblem, ...]:
        """What is wrong with every definition file, or with the one at ``path``, by file and line."""
        return self._catalog.lint(path)

    def sync(self) -> SyncReport:
        """Compare the files with what was known, remember them, and say what differs."""
        return sync(self._store, self._catalog, self._clock.now())

    def create(self, name: str) -> str:
        """Write a new definition into the project's folder and return its path; ``UsageError``."""
        return self._catalog.create(name)

    # -- verbs ---------------------------------------------------------------------------------

    def start(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        execution_id: str = "",
        conversation: str = "",
        hold: bool = False,
    ) -> Advanced:
        """Begin an execution and open its first steps, each with a token.

        ``conversation`` makes it the one that conversation drives (its gate and reminder follow it);
        ``hold`` creates it ``idle``, for ``resume`` to begin. Codes: ``workflow_unknown``,
        ``workflow_invalid``, ``persona_unknown``, ``params_invalid``, ``execution_exists``,
        ``execution_id_invalid``, ``conversation_busy``.
        """
        return self._engine.start(
            name, params or {}, execution_id=execution_id, conversation=conversation, hold=hold
        )

    def advance(self, token: str, output: Any, *, execution_id: str = "") -> Advanced:
        """Finish the step that ``token`` was given for, and open what follows: one transaction.

        ``output`` is ``{"summary": str, ...}`` as the step's schema says, with optional
        ``artifacts``, ``findings``, ``suggested_findings`` and ``next_step_recommendation``; plain
        text counts as the summary. With ``execution_id`` a token of another is refused. Codes:
        ``token_malformed``, ``token_forged``, ``token_foreign``, ``token_replayed``,
        ``token_revoked``, ``token_expired``, ``execution_paused``, ``execution_closed``,
        ``step_not_running``, ``phase_mismatch``, ``output_invalid`` (the token stays good). A step
        that is over its deadline is timed out instead: its ``on_fail`` decides, see ``outcome``.
        The output of a human step must come from a person: who serves a model asks one first.
        """
        return self._engine.advance(token, output, execution_id=execution_id)

    def peek(self, token: str) -> Ticket:
        """The step that a token was given for, if ``advance`` would take it. It stays unused.

        Who serves a model looks before it asks the person of a human step, or runs a tool step.
        """
        return self._engine.peek(token)

    def submit(self, execution_id: str, step: str, output: Any) -> Advanced:
        """As ``advance``, for a driver in this process that holds no token.

        Codes: those of states and outputs, ``execution_unknown``, and ``phase_mismatch`` with
        ``expected`` (the open steps) and ``got``.
        """
        return self._engine.submit(execution_id, step, output)

    def fail_step(self, execution_id: str, step: str, error: str) -> Advanced:
        """The open attempt at a step failed: its ``on_fail`` decides what follows."""
        return self._engine.fail_step(execution_id, step, error)

    def pause(self, execution_id: str, reason: str = "") -> Advanced:
        """Stop handing out work. Open attempts stay open; their tokens are refused meanwhile."""
        return self._engine.pause(execution_id, reason)

    def resume(self, execution_id: str) -> Advanced:
        """Go on after a pause, or begin an idle one; fresh tokens for every open step.

        A question that waits is withdrawn: the step it was about is tried again.
        """
        return self._engine.resume(execution_id)

    def abandon(self, execution_id: str, reason: str = "") -> Advanced:
        """End it for good; open attempts are cancelled and their tokens revoked."""
        return self._engine.end(execution_id, "abandoned", reason)

    def fail(self, execution_id: str, reason: str) -> Advanced:
        """End it as failed. ``retry`` can open it again."""
        return self._engine.end(execution_id, "failed", reason)

    def diverge(self, execution_id: str, reason: str) -> Advanced:
        """End it as one that no longer follows its definition. ``retry`` can open it again."""
        return self._engine.end(execution_id, "diverged", reason)

    def retry(self, execution_id: str, step: str = "") -> Advanced:
        """Open a step afresh, with all that depends on it; no ``step``: the one that failed.

        Works on running, paused, failed and diverged executions.
        """
        return self._engine.retry(execution_id, step)

    def decide(self, execution_id: str, choice: str) -> Advanced:
        """Answer a paused execution's question: ``retry``, ``accept``, ``abort``, ``rollback:<step>``."""
        return self._engine.decide(execution_id, choice)

    def replan(self, execution_id: str, step: str, plan: Any) -> Advanced:
        """A new revision of a plan step's children. What is done and unchanged stays done."""
        return self._engine.replan(execution_id, step, plan)

    def expire(self) -> tuple[Advanced, ...]:
        """Time out what is over its deadline, in every running execution."""
        return self._engine.expire()

    def prune(self, older_than: float = 86_400.0) -> int:
        """Delete executions that ended longer ago than that many seconds; how many."""
        return prune(self._store, self._clock.now() - older_than)

    # -- tokens --------------------------------------------------------------------------------

    def tickets(self, execution_id: str, *, mint: bool = True) -> tuple[Ticket, ...]:
        """A ticket for every open step, none unless it is running; each with a fresh token.

        Earlier tokens of the same attempt stay good (a few of them): whoever is first finishes it.
        Without ``mint`` nothing is written and ``token`` is empty, for a driver in this process.
        """
        return self._engine.tickets(execution_id, mint=mint)

    # -- readers -------------------------------------------------------------------------------

    def execution(self, execution_id: str) -> ExecutionView:
        """One execution. Raises ``WorkflowRefused`` (``execution_unknown``)."""
        return self._records.execution(execution_id)

    def executions(self, *, state: str = "", limit: int = 50) -> tuple[ExecutionView, ...]:
        """Executions, newest first."""
        return self._records.executions(state=state, limit=limit)

    def steps(self, execution_id: str) -> tuple[StepView, ...]:
        """The steps in their order; steps that a plan added follow it."""
        return self._records.steps(execution_id)

    def history(self, execution_id: str) -> tuple[AttemptView, ...]:
        """Every attempt, in the order they began."""
        return self._records.history(execution_id)

    def events(self, query: EventQuery) -> Sequence[EventRow]:
        """Events by their sequence: ``EventQuery(execution, after=last_seen)`` to follow one."""
        return self._store.reader.events(query)

    def last_event(self) -> int:
        """The number of the newest event of all; it grows with every change. 0 before the first."""
        newest = self._store.reader.events(EventQuery(limit=1, newest=True))
        return newest[0].seq if newest else 0

    def artifacts(self, execution_id: str, step: str = "") -> Sequence[ArtifactRow]:
        """Artifacts without their text."""
        return self._records.artifacts(execution_id, step)

    def read_artifact(self, artifact_id: str, start: int = 0, length: int = 8192) -> TextChunk:
        """A range of an artifact in code points. Raises ``WorkflowRefused`` (``artifact_unknown``)."""
        return self._records.read_artifact(artifact_id, start, length)

    def findings(self, query: FindingQuery) -> Sequence[FindingRow]:
        """Findings, the gravest first; ``text`` is a full-text search."""
        return self._store.reader.findings(query)

    def evidence(self, execution_id: str) -> Sequence[EvidenceRow]:
        """What the host saw, in order."""
        return self._store.reader.evidence(execution_id)

    def open_evidence(self, execution_id: str, step: str) -> Sequence[EvidenceRow]:
        """What the host saw in the open attempt at a step; nothing where none is open."""
        attempts = self._store.reader.attempts(execution_id, step=step, status="open")
        return self._store.reader.evidence(execution_id, attempt=attempts[0].id) if attempts else ()

    # -- what is kept along the way ------------------------------------------------------------

    def add_artifact(
        self, execution_id: str, step: str, name: str, text: str, *, type_: str = "file"
    ) -> ArtifactRow:
        """Keep a text with an open step. Codes as for states; ``step_not_running``."""
        return self._notes.add_artifact(execution_id, step, name, text, type_=type_)

    def add_finding(self, draft: FindingDraft) -> FindingRow:
        """Keep a finding; what came from a person or a tool is accepted at once if it says so."""
        return self._notes.add_finding(draft)

    def update_finding(self, finding_id: str, changes: Mapping[str, Any]) -> FindingRow:
        """Change title, content, tags, severity, category or status. ``finding_unknown``."""
        return self._notes.update_finding(finding_id, changes)

    def review_finding(self, finding_id: str, accept: bool) -> FindingRow:
        """Promote a suggested finding, or turn it down."""
        return self._notes.review_finding(finding_id, accept)

    def witness(self, conversation: str, seen: Witnessed) -> EvidenceRow | None:
        """Keep what a call of a conversation came to as evidence of its open attempt, if it has one."""
        return self._notes.witness(conversation, seen)

    def add_note(self, execution_id: str, type_: str, data: Mapping[str, Any]) -> None:
        """Append an event of a driver's own: its ``type_`` must be none of the engine's."""
        self._notes.add_note(execution_id, type_, data)

    def add_usage(self, execution_id: str, step: str, usage: Mapping[str, Any]) -> None:
        """Note what a driver used: ``calls``, ``input_tokens``, ``output_tokens``, ``cost``."""
        self._notes.add_usage(execution_id, step, usage)

    def calls_left(self, execution_id: str) -> int | None:
        """Model calls that are left of the policy's budget; None where it sets none."""
        return self._records.calls_left(execution_id)

    # -- conversations: gate, phase, reminder --------------------------------------------------

    def phase(self, conversation: str) -> Phase | None:
        """What a conversation works on, or None when it drives no workflow."""
        return self._records.phase(conversation)

    def gate(self, conversation: str, scope: tuple[str, str] | None = None) -> Gate:
        """The gate of a conversation, for ``Turn`` and ``Executor.plan``; it follows the phases.

        Refusals name the phase, the call and what is allowed. Engine verbs always pass. A
        conversation without a phase is free, unless it was made for its ``scope`` execution and step.
        """
        return conversation_gate(lambda: self._records.phase(conversation), scope)

    def digest(self, conversation: str) -> str:
        """What the reminder says: phase, tools, tasks, last failure, budgets; empty for none."""
        phase = self._records.phase(conversation)
        if phase is None:
            return ""
        return phase_digest(phase, self._records, self._store.reader)

    def claim(self, execution_id: str, step: str, *, driver: str, conversation: str) -> None:
        """Note who works on a step's open attempt, and in which conversation."""
        self._engine.claim(execution_id, step, driver=driver, conversation=conversation)

    def begin_call(self, execution_id: str, step: str) -> Advanced | None:
        """Note that the call of an open tool step is made now. Its driver holds the execution.

        None: make it. Else an earlier call of the attempt was cut off and may have had its effect,
        so the execution is paused and asks a person: accept, or retry.
        """
        return self._engine.begin_call(execution_id, step)

    def withdraw_call(self, execution_id: str, step: str) -> None:
        """Note that a call that was begun was refused, and had no effect."""
        self._engine.withdraw_call(execution_id, step)

    def claimed(self, execution_id: str, step: str) -> str:
        """The conversation that the open attempt at a step was claimed for, or nothing."""
        attempts = self._store.reader.attempts(execution_id, step=step, status="open")
        return attempts[0].conversation if attempts else ""

    def check(self) -> None:
        """Write to the store and read it back. Raises ``StorageError`` where that fails."""
        text = "a store that can be written"
        with self._store.unit() as unit:
            unit.pin(sha256(text), text)
        if self._store.reader.pinned(sha256(text)) != text:
            raise StorageError("The store did not give back what was written.")

    def hold(self, execution_id: str) -> AbstractContextManager[bool]:
        """Be the one process that drives an execution; False when another does. Death lets go."""
        return self._store.hold(execution_id)
