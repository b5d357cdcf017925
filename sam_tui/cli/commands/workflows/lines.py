"""The output of ``sam-tui workflow``: lines for people, objects for programs."""

from typing import TYPE_CHECKING

from sam_tui.core.clock import iso
from sam_tui.core.ports.workflows import EventRow
from sam_tui.core.workflow.views import (
    Advanced,
    ExecutionView,
    StepView,
    Ticket,
    WorkflowRefused,
)

if TYPE_CHECKING:
    from sam_tui.core.workflow.catalog import DefinitionView


def definition_object(view: "DefinitionView") -> dict[str, object]:
    """A workflow as an object."""
    definition = view.definition
    return {
        "name": view.name,
        "description": definition.description,
        "tags": list(definition.tags),
        "complexity": definition.complexity,
        "origin": view.origin,
        "path": view.path,
        "version": definition.fingerprint,
        "params": definition.model_dump(mode="json", include={"params"})["params"],
        "phases": definition.phases,
    }


def definition_lines(view: "DefinitionView") -> list[str]:
    """The parameters and steps of a workflow as text."""
    definition = view.definition
    lines = [f"{view.name}  ({view.origin}: {view.path})", definition.description, ""]
    for name, about in definition.params.items():
        need = "required" if about.required else f"default {about.default!r}"
        choices = f"; one of {', '.join(map(str, about.choices))}" if about.choices else ""
        lines.append(f"  -p {name}=...  {about.description} ({need}{choices})")
    for step in definition.steps:
        after = f" after {', '.join(step.needs)}" if step.needs else ""
        who = f" by {step.persona}" if step.persona else ""
        lines.append(f"  {step.id}: {step.kind}{who}{after}")
        if step.description:
            lines.append(f"    {step.description}")
    return lines


def execution_object(view: ExecutionView, steps: tuple[StepView, ...] = ()) -> dict[str, object]:
    """An execution as an object."""
    fields: dict[str, object] = {
        "execution_id": view.id,
        "workflow": view.workflow,
        "state": view.state,
        "reason": view.reason,
        "progress": view.progress,
        "current": list(view.current),
        "effectiveness": view.effectiveness,
        "rollbacks_left": view.rollbacks_left,
        "replans_left": view.replans_left,
        "created_at": iso(view.created_at),
        "completed_at": None if view.completed_at is None else iso(view.completed_at),
    }
    if view.question is not None:
        fields["question"] = {
            "step": view.question.step,
            "prompt": view.question.prompt,
            "choices": list(view.question.choices),
        }
    if steps:
        fields["steps"] = [step_object(step) for step in steps]
    return fields


def step_object(step: StepView) -> dict[str, object]:
    """A step as an object."""
    return {
        "id": step.id,
        "kind": step.kind,
        "status": step.status,
        "persona": step.persona,
        "attempts": step.attempts,
        "error": step.error,
        "output": step.output,
        "tasks": [
            {"id": t.id, "title": t.title, "status": t.status, "critical": t.critical}
            for t in step.tasks
        ],
    }


def execution_lines(view: ExecutionView, steps: tuple[StepView, ...] = ()) -> list[str]:
    """An execution for people."""
    lines = [f"{view.id}  {view.workflow}  {view.state}  {view.progress}  {view.reason}".rstrip()]
    marks = {"completed": "x", "running": ">", "failed": "!", "skipped": "-"}
    for step in steps:
        error = f"  {step.error}" if step.error else ""
        lines.append(f"  [{marks.get(step.status, ' ')}] {step.id}{error}")
        lines += [f"      [{marks.get(t.status, ' ')}] {t.title}" for t in step.tasks]
    if view.question is not None:
        lines.append(f"  It asks: {view.question.prompt}")
        lines.append(f"  Answer: sam-tui workflow decide {view.id} <choice>, of")
        lines.append(f"    {', '.join(view.question.choices)}")
    if steps and view.state in ("failed", "diverged"):
        lines.append(
            f"  To try again: sam-tui workflow retry {view.id}, then workflow run {view.id}"
        )
    return lines


def ticket_object(ticket: Ticket) -> dict[str, object]:
    """A ticket as an object."""
    return {
        "step_name": ticket.step,
        "kind": ticket.spec.kind,
        "attempt": ticket.attempt,
        "agent_name": ticket.persona,
        "agent_content": ticket.persona_text,
        "instructions": ticket.instructions,
        "tools": None if ticket.spec.allowed is None else list(ticket.spec.allowed),
        "output_schema": ticket.spec.output,
        "tool": ticket.spec.tool,
        "arguments": dict(ticket.arguments),
        "token": ticket.token,
        "expires_at": iso(ticket.expires_at),
    }


def advanced_object(done: Advanced) -> dict[str, object]:
    """Return the result of a verb as an object."""
    return {
        "execution_id": done.execution_id,
        "workflow": done.workflow,
        "state": done.state,
        "outcome": done.outcome,
        "message": done.message,
        "target": done.target,
        "failures": [
            {"guard": f.guard, "message": f.message, "details": dict(f.details)}
            for f in done.failures
        ],
        "opened": [ticket_object(ticket) for ticket in done.opened],
    }


def advanced_lines(done: Advanced) -> list[str]:
    """The effect of a verb, as lines for people."""
    lines = [f"{done.execution_id}  {done.workflow}  {done.state}: {done.message}"]
    lines += [f"  not met: {failure.message}" for failure in done.failures]
    for ticket in done.opened:
        tools = "any" if ticket.spec.allowed is None else ", ".join(ticket.spec.allowed) or "none"
        lines += ["", f"STEP {ticket.step}  attempt {ticket.attempt}  tools: {tools}"]
        lines += [f"  {line}" for line in ticket.instructions.splitlines()]
        lines.append(f"TOKEN {ticket.token}")
    return lines


def event_line(event: EventRow) -> str:
    """An event as one line."""
    data = "" if event.data_json == "{}" else f"  {event.data_json}"
    return f"{event.seq:>6}  {iso(event.at)}  {event.type}  {event.step}{data}"


def refusal_object(refusal: WorkflowRefused) -> dict[str, object]:
    """A refusal as an object."""
    return {"error": refusal.as_object()}
