"""The memory bank of seed 002 (3.9) as an export of the one store, in the order of 4.1."""

import json
from collections.abc import Sequence
from typing import Any, cast

from sam_tui.core.ports.workflows import EventQuery, EventRow
from sam_tui.core.workflow.execution.tickets import iso, task_folder
from sam_tui.core.workflow.planned import PLAN, PlannedTasks
from sam_tui.core.workflow.service import Workflows

_EVENTS = 100_000
_DECISIONS = {
    "plan_adopted": "A plan was adopted",
    "plan_approved": "The plan was approved",
    "plan_unachievable": "The task was found not achievable",
    "replan_asked": "A new plan was asked for",
    "budget_exhausted": "A budget was used up",
    "question_answered": "A person decided",
}
"""Events that are decisions, with what they are called."""
_STATES = {"completed": "COMPLETED", "abandoned": "ABANDONED", "running": "RUNNING"}


def bank_folder(workflows: Workflows, task_id: str) -> str:
    """Where the files of a task's memory bank stand among the saved tasks."""
    created_at = workflows.records.execution(task_id).created_at
    return f"{task_folder(task_id, created_at)}/memory_bank"


def bank_files(workflows: Workflows, task_id: str) -> list[tuple[str, str]]:
    """Name and text of each file, in the order in which they are written. Raises ``WorkflowRefused``."""
    tasks = PlannedTasks(workflows)
    result = tasks.result(task_id)
    events = workflows.records.events(EventQuery(task_id, limit=_EVENTS))
    task, context = str(result["originalTask"]), result["currentWorkingContext"]
    return [
        ("task_definition.md", f"# Task\n\n{task}\n"),
        ("current_working_context.json", _json(context)),
        ("key_decisions_and_learnings.md", _decisions(events)),
        (
            "final_answer_archive.md",
            f"# Answer\n\n{result['finalAnswer'] or 'There is none yet.'}\n",
        ),
        ("execution_log_summary.md", _log(result["executedPlan"], str(result["message"]))),
        ("task_state.json", _json(_state(workflows, task_id, result))),
        ("journal.json", _json([_entry(event) for event in events])),
    ]


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
            data: dict[str, object] = json.loads(event.data_json)
            about = "; ".join(f"{name}: {data[name]}" for name in data if name != "fingerprint")
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
        "details": json.loads(event.data_json),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
