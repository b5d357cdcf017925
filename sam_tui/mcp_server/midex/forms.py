"""The resources and tools of seed 003 as plain JSON: names and shapes are the seed's."""

from collections.abc import Sequence

from sam_tui.core.clock import iso
from sam_tui.core.ports.workflows import ArtifactRow, EventRow, FindingRow
from sam_tui.core.workflow.catalog import DefinitionView
from sam_tui.core.workflow.views import AttemptView, ExecutionView, Ticket

HOST_STEP = "The workbench runs this itself: call workflow.next_step with the token and any output."
HUMAN_STEP = (
    "A person answers this: call workflow.next_step with the token and any output; they are asked"
    " then."
)
CONTINUE = (
    "Do the step as the persona says, then call workflow.next_step with new_token and output."
)


def moment(seconds: float | None) -> str | None:
    """A time as ISO 8601 in UTC with milliseconds."""
    return None if seconds is None else iso(seconds)


def duration(started: float | None, ended: float | None) -> int | None:
    """Milliseconds between two times that are both known."""
    return None if started is None or ended is None else round((ended - started) * 1000)


def workflow_form(view: DefinitionView) -> dict[str, object]:
    """An entry of ``available_workflows``."""
    definition = view.definition
    return {
        "name": view.name,
        "description": definition.description,
        "tags": list(definition.tags),
        "complexity": definition.complexity,
        "phases": definition.phases,
    }


def details_form(view: DefinitionView) -> dict[str, object]:
    """Return ``workflow_details``; ``params`` are the arguments of ``workflow.start`` besides the name."""
    definition = view.definition
    return workflow_form(view) | {
        "content": definition.content,
        "params": definition.model_dump(mode="json", include={"params"})["params"],
        "version": definition.fingerprint,
        "origin": view.origin,
    }


def step_form(ticket: Ticket) -> dict[str, object]:
    """An open step as JSON: instructions, tools, schema of its output, deadline and token."""
    hint = {"tool": HOST_STEP, "human": HUMAN_STEP}.get(ticket.spec.kind, "")
    parts = [part for part in (ticket.instructions, hint) if part]
    form: dict[str, object] = {
        "step_name": ticket.step,
        "kind": ticket.spec.kind,
        "attempt": ticket.attempt,
        "agent_name": ticket.persona,
        "agent_content": ticket.persona_text,
        "instructions": "\n\n".join(parts),
        "tools": None if ticket.spec.allowed is None else list(ticket.spec.allowed),
        "output_schema": ticket.spec.output,
        "deadline": moment(ticket.deadline),
    }
    if ticket.task is not None:
        form["item"] = {"position": ticket.task.position, "title": ticket.task.title}
    if ticket.spec.kind == "tool":
        form["tool"], form["arguments"] = ticket.spec.tool, dict(ticket.arguments)
    if ticket.spec.choices:
        form["choices"] = list(ticket.spec.choices)
    if ticket.token:
        form["new_token"], form["expires_at"] = ticket.token, moment(ticket.expires_at)
    return form


def current_step_form(view: ExecutionView, tickets: Sequence[Ticket]) -> dict[str, object]:
    """``current_step``: the first open step with a fresh token, and all that are open."""
    form: dict[str, object] = {
        "execution_id": view.id,
        "workflow_name": view.workflow,
        "workflow_state": view.state,
        "progress": view.progress,
    }
    if not tickets:
        return form | {"message": _stands(view)} | _question_form(view)
    first = step_form(tickets[0])
    return form | {
        "current_step": first["step_name"],
        "step_status": "running",
        "agent_name": first["agent_name"],
        "continuation_token": tickets[0].token,
        "agent_content": first["agent_content"],
        "instructions": first["instructions"],
        "expires_at": first.get("expires_at"),
        "kind": first["kind"],
        "tools": first["tools"],
        "output_schema": first["output_schema"],
        "steps": [step_form(ticket) for ticket in tickets],
    }


def status_form(view: ExecutionView) -> dict[str, object]:
    """Return ``workflow_status``: its totals count the definition's steps and those that plans added."""
    return {
        "execution_id": view.id,
        "workflow_name": view.workflow,
        "state": view.state,
        "reason": view.reason,
        "current_step": view.current[0] if view.current else None,
        "open_steps": list(view.current),
        "progress": view.progress,
        "started_at": moment(view.started_at),
        "updated_at": moment(view.updated_at),
        "completed_at": moment(view.completed_at),
        "duration_ms": duration(view.started_at, view.completed_at),
        "steps": dict(view.totals),
        "params": view.params,
        "effectiveness": view.effectiveness,
    } | _question_form(view)


def attempt_form(attempt: AttemptView) -> dict[str, object]:
    """An entry of ``step_history``."""
    return {
        "step_name": attempt.step,
        "agent_name": attempt.persona,
        "status": "running" if attempt.status == "open" else attempt.status,
        "started_at": moment(attempt.started_at),
        "completed_at": moment(attempt.ended_at),
        "duration_ms": duration(attempt.started_at, attempt.ended_at),
        "output": attempt.output,
        "attempt": attempt.number,
        "item": attempt.task,
        "driver": attempt.driver,
        "error": attempt.error,
    }


def artifact_form(row: ArtifactRow, uri: str) -> dict[str, object]:
    """An entry of ``workflow_artifacts``; its text is at ``uri``."""
    return {
        "id": row.id,
        "step_name": row.step,
        "artifact_type": row.type,
        "name": row.name,
        "title": row.name,
        "content_type": row.content_type,
        "size_bytes": row.size,
        "sha256": row.sha256,
        "metadata": row.metadata,
        "created_at": moment(row.created_at),
        "uri": uri,
    }


def finding_form(row: FindingRow) -> dict[str, object]:
    """A finding, with its state of review."""
    return {
        "id": row.id,
        "scope": row.scope,
        "project_id": row.project or None,
        "category": row.category,
        "severity": row.severity,
        "status": row.status,
        "review": row.review,
        "title": row.title,
        "content": row.content,
        "tags": row.tags,
        "source_execution_id": row.execution or None,
        "source_agent": row.source or None,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }


def event_form(row: EventRow) -> dict[str, object]:
    """An entry of ``telemetry``."""
    return {
        "id": row.seq,
        "event_type": row.type,
        "execution_id": row.execution,
        "step_name": row.step or None,
        "metadata": row.data,
        "created_at": moment(row.at),
    }


def _question_form(view: ExecutionView) -> dict[str, object]:
    if view.question is None:
        return {}
    question = view.question
    return {
        "question": {
            "step_name": question.step,
            "prompt": question.prompt,
            "choices": list(question.choices),
        }
    }


def _stands(view: ExecutionView) -> str:
    match view.state:
        case "paused" if view.question is not None:
            return "A person decides what follows: call workflow.resume, and they are asked."
        case "paused":
            return "It is paused: call workflow.resume to go on."
        case "idle":
            return "It has not begun: call workflow.resume."
        case "running":
            return "No step is open right now."
        case "failed" | "diverged":
            return (
                f"It has {view.state}: {view.reason or 'no reason given'}. workflow.retry opens it."
            )
        case _:
            return f"It is {view.state}."
