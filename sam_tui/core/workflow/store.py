"""The store beneath the verbs: its transactions, claims on open steps, notes on executions, its upkeep."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from sam_tui.core.clock import Clock, boot, iso
from sam_tui.core.errors import StorageError
from sam_tui.core.ports.workflows import (
    ArtifactRow,
    AttemptRow,
    EventRow,
    FindingRow,
    KnownFile,
    WorkflowStore,
)
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.usage import Usage
from sam_tui.core.workflow.catalog import WorkflowCatalog
from sam_tui.core.workflow.definitions.model import sha256
from sam_tui.core.workflow.execution.case import ENDED, ExecutionCase, Transaction
from sam_tui.core.workflow.execution.completion import (
    RecordedCall,
    keep_artifact,
    keep_evidence,
    save_finding,
)
from sam_tui.core.workflow.execution.output import SUMMARY, ArtifactDraft, FindingDraft
from sam_tui.core.workflow.execution.progress import settled
from sam_tui.core.workflow.execution.recovery import WITHDRAWN, begin_call
from sam_tui.core.workflow.execution.tickets import read_token, redeem
from sam_tui.core.workflow.views import Advanced, WorkflowRefused


@dataclass(frozen=True, slots=True)
class Transactions:
    """Write transactions of one store. ``announce`` gets each event after its commit."""

    store: WorkflowStore
    clock: Clock
    announce: Callable[[EventRow], None]

    @contextmanager
    def begin(self) -> Generator[Transaction]:
        """A transaction that is committed where the block ends without an error."""
        with self.store.unit() as unit:
            now = self.clock.now()
            unit.follow_clock(now, self.clock.monotonic(), boot())
            transaction = Transaction(unit, now)
            yield transaction
        for event in transaction.events:
            self.announce(event)

    @contextmanager
    def case(self, execution_id: str) -> Generator[ExecutionCase]:
        """A stored execution to change. Raises ``WorkflowRefused`` (``execution_unknown``)."""
        with self.begin() as transaction:
            yield ExecutionCase.load(transaction, execution_id)

    @contextmanager
    def open_step(
        self, execution_id: str, step: str
    ) -> Generator[tuple[ExecutionCase, AttemptRow]]:
        """The open attempt at a step of a running execution. Raises ``WorkflowRefused``."""
        with self.case(execution_id) as case:
            case.require_running()
            yield case, case.require_open(step)

    @contextmanager
    def redeemed(
        self, token: str, execution_id: str
    ) -> Generator[tuple[ExecutionCase, AttemptRow]]:
        """Return the open attempt of a token. A refusal of it or in the block is recorded."""
        text = read_token(token)
        with self.refusals(text["execution_id"], text["step_name"]), self.begin() as transaction:
            yield redeem(transaction, token, execution_id)

    @contextmanager
    def refusals(self, execution_id: str, step: str) -> Generator[None]:
        """Record a refusal of the block, in a transaction of its own: nothing else is left behind."""
        try:
            yield
        except WorkflowRefused as refusal:
            with self.begin() as transaction:
                row = transaction.unit.execution(execution_id)
                if row is not None:
                    kind = "token_expired" if refusal.code == "token_expired" else "refused"
                    ExecutionCase(transaction, row).record(kind, step, code=refusal.code)
            raise


class StepClaims:
    """Claims on the open steps of one store."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def hold(self, execution_id: str) -> AbstractContextManager[bool]:
        """Be the one process that drives an execution; False when another does. Death lets go."""
        return self._transactions.store.hold(execution_id)

    @contextmanager
    def drive(self, execution_id: str) -> Generator[None]:
        """``hold`` an execution. Raises ``WorkflowRefused`` (``execution_held``) when another does."""
        with self.hold(execution_id) as mine:
            if not mine:
                raise WorkflowRefused(
                    "execution_held",
                    f"Another process drives execution {execution_id}.",
                    hint="Wait for it, or pause it first.",
                    execution_id=execution_id,
                )
            yield

    def claim(self, execution_id: str, step: str, *, driver: str, conversation: str) -> None:
        """Note the worker of a step's open attempt, and its conversation."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            _claim(case, attempt, driver, conversation)

    def owner(self, execution_id: str, step: str) -> str:
        """The conversation that the open attempt at a step was claimed for, or nothing."""
        reader = self._transactions.store.reader
        attempts = reader.attempts(execution_id, step=step, status="open")
        return attempts[0].conversation if attempts else ""

    def begin_call(
        self, execution_id: str, step: str, *, driver: str = "", conversation: str = ""
    ) -> Advanced | None:
        """Note that the call of an open tool step is made now. Its driver holds the execution.

        With a ``conversation`` the step is claimed for it as well.

        None: make it. Else an earlier call of the attempt was cut off and may have had its effect,
        so the execution is paused and asks a person: accept, or retry.
        """
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            if not begin_call(case, attempt):
                return settled(case)
            if conversation:
                _claim(case, attempt, driver, conversation)
            return None

    def withdraw_call(self, execution_id: str, step: str) -> None:
        """Note that a call that was begun was refused, and had no effect."""
        with self._transactions.open_step(execution_id, step) as (case, attempt):
            case.record(WITHDRAWN, step, attempt.id)


def _claim(case: ExecutionCase, attempt: AttemptRow, driver: str, conversation: str) -> None:
    case.unit.save(replace(attempt, driver=driver, conversation=conversation))
    case.record("step_claimed", attempt.step, attempt.id, driver=driver)


class StoreUpkeep:
    """Compares definition files with the store, and prunes it."""

    def __init__(self, store: WorkflowStore, catalog: WorkflowCatalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    def sync(self) -> dict[str, list[str]]:
        """Compare the definition files with the remembered ones, and remember them.

        Returns names of workflows and personas: ``added``, ``updated``, ``unchanged`` and ``missing``.
        """
        recorded = {file.path: file for file in self._store.reader.known_files()}
        report: dict[str, list[str]] = {"added": [], "updated": [], "unchanged": [], "missing": []}
        with self._store.unit() as unit:
            for name, file in self._catalog.files():
                before = recorded.pop(file.path, None)
                same = before is not None and before.sha256 == file.sha256
                new = before is None or before.missing_at is not None
                report["added" if new else "unchanged" if same else "updated"].append(name)
                unit.save(KnownFile(file.origin, file.kind, file.path, name, file.sha256))
            for absent in (file for file in recorded.values() if file.missing_at is None):
                unit.save(replace(absent, missing_at=self._clock.now()))
                report["missing"].append(absent.name)
        return report

    def prune(self, older_than: float) -> int:
        """Delete executions that ended longer ago than that many seconds; accepted findings stay."""
        before = self._clock.now() - older_than
        old = [
            row.id
            for state in sorted(ENDED)
            for row in self._store.reader.executions(state=state, limit=100_000)
            if row.completed_at is not None and row.completed_at < before
        ]
        for execution in old:
            with self._store.unit() as unit:
                unit.delete_execution(execution)
        return len(old)

    def check(self) -> None:
        """Write to the store and read it back. Raises ``StorageError`` where that fails."""
        text = "a store that can be written"
        with self._store.unit() as unit:
            unit.pin(sha256(text), text)
        if self._store.reader.pinned(sha256(text)) != text:
            raise StorageError("The store did not return what was written.")


class WorkflowNotes:
    """Adds to executions without moving them."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def add_artifact(
        self, execution: str, step: str, name: str, text: str, *, type_: str = "file"
    ) -> ArtifactRow:
        """Keep a text with an open step. Raises ``WorkflowRefused``, of another step ``phase_mismatch``."""
        try:
            draft = ArtifactDraft.model_validate({"type": type_, "name": name, "content": text})
        except ValidationError as error:
            raise _invalid("artifact_invalid", error) from None
        with self._transactions.open_step(execution, step) as (case, attempt):
            return keep_artifact(case, attempt, draft)

    def add_summary(self, execution: str, step: str, summary: str, digest: str = "") -> None:
        """Store the short form of a result, for steps that read the result.

        ``digest`` is the SHA-256 of the summarised text, by which the summary is found again.
        """
        with self._transactions.case(execution) as case:
            output = {**(case.steps[step].output or {}), "processed_result_data": summary}
            case.put(case.steps[step], output_json=json.dumps(output, ensure_ascii=False))
            attempts = case.unit.attempts(execution, step=step, status="completed")
            if digest and attempts:
                metadata: dict[str, object] = {
                    "originalContentHash": digest,
                    "summaryGeneratedTimestamp": iso(case.now),
                }
                draft = ArtifactDraft(
                    type="report", name=SUMMARY, content=summary, metadata=metadata
                )
                keep_artifact(case, attempts[-1], draft)
            case.record("result_summarised", step, characters=len(summary), by_model=bool(digest))

    def add_finding(self, draft: FindingDraft) -> FindingRow:
        """Store a finding, and note it in the execution that it names. Raises ``WorkflowRefused``."""
        try:
            draft.require_project()
        except ValueError as error:
            raise WorkflowRefused("finding_invalid", f"{error}.") from None
        with self._transactions.begin() as transaction:
            row = save_finding(transaction.unit, draft, transaction.now)
            if draft.source_execution_id:
                case = ExecutionCase.load(transaction, draft.source_execution_id)
                case.record("finding_added", draft.step, finding=row.id, severity=row.severity)
        return row

    def update_finding(self, finding: str, changes: Mapping[str, object]) -> FindingRow:
        """Change some fields. Raises ``WorkflowRefused`` for unknown ones and unknown findings."""
        names = {"title", "content", "severity", "category", "tags"}
        allowed = {*names, "status"}
        if not changes or set(changes) - allowed:
            raise WorkflowRefused(
                "finding_invalid", f"Change one or more of: {', '.join(sorted(allowed))}."
            )
        with self._transactions.begin() as transaction:
            row = transaction.unit.finding(finding)
            if row is None:
                raise WorkflowRefused("finding_unknown", f"There is no finding {finding!r}.")
            status = changes.get("status", row.status)
            if status not in ("active", "deprecated"):
                raise WorkflowRefused("finding_invalid", "status is active or deprecated.")
            fields = {name: changes.get(name, getattr(row, name)) for name in names}
            try:
                draft = FindingDraft.model_validate(fields)
            except ValidationError as error:
                raise _invalid("finding_invalid", error) from None
            row = replace(
                row,
                **draft.model_dump(include=names - {"tags"}),
                tags_json=json.dumps(list(draft.tags), ensure_ascii=False),
                status=status,
                updated_at=transaction.now,
            )
            transaction.unit.save(row)
        return row

    def add_evidence(self, calls: Sequence[RecordedCall]) -> None:
        """Keep calls as evidence of the attempts that their conversations work on."""
        attempts = [self._transactions.store.reader.attempt_of(call.conversation) for call in calls]
        for execution in dict.fromkeys(a.execution for a in attempts if a is not None):
            with self._transactions.case(execution) as case:
                keep_evidence(case, calls)

    def add_note(self, execution: str, type_: str, data: Mapping[str, Any]) -> None:
        """Append an event of a driver's own: its ``type_`` must be none of the engine's."""
        with self._transactions.case(execution) as case:
            case.record(type_, **data)

    def add_usage(self, execution: str, step: str, calls: int, usage: Usage) -> None:
        """Note a step's use of models, with its subagents'; ``calls`` count for the budget."""
        with self._transactions.case(execution) as case:
            case.record(
                "model_used",
                step,
                calls=calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost=usage.cost,
            )


def _invalid(code: str, error: ValidationError) -> WorkflowRefused:
    faults = faults_of(error)
    return WorkflowRefused(code, f"{'; '.join(faults)}.", faults=faults)
