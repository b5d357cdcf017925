"""What a model reads: the prompt of a step, and the reminder of the present phase."""

import json
from collections.abc import Mapping, Sequence

from sam_tui.core.ports.workflows import FindingQuery
from sam_tui.core.workflow.execution.context import excerpt
from sam_tui.core.workflow.gate import spelled
from sam_tui.core.workflow.records import WorkflowRecords
from sam_tui.core.workflow.views import Phase, StepView, Ticket

_SUMMARY = 2000
_BRACKETS = str.maketrans("<>", "‹›")


def step_prompt(ticket: Ticket, steps: Sequence[StepView]) -> str:
    """The message that begins a step in a conversation of its own."""
    parts = [f"Workflow {ticket.workflow}, step {ticket.step}, attempt {ticket.attempt}."]
    if ticket.persona_text:
        parts.append(f"<persona>\n{ticket.persona_text}\n</persona>")
    before = _before(ticket, steps)
    if before:
        parts.append(before)
    parts.append(ticket.instructions)
    parts.append(_ending(ticket))
    return "\n\n".join(parts)


def resumed_prompt(ticket: Ticket) -> str:
    """The message that goes on with a step whose driver died."""
    return (
        f"The program ended while step {ticket.step} was being worked on. See what is done already,"
        f" and finish it.\n\n{_ending(ticket)}"
    )


def repair_prompt(faults: Sequence[str]) -> str:
    """The message that asks for an answer once more, saying what was wrong with it."""
    listed = "\n".join(f"- {fault}" for fault in faults)
    return f"Your answer cannot be taken:\n{listed}\n\nAnswer again with the corrected JSON object only."


def phase_digest(phase: Phase, records: WorkflowRecords) -> str:
    """The reminder: phase, tools, tasks, the last failure, budgets, and what was found."""
    view = records.execution(phase.execution_id)
    steps = records.steps(phase.execution_id)
    lines = [
        f"Workflow {view.workflow} ({view.id}): {view.state}, {view.progress} steps done.",
        f"Phase: {phase.step}. Tools allowed: {spelled(phase.tools)}. Others are refused.",
    ]
    tasks = [task for step in steps for task in step.tasks if step.status == "running"]
    if tasks:
        done = sum(task.status == "completed" for task in tasks)
        current = next((t.title for t in tasks if t.status == "running"), "")
        lines.append(f"Tasks: {done}/{len(tasks)} completed. Now: {current}".rstrip())
    errors = [f"{step.id}: {step.error}" for step in steps if step.error]
    if errors:
        lines.append(f"Last failure: {errors[-1]}")
    lines.append(f"Left: {view.rollbacks_left} rollbacks, {view.replans_left} new plans.")
    findings = records.reader.findings(FindingQuery(view.id, status="active", limit=3))
    lines.extend(f"Finding ({row.severity}, {row.review}): {row.title}" for row in findings)
    if view.question is not None:
        lines.append(f"It waits for a decision: {view.question.prompt}")
    elif view.state == "running":
        lines.append('When the phase is done: workflow {"operation": "advance", "output": {...}}.')
    return "\n".join(_line(line) for line in lines)


def schema_text(schema: Mapping[str, object]) -> str:
    """A schema as short JSON."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _before(ticket: Ticket, steps: Sequence[StepView]) -> str:
    """What the steps that are needed came to; of a plan that is needed as a whole, each of its steps."""
    current = next((step for step in steps if step.id == ticket.step), None)
    if current is None:
        return ""
    plan = current.parent
    needed = [
        s
        for s in steps
        if (s.id in current.needs and s.id != plan)
        or (s.parent != plan and s.parent in current.needs)
    ]
    lines = [f"- {step.id}: {_outcome(step)}" for step in needed if step.output or step.error]
    return "\n".join(["What came before:", *lines]) if lines else ""


def _outcome(step: StepView) -> str:
    output = step.output or {}
    text = str(output.get("processed_result_data") or output.get("summary") or "")
    return excerpt(text, _SUMMARY) if step.output else f"{step.status}: {step.error[:_SUMMARY]}"


_GIVING_UP = 'If it cannot be done, answer {"success": false, "summary": "why"} instead.'


def _ending(ticket: Ticket) -> str:
    if ticket.kind == "plan":
        return "Answer with the JSON of the plan, and nothing else."
    if ticket.output_schema is None:
        done = "When it is done, answer with a summary of what you did and what it led to."
        return f"{done} {_GIVING_UP}"
    return (
        "When it is done, answer with one JSON object, and nothing else, that fits this schema: "
        f"{schema_text(ticket.output_schema)}\n{_GIVING_UP}"
    )


def _line(text: str) -> str:
    """One line that cannot be a tag: much of it comes from models and files."""
    line = " ".join(text.split())
    return (line if len(line) <= 300 else line[:299] + "…").translate(_BRACKETS)
