"""The memory bank of seed 002 (3.9): files of what the one store has, written in the order of 4.1."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sam_tui.core.ports.workflows import EventQuery, EventRow
from sam_tui.core.workflow.execution.output import RESULT, SUMMARY
from sam_tui.core.workflow.execution.tickets import iso, task_folder
from sam_tui.core.workflow.planned import PLAN, PlannedTasks
from sam_tui.core.workflow.records import MOST_READ
from sam_tui.core.workflow.service import Workflows

_EVENTS = 100_000
BankFile = tuple[str, str]
"""Name and text."""
_DECISIONS = {
    "plan_adopted": "A plan was adopted",
    "plan_approved": "The plan was approved",
    "plan_unachievable": "The task was found not achievable",
    "replan_asked": "A new plan was requested",
    "budget_exhausted": "A budget was used up",
    "question_answered": "A person decided",
}
"""Events that are decisions, with their headings."""
_STATES = {"completed": "COMPLETED", "abandoned": "ABANDONED", "running": "RUNNING"}


class MemoryBank:
    """The files of one task, of what the store has now. Each method raises ``WorkflowRefused``."""

    def __init__(self, workflows: Workflows, task_id: str) -> None:
        self._workflows = workflows
        self._task = task_id
        self._planned = PlannedTasks(workflows)

    @property
    def folder(self) -> str:
        """Where the files stand among the saved tasks."""
        created_at = self._workflows.records.execution(self._task).created_at
        return f"{task_folder(self._task, created_at)}/memory_bank"

    def definition(self) -> BankFile:
        """What is to be achieved: written before a plan is made."""
        return "task_definition.md", f"# Task\n\n{self._planned.task_of(self._task)}\n"

    def context(self) -> BankFile:
        """The working context: written at the beginning and whenever a step has ended."""
        context = self._workflows.records.context(self._task)
        return "current_working_context.json", _json(context)

    def decisions(self) -> BankFile:
        """Plans, approvals and failures that were planned around."""
        return "key_decisions_and_learnings.md", _decisions(self._events())

    def decided(self, after: int) -> tuple[bool, int]:
        """Whether decisions follow the event with this number, and the number of the newest event."""
        events = self._workflows.records.reader.events(
            EventQuery(self._task, after=after, limit=_EVENTS)
        )
        newest = events[-1].seq if events else after
        return any(event.type in _DECISIONS for event in events), newest

    def archive(self) -> list[BankFile]:
        """The files that are written when the task has ended."""
        result = self._planned.result(self._task)
        answer = result["finalAnswer"] or "There is none yet."
        log = _log(result["executedPlan"], str(result["message"]))
        return [
            ("final_answer_archive.md", f"# Answer\n\n{answer}\n"),
            ("execution_log_summary.md", log),
            *self._summaries(),
            ("task_state.json", _json(_state(self._workflows, self._task, result))),
            ("journal.json", _json([_entry(event) for event in self._events()])),
        ]

    def files(self) -> list[BankFile]:
        """All files of the bank in the order in which they are written."""
        return [self.definition(), self.context(), self.decisions(), *self.archive()]

    def _summaries(self) -> list[BankFile]:
        """Long results, their summaries, and the hash that a summary is found by."""
        records, files = self._workflows.records, list[BankFile]()
        for row in records.artifacts(self._task):
            if row.name not in (RESULT, SUMMARY):
                continue
            name = f"{row.step.replace('/', '_')}_{row.name}"
            files.append((name, records.read_artifact(row.id, 0, MOST_READ).text))
            if row.name == SUMMARY:
                files.append((f"{name}.meta.json", _json(row.metadata)))
        return files

    def _events(self) -> Sequence[EventRow]:
        return self._workflows.records.reader.events(EventQuery(self._task, limit=_EVENTS))


class BankWriter:
    """Writes the bank of a task while it is driven, in the order of seed 002, 4.1.

    What cannot be written is reported once and ends nothing: the store has it all.
    """

    def __init__(
        self, bank: MemoryBank, save: Callable[[str, str], None], report: Callable[[str], None]
    ) -> None:
        self._bank = bank
        self._save = save
        self._report = report
        self._folder = bank.folder
        self._seen = 0
        self._broken = False

    def begin(self) -> None:
        """Before anything is planned or carried out."""
        self._write([self._bank.definition(), self._bank.context()])

    def step(self) -> None:
        """A step has ended."""
        decided, self._seen = self._bank.decided(self._seen)
        self._write([self._bank.context(), *([self._bank.decisions()] if decided else ())])

    def end(self) -> None:
        """Write the bank once the execution has ended or waits for a person."""
        self._write([self._bank.context(), self._bank.decisions(), *self._bank.archive()])

    def _write(self, files: Sequence[BankFile]) -> None:
        if self._broken:
            return
        try:
            for name, text in files:
                self._save(f"{self._folder}/{name}", text)
        except OSError as error:
            self._report(f"The memory bank cannot be written: {error.strerror}.")
            self._broken = True


def _state(workflows: Workflows, task_id: str, result: dict[str, object]) -> dict[str, object]:
    """``task_state.json`` with the seed's fields."""
    view = workflows.records.execution(task_id)
    steps = workflows.records.steps(task_id)
    failed = next((step for step in steps if step.error and step.status != "completed"), None)
    made = "PLAN_GENERATED" if result["plan"] else "PLANNING"
    broken = "FAILED_EXECUTION" if result["plan"] else "FAILED_PLANNING"
    ended = broken if view.state in ("failed", "diverged") else made
    return {
        "taskId": task_id,
        "userTaskString": result["originalTask"],
        "status": _STATES.get(view.state, ended),
        "plan": result["plan"],
        "plan_source": "llm" if view.workflow == PLAN else "template",
        "executionContext": result["executedPlan"],
        "finalAnswer": result["finalAnswer"],
        "errorSummary": {"reason": view.reason, "failedStep": failed.id if failed else None}
        if view.reason
        else None,
        "currentWorkingContext": result["currentWorkingContext"],
        "createdAt": iso(view.created_at),
        "updatedAt": iso(view.updated_at),
    }


def _decisions(events: Sequence[EventRow]) -> str:
    lines = ["# Decisions and learnings", ""]
    for event in events:
        if event.type in _DECISIONS:
            data = event.data.items()
            about = "; ".join(f"{name}: {value}" for name, value in data if name != "fingerprint")
            lines.append(f"- {iso(event.at)} {_DECISIONS[event.type]} ({event.step}): {about}")
    return "\n".join(lines) + "\n"


def _log(executed: object, message: str) -> str:
    lines = ["# Execution", "", message, ""]
    for entry in cast("list[dict[str, Any]]", executed):
        error = f": {entry['error_details']['message']}" if entry["error_details"] else ""
        who = f"{entry['assigned_agent_role']}/{entry['tool_name']}"
        lines.append(f"- {entry['stepId']} ({who}) {entry['status']}{error}")
    return "\n".join(lines) + "\n"


def _entry(event: EventRow) -> dict[str, object]:
    """An entry of the journal."""
    return {
        "timestamp": iso(event.at),
        "type": event.type.upper(),
        "source": event.step or "execution",
        "message": event.type.replace("_", " "),
        "details": event.data,
    }


def _json(value: Sequence[object] | Mapping[str, object]) -> str:
    """JSON with a line for each entry: deeper indentation costs three times as much at every step."""
    if isinstance(value, Mapping):
        lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()]
        return "{\n " + ",\n ".join(lines) + "\n}\n"
    return "[\n " + ",\n ".join(json.dumps(v, ensure_ascii=False) for v in value) + "\n]\n"
