"""What is stored while an execution runs: artifacts, findings with their review, and evidence."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from sam_tui.core.ports.workflows import (
    ArtifactRow,
    FindingRow,
)
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.usage import Usage
from sam_tui.core.workflow.execution.case import ExecutionCase, Transaction, require_running
from sam_tui.core.workflow.execution.completion import (
    RecordedCall,
    finding_row,
    keep_artifact,
    keep_evidence,
)
from sam_tui.core.workflow.execution.output import SUMMARY, ArtifactDraft, FindingDraft
from sam_tui.core.workflow.execution.tickets import iso
from sam_tui.core.workflow.refusals import WorkflowRefused
from sam_tui.core.workflow.store import Transactions


class WorkflowNotes:
    """Adds to executions without moving them."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def add_artifact(
        self, execution: str, step: str, name: str, text: str, *, type_: str = "file"
    ) -> ArtifactRow:
        """Keep a text with an open step. Raises ``WorkflowRefused``."""
        try:
            draft = ArtifactDraft.model_validate({"type": type_, "name": name, "content": text})
        except ValidationError as error:
            raise _invalid("artifact_invalid", error) from None
        with self._transactions.case(execution) as case:
            require_running(execution, case.row.state)
            attempts = case.attempts(step=step)
            if not attempts:
                raise WorkflowRefused("step_not_running", f"Step {step} is not open now.")
            return keep_artifact(case, attempts[0], draft)

    def add_summary(self, execution: str, step: str, summary: str, digest: str = "") -> None:
        """Store the short form of a result, for steps that read the result.

        ``digest`` is the SHA-256 of what a model summarised: the summary is found by it again.
        """
        with self._transactions.case(execution) as case:
            row = case.steps[step]
            output: dict[str, object] = json.loads(row.output_json)
            text = json.dumps({**output, "processed_result_data": summary}, ensure_ascii=False)
            case.put(replace(row, output_json=text))
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
            row = finding_row(
                draft, draft.source_execution_id, draft.step, draft.source_agent, transaction.now
            )
            if draft.source_execution_id:
                case = ExecutionCase.load(transaction, draft.source_execution_id)
                case.record("finding_added", draft.step, finding=row.id, severity=row.severity)
            transaction.unit.save_finding(row)
        return row

    def update_finding(self, finding: str, changes: Mapping[str, object]) -> FindingRow:
        """Change some fields. Raises ``WorkflowRefused`` for unknown ones and unknown findings."""
        allowed = {"title", "content", "tags", "severity", "category", "status"}
        if not changes or set(changes) - allowed:
            raise WorkflowRefused(
                "finding_invalid", f"Change one or more of: {', '.join(sorted(allowed))}."
            )
        fields = dict(changes)
        status = fields.pop("status", None)
        if status not in (None, "active", "deprecated"):
            raise WorkflowRefused("finding_invalid", "status is active or deprecated.")
        with self._transactions.begin() as transaction:
            row = _finding(transaction, finding)
            before = {
                "title": row.title, "content": row.content, "severity": row.severity,
                "category": row.category, "tags": json.loads(row.tags_json),
            }  # fmt: skip
            try:
                draft = FindingDraft.model_validate({**before, **fields})
            except ValidationError as error:
                raise _invalid("finding_invalid", error) from None
            row = replace(
                row,
                title=draft.title,
                content=draft.content,
                severity=draft.severity,
                category=draft.category,
                tags_json=json.dumps(list(draft.tags), ensure_ascii=False),
                status=status or row.status,
                updated_at=transaction.now,
            )
            transaction.unit.save_finding(row)
        return row

    def add_evidence(self, calls: Sequence[RecordedCall]) -> None:
        """Keep calls as evidence of the attempts that their conversations work on."""
        attempts = [self._transactions.reader.attempt_of(call.conversation) for call in calls]
        for execution in dict.fromkeys(a.execution for a in attempts if a is not None):
            with self._transactions.case(execution) as case:
                keep_evidence(case, calls)

    def add_note(self, execution: str, type_: str, data: Mapping[str, Any]) -> None:
        """Append an event of a driver's own: its ``type_`` must be none of the engine's."""
        with self._transactions.case(execution) as case:
            case.record(type_, **data)

    def add_usage(self, execution: str, step: str, calls: int, usage: Usage) -> None:
        """Note what a step used of models, its subagents included; ``calls`` count for the budget."""
        used: dict[str, Any] = {
            "calls": calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost": usage.cost,
        }
        with self._transactions.case(execution) as case:
            case.record("model_used", step, **used)


def _finding(transaction: Transaction, finding: str) -> FindingRow:
    row = transaction.unit.finding(finding)
    if row is None:
        raise WorkflowRefused("finding_unknown", f"There is no finding {finding!r}.")
    return row


def _invalid(code: str, error: ValidationError) -> WorkflowRefused:
    faults = faults_of(error)
    return WorkflowRefused(code, f"{'; '.join(faults)}.", details={"faults": faults})
