"""Agent, llm and plan steps: each attempt is a conversation of our own agent, begun with a prompt."""

import re
from collections.abc import Sequence
from typing import cast

from sam_tui.core.agent.budget import MOST_STEPS, Budget, Limits
from sam_tui.core.agent.history import History
from sam_tui.core.events import TurnFinished
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.workflows import FindingQuery
from sam_tui.core.tooling.offer import canonical
from sam_tui.core.workflow.definitions.stages import sampling_of
from sam_tui.core.workflow.drivers.models import purpose_of
from sam_tui.core.workflow.drivers.run import StepRun, StepTurn
from sam_tui.core.workflow.execution.context import excerpt
from sam_tui.core.workflow.execution.output import first_object, first_value
from sam_tui.core.workflow.execution.plans import plan_items
from sam_tui.core.workflow.planned import PlannedTasks
from sam_tui.core.workflow.views import RUNNER, StepView, Ticket, WorkflowRefused

_UNACHIEVABLE = re.compile(r"\W*not achievable\b", re.IGNORECASE)
_FINDINGS = 5
REPAIRS = 1
"""How often, in the same conversation, the model is asked to correct an answer that does not fit."""
_SUMMARY = 2000
_GIVING_UP = 'If it cannot be done, answer {"success": false, "summary": "why"} instead.'


async def work_in_conversation(run: StepRun, ticket: Ticket) -> None:
    """Work on one attempt in its own conversation; an attempt that another driver left goes on in
    that one's."""
    purpose = purpose_of(ticket.spec.kind, ticket.step, ticket.persona)
    model = run.models.of(purpose, sampling_of(ticket.spec))
    left = run.workflows.records.calls_left(ticket.execution_id)
    if left == 0:
        run.pause(ticket, "the budget of model calls is used up")
        return
    history, prompt = _history(run, ticket)
    try:
        if ticket.spec.kind == "plan" and not history.messages:
            prompt = await _remembered(run, prompt, ticket)
        gate = run.gate(history.conversation, ticket)
        work = StepTurn(ticket.execution_id, ticket.step, model, history, gate)
        await _attempt(run, ticket, work, prompt, left)
    finally:
        history.close()


async def _attempt(
    run: StepRun, ticket: Ticket, work: StepTurn, prompt: str, left: int | None
) -> None:
    """Turns until the output fits, or too many did not; ``left`` are the calls it may make."""
    budget = _budget(ticket, left, run.context.budget)
    faults: list[str] = []
    for _ in range(REPAIRS + 1):
        turn = await run.turn(work, budget, repair_prompt(faults) if faults else prompt)
        if turn.reason != "finished":
            _end_unfinished(run, ticket, turn)
            return
        try:
            run.submit(ticket, _answer(ticket, turn.answer))
            return
        except WorkflowRefused as refusal:
            if refusal.code != "output_invalid":
                raise
            faults = refusal.details["faults"]
            run.context.report(f"{ticket.step}: {refusal}")
    run.fail(ticket, f"the answer did not fit: {faults[0]}")


def _budget(ticket: Ticket, left: int | None, whole: Budget) -> Budget:
    one_answer = REPAIRS + 1 if ticket.spec.kind == "llm" else None
    bounds = [n for n in (ticket.spec.max_calls, left, one_answer) if n is not None]
    most = min([ticket.spec.max_calls or whole.max_steps, whole.reach, *bounds])
    return Budget(most, parent=whole, limits=Limits(raised=0 if bounds else MOST_STEPS))


def _end_unfinished(run: StepRun, ticket: Ticket, turn: TurnFinished) -> None:
    """Handle a turn that did not come to an answer."""
    run.recorder.flush()
    why = turn.error.partition("\n")[0]
    if turn.reason == "limit" and not run.context.budget.spent:
        run.fail(ticket, why)
    elif turn.reason == "limit":
        run.pause(ticket, why)
    else:
        # The provider failed, not the step.
        run.pause(ticket, f"the model failed: {turn.error}")


async def _remembered(run: StepRun, prompt: str, ticket: Ticket) -> str:
    """Return the prompt of a planner, with memories and accepted findings about the task."""
    context, workflows = run.context, run.workflows
    task = PlannedTasks(workflows).task_of(ticket.execution_id)
    parts = [await context.recall(context.parent, task)] if context.recall else []
    query = FindingQuery(status="active", review="accepted", text=task, limit=_FINDINGS)
    findings = workflows.records.reader.findings(query)
    parts += [f"{finding.title}: {finding.content[:500]}" for finding in findings]
    lines = "\n".join(part for part in parts if part)
    about = "What is remembered of earlier work; it may be out of date, and asks you nothing"
    return f"{prompt}\n\n{about}:\n{lines}" if lines else prompt


def _history(run: StepRun, ticket: Ticket) -> tuple[History, str]:
    """The conversation of the attempt and the message that begins or resumes it."""
    context, workflows = run.context, run.workflows
    owner = ConversationId(workflows.claims.owner(ticket.execution_id, ticket.step))
    if owner and context.conversations.find(owner) is not None:
        history = run.history(owner)
        history.restore(context.engine.executor.plan)
        if history.messages:
            why = f"The program ended while step {ticket.step} was being worked on."
            return history, f"{why} See what is done already, and finish it.\n\n{_ending(ticket)}"
    else:
        conversation = run.conversation()
        workflows.claims.claim(
            ticket.execution_id, ticket.step, driver=RUNNER, conversation=conversation
        )
        history = run.history(conversation)
    return history, step_prompt(ticket, workflows.records.steps(ticket.execution_id))


def _answer(ticket: Ticket, text: str) -> object:
    """Return the output in an answer: its JSON object if the step has a schema, else the text.

    To give up a step, a model sets ``success`` to false; a planner may say it in words alone.
    """
    if ticket.spec.kind == "plan":
        return _plan(text)
    fields = first_object(text)
    if ticket.spec.output is None:
        given_up = fields is not None and fields.get("success") is False
        return fields if given_up else {"summary": text.strip()}
    if fields is None:
        return {}
    fields.setdefault("summary", text.strip()[:2000])
    return fields


def _plan(text: str) -> dict[str, object]:
    """Return a planner's output, read from its object or from a bare list of stages."""
    value = first_value(text, _is_plan)
    summary = text.strip()[:2000]
    if isinstance(value, dict):
        return {"summary": summary, **cast("dict[str, object]", value)}
    unachievable = value is None and _UNACHIEVABLE.match(text)
    return {"summary": summary, "steps": [] if unachievable else value}


def _is_plan(value: object) -> bool:
    """Whether a JSON value can be a plan: an object that has one, a list of lists or objects, or none."""
    if isinstance(value, dict):
        return plan_items(cast("dict[str, object]", value)) is not None
    return isinstance(value, list) and all(
        isinstance(part, list | dict) for part in cast("list[object]", value)
    )


def step_prompt(ticket: Ticket, steps: Sequence[StepView]) -> str:
    """The message that begins a step in a conversation of its own."""
    persona = ticket.persona_text and f"<persona>\n{ticket.persona_text}\n</persona>"
    head = f"Workflow {ticket.workflow}, step {ticket.step}, attempt {ticket.attempt}."
    parts = (head, persona, _before(ticket, steps), ticket.instructions, _ending(ticket))
    return "\n\n".join(filter(None, parts))


def repair_prompt(faults: Sequence[str]) -> str:
    """Return the message that asks for a corrected answer, with the faults of the last one."""
    listed = "\n".join(f"- {fault}" for fault in faults)
    return f"Your answer cannot be taken:\n{listed}\n\nAnswer again with the corrected JSON object only."


def _before(ticket: Ticket, steps: Sequence[StepView]) -> str:
    """Return the results of the needed steps; for a plan that is needed as a whole, those of its steps."""
    current = next((step for step in steps if step.id == ticket.step), None)
    if current is None:
        return ""
    needs = {*current.needs} - {current.parent}
    needed = [step for step in steps if needs & {step.id, step.parent}]
    lines = [f"- {step.id}: {_outcome(step)}" for step in needed if step.output or step.error]
    return "\n".join(["What came before:", *lines]) if lines else ""


def _outcome(step: StepView) -> str:
    output = step.output or {}
    text = str(output.get("processed_result_data") or output.get("summary") or "")
    return excerpt(text, _SUMMARY) if step.output else f"{step.status}: {step.error[:_SUMMARY]}"


def _ending(ticket: Ticket) -> str:
    if ticket.spec.kind == "plan":
        return "Answer with the JSON of the plan, and nothing else."
    if ticket.spec.output is None:
        done = "When it is done, answer with a summary of what you did and what it led to."
        return f"{done} {_GIVING_UP}"
    return (
        "When it is done, answer with one JSON object, and nothing else, that fits this schema: "
        f"{canonical(ticket.spec.output)}\n{_GIVING_UP}"
    )
