"""Workflows on disk: rows, and the unit of work that changes them.

A row has everything that is stored about a thing; ``save`` inserts or replaces it by its key. Times
are seconds since the epoch. Fields that end in ``_json`` hold one JSON value as text; most have a
property without that ending, which reads it.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sam_tui.core.ports.prompts import Origin

ExecutionState = Literal[
    "idle", "running", "paused", "completed", "failed", "abandoned", "diverged"
]
StepStatus = Literal["completed", "failed", "running", "pending", "skipped"]
"""In the order in which ``ExecutionView.totals`` counts them."""
AttemptStatus = Literal["open", "completed", "failed", "timed_out", "cancelled"]
TaskStatus = Literal["pending", "running", "completed", "failed"]
Severity = Literal["info", "low", "medium", "high", "critical"]
Review = Literal["suggested", "accepted", "rejected"]


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """The question of a paused execution: answer with ``decide`` and one of ``choices``."""

    step: str
    prompt: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One run of a definition; ``version`` names the pinned definition, ``personas_json`` maps names to
    pinned hashes, ``conversation`` drives it (or is empty)."""

    id: str
    workflow: str
    version: str
    personas_json: str
    params_json: str
    state: ExecutionState
    reason: str
    conversation: str
    rollbacks: int
    replans: int
    question_json: str
    created_at: float
    started_at: float | None
    updated_at: float
    completed_at: float | None

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the execution."""
        return json.loads(self.params_json)

    @property
    def question(self) -> StepQuestion | None:
        """The question to a person; None if there is none."""
        if not self.question_json:
            return None
        fields = json.loads(self.question_json)
        return StepQuestion(fields["step"], fields["prompt"], tuple(fields["choices"]))

    @property
    def awaits_approval(self) -> bool:
        """Whether it is paused with a plan that a person is to approve."""
        return self.question is not None and "approve" in self.question.choices


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step; ``spec_json`` is set for steps a plan added, ``parent`` is that plan step.

    ``revision`` counts plans made or lists begun; ``cursor`` is the item to do next (each).
    """

    execution: str
    id: str
    position: int
    parent: str = ""
    revision: int = 0
    spec_json: str = ""
    status: StepStatus = "pending"
    attempts: int = 0
    tries: int = 0
    """Attempts since the step was last opened again; the retry limit counts them."""
    cursor: int = -1
    output_json: str = ""
    error: str = ""
    started_at: float | None = None
    completed_at: float | None = None

    @property
    def output(self) -> dict[str, Any] | None:
        """The output of the last success; None if there is none."""
        return json.loads(self.output_json) if self.output_json else None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt at a step; ``task`` is the item's position or None."""

    id: str
    execution: str
    step: str
    number: int
    task: int | None
    status: AttemptStatus
    driver: str
    conversation: str
    output_json: str
    error: str
    started_at: float
    deadline: float | None
    ended_at: float | None

    @property
    def output(self) -> dict[str, Any] | None:
        """The output that was handed in."""
        return json.loads(self.output_json) if self.output_json else None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One item of a step that runs once for each; ``revision`` as in its step."""

    execution: str
    step: str
    revision: int
    position: int
    id: str
    title: str
    critical: bool
    status: TaskStatus
    payload_json: str

    @property
    def payload(self) -> dict[str, Any]:
        """The item as the list has it."""
        return json.loads(self.payload_json)


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A continuation token by its SHA-256; the token itself is never stored."""

    hash: str
    execution: str
    step: str
    attempt: str
    issued_at: float
    expires_at: float
    used_at: float | None = None
    revoked: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A call that the host recorded during an attempt: how it ended, and a hash of its result."""

    id: str
    execution: str
    step: str
    attempt: str
    operation: str
    subject: str
    ok: bool
    exit_code: int | None
    sha256: str
    made_at: float


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """An artifact of a step, without its text. ``size`` in bytes of UTF-8."""

    id: str
    execution: str
    step: str
    attempt: str
    type: str
    name: str
    content_type: str
    size: int
    sha256: str
    metadata_json: str
    created_at: float

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the step handed in."""
        return json.loads(self.metadata_json)


@dataclass(frozen=True, slots=True)
class FindingRow:
    """Something learnt; it counts once ``review`` is ``accepted``."""

    id: str
    execution: str
    step: str
    scope: Literal["global", "project", "system"]
    project: str
    category: str
    severity: Severity
    title: str
    content: str
    tags_json: str
    status: Literal["active", "deprecated"]
    review: Review
    source: str
    created_at: float
    updated_at: float

    @property
    def tags(self) -> list[str]:
        """Words to find it by."""
        return json.loads(self.tags_json)


@dataclass(frozen=True, slots=True)
class EventRow:
    """Something that happened; ``seq`` grows by one for each event of the whole store."""

    seq: int
    execution: str
    type: str
    step: str
    attempt: str
    data_json: str
    at: float

    @property
    def data(self) -> dict[str, Any]:
        """The facts of this type of event."""
        return json.loads(self.data_json)


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A definition file in its last seen form; ``missing_at`` is set after it has vanished."""

    origin: Origin
    kind: Literal["workflow", "persona"]
    path: str
    name: str
    sha256: str
    missing_at: float | None = None


StoredRow = (
    ExecutionRow | StepRow | AttemptRow | TaskRow | TokenRow | EvidenceRow | FindingRow | KnownFile
)
"""The rows that are saved as they are; an artifact comes with its text, an event gets its number."""


@dataclass(frozen=True, slots=True)
class FindingQuery:
    """A filter on findings; empty fields do not restrict. ``text`` is searched as words."""

    execution: str = ""
    scope: str = ""
    project: str = ""
    status: str = ""
    review: str = ""
    text: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A filter on events; empty fields do not restrict. ``newest`` turns the order round."""

    execution: str = ""
    type: str = ""
    step: str = ""
    after: int = 0
    limit: int = 100
    newest: bool = False


class WorkflowReader(Protocol):
    """Reads committed rows, or within a unit also its own changes."""

    def execution(self, execution: str) -> ExecutionRow | None: ...
    def executions(self, *, state: str = "", limit: int = 50) -> Sequence[ExecutionRow]:
        """Newest first."""
        ...

    def driven_by(self, conversation: str) -> ExecutionRow | None:
        """The newest execution that is running or paused and driven by a conversation."""
        ...

    def step(self, execution: str, step: str) -> StepRow | None: ...
    def steps(self, execution: str) -> Sequence[StepRow]:
        """All steps of an execution by position."""
        ...

    def attempts(self, execution: str, *, step: str = "", status: str = "") -> Sequence[AttemptRow]:
        """Attempts in the order they began."""
        ...

    def attempt_of(self, conversation: str) -> AttemptRow | None:
        """The open attempt that a conversation works on."""
        ...

    def tasks(self, execution: str, step: str, revision: int) -> Sequence[TaskRow]: ...
    def token(self, hash_: str) -> TokenRow | None: ...
    def evidence(self, execution: str, *, attempt: str = "") -> Sequence[EvidenceRow]: ...
    def artifacts(self, execution: str, *, step: str = "") -> Sequence[ArtifactRow]: ...
    def artifact(self, artifact: str) -> ArtifactRow | None: ...
    def artifact_text(self, artifact: str, start: int, length: int) -> tuple[str, int]:
        """A range of the text and its whole length, in code points."""
        ...

    def findings(self, query: FindingQuery) -> Sequence[FindingRow]:
        """The gravest first, then the newest."""
        ...

    def finding(self, finding: str) -> FindingRow | None: ...
    def finding_marks(self) -> Mapping[tuple[str, str], tuple[int, float]]:
        """For each scope and project something that changes with its findings."""
        ...

    def events(self, query: EventQuery) -> Sequence[EventRow]: ...
    def revision(self) -> object:
        """Return a value that differs after any write, by this process or another."""
        ...

    def pinned(self, sha256: str) -> str | None:
        """A pinned text: a definition or a persona."""
        ...

    def known_files(self) -> Sequence[KnownFile]: ...


class WorkflowUnit(WorkflowReader, Protocol):
    """One write transaction, committed whole when its block ends, or not at all."""

    def follow_clock(self, now: float, running: float, boot: str) -> None:
        """Note the time of day and the seconds since the machine's start.

        Deadlines, tokens and beginnings of open steps move by as much as the clock was set since the
        last note.
        """
        ...

    def save(self, row: StoredRow) -> None:
        """Insert a row, or replace the one with its key."""
        ...

    def spend_token(self, hash_: str, at: float) -> bool:
        """Compare and swap: whether it was unused and not revoked, and is used from now on."""
        ...

    def revoke_tokens(self, attempt: str, why: str, *, keep: int = 0) -> None:
        """No unused token of an attempt is good any more, but for the ``keep`` newest."""
        ...

    def save_artifact(self, row: ArtifactRow, text: str) -> None: ...
    def pin(self, sha256: str, text: str) -> None: ...
    def delete_execution(self, execution: str) -> None:
        """Delete an execution and everything that belongs to it, except accepted findings."""
        ...

    def append(self, row: EventRow) -> int:
        """Add an event (its own ``seq`` is ignored) and return its sequence number."""
        ...


class WorkflowStore(Protocol):
    """The store of one data folder, each change committed on return; raises ``StorageError``."""

    @property
    def reader(self) -> WorkflowReader: ...
    def unit(self) -> AbstractContextManager[WorkflowUnit]:
        """A write transaction that waits for other processes."""
        ...

    def hold(self, execution: str) -> AbstractContextManager[bool]:
        """Hold the lock of the process that drives an execution.

        Yields False while another process holds it. The lock ends with its process.
        """
        ...

    def close(self) -> None: ...
