"""What the model reads about an execution and its steps."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sam_tui.core.workflow.gate import spelled

if TYPE_CHECKING:
    from sam_tui.core.workflow.views import ExecutionView, StepView, Ticket


def status_text(view: "ExecutionView", steps: "Sequence[StepView]") -> str:
    """Where an execution stands, step by step."""
    lines = [f"{view.workflow} ({view.id}): {view.state}, {view.progress} steps. {view.reason}"]
    for step in steps:
        lines.append(f"- {step.id}: {step.status}" + (f" ({step.error})" if step.error else ""))
        lines += [f"  - {task.title}: {task.status}" for task in step.tasks]
    if view.question is not None:
        lines.append(f"It asks: {view.question.prompt}; a person decides.")
    return "\n".join(lines)


def ticket_text(ticket: "Ticket") -> str:
    """A step that may be worked on: its tools, its task, and what to hand in."""
    parts = [
        f"STEP {ticket.step} (attempt {ticket.attempt}). Tools allowed: {spelled(ticket.tools)}."
    ]
    if ticket.persona_text:
        parts.append(ticket.persona_text)
    parts.append(ticket.instructions)
    if ticket.kind == "human":
        parts.append("Advance with any output: the person is asked then.")
    if ticket.kind == "tool":
        arguments = json.dumps(ticket.arguments, ensure_ascii=False)
        parts.append(f"Call {ticket.tool} with {arguments}; advance with what it came to.")
    if ticket.output_schema is not None:
        schema = json.dumps(ticket.output_schema, ensure_ascii=False, separators=(",", ":"))
        parts.append(f"Output: {schema}")
    return "\n\n".join(parts)
