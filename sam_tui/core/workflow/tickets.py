"""Tickets: everything a driver needs to work on an open step, with the token that finishes it."""

import json
from typing import Any

from sam_tui.core.ports.workflows import AttemptRow, TaskRow
from sam_tui.core.workflow.case import ExecutionCase, pinned_text
from sam_tui.core.workflow.references import fill, fill_text
from sam_tui.core.workflow.tokens import OUTSTANDING, mint_token
from sam_tui.core.workflow.views import TaskView, Ticket


def issue(case: ExecutionCase, attempt: AttemptRow) -> Ticket:
    """A ticket with a fresh token; the oldest unused ones of the attempt are revoked."""
    case.unit.revoke_tokens(attempt.id, "too many tokens", keep=OUTSTANDING - 1)
    token, row = mint_token(case.row.id, attempt.step, attempt.id, case.now)
    case.unit.save_token(row)
    case.record("token_generated", attempt.step, attempt.id)
    return describe(case, attempt, token, row.expires_at)


def describe(
    case: ExecutionCase, attempt: AttemptRow, token: str = "", expires_at: float = 0.0
) -> Ticket:
    """A ticket, with a token or without."""
    spec = case.spec(attempt.step)
    tasks = case.tasks(attempt.step) if spec.each else ()
    task = next((t for t in tasks if t.position == attempt.task), None)
    scope = case.scope(attempt.step, task)
    scope["inputs"] = inputs = fill(spec.inputs, scope)
    persona = str(fill(spec.persona, {"params": case.params}) or "")
    pin = case.personas.get(persona)
    return Ticket(
        execution_id=case.row.id,
        workflow=case.row.workflow,
        step=attempt.step,
        kind=spec.kind,
        attempt=attempt.number,
        token=token,
        expires_at=expires_at,
        persona=persona,
        persona_text=pinned_text(case.unit, pin) if pin else "",
        instructions=instructions(case, attempt.step, scope, task),
        inputs=inputs,
        tools=spec.allowed,
        output_schema=spec.output,
        deadline=attempt.deadline,
        task=task_view(task) if task else None,
        tool=spec.tool,
        arguments=fill(spec.arguments, scope),
        choices=spec.choices,
        max_calls=spec.max_calls,
    )


def instructions(
    case: ExecutionCase, step: str, scope: dict[str, Any], task: TaskRow | None
) -> str:
    """What to do: the workflow's own text, the step's, its item, and why it is tried again."""
    spec, row = case.spec(step), case.steps[step]
    parts = [fill_text(spec.prompt, scope) or spec.description]
    if spec.prompt and spec.description:
        parts.insert(0, spec.description)
    if not spec.prompt and case.definition.content:
        parts.append(case.definition.content)
    if spec.inputs:
        parts.append("Inputs:\n" + json.dumps(scope["inputs"], ensure_ascii=False, indent=2))
    if task is not None:
        item = json.loads(task.payload_json)
        description = item if set(item) - {"title"} else task.title
        text = (
            description
            if isinstance(description, str)
            else json.dumps(description, ensure_ascii=False)
        )
        parts.append(f"Item {task.position + 1}: {text}")
    if row.error:
        parts.append(f"The last attempt failed: {row.error}")
    return "\n\n".join(part.strip() for part in parts if part.strip())


def task_view(row: TaskRow) -> TaskView:
    """An item for people and clients."""
    return TaskView(
        row.position, row.id, row.title, row.critical, row.status, json.loads(row.payload_json)
    )
