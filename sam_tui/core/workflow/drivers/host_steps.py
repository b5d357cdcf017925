"""Steps that no model answers for: questions to the person, calls through the executor and its guard."""

import json
from dataclasses import dataclass, replace

from sam_tui.core.accesses import Fetch, Use
from sam_tui.core.agent.budget import Budget
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Question, Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.text.consent import consents
from sam_tui.core.tooling.contract import CallPlan
from sam_tui.core.tooling.executor import Executed
from sam_tui.core.usage import Usage
from sam_tui.core.workflow.drivers.digest import LONG
from sam_tui.core.workflow.drivers.run import StepRun, outcome_of
from sam_tui.core.workflow.execution.output import RESULT
from sam_tui.core.workflow.gate import subagent_gate
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import (
    RUNNER,
    Advanced,
    ExecutionView,
    Ticket,
    VerbName,
    WorkflowRefused,
    require_choice,
)


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a call of a conversation asks. An answer that will not do is refused, never asked again."""

    inquiries: Inquiries
    conversation: ConversationId
    call: CallId

    async def work_on(self, ticket: Ticket) -> dict[str, object]:
        """The output of a human step. Raises ``WorkflowRefused`` as ``decide`` does."""
        about = f"Workflow {ticket.workflow}, step {ticket.step}"
        answer = await self._ask(Question(ticket.instructions, about, ticket.spec.choices))
        return {"summary": answer, "answer": answer, "approved": consents(answer) is True}

    async def decide(self, view: ExecutionView) -> str:
        """Return the person's choice for an execution. Raises ``needs_person`` or ``choice_invalid``."""
        assert view.question is not None
        about = f"Workflow {view.workflow}, step {view.question.step}"
        return await self._ask(Question(view.question.prompt, about, view.question.choices))

    async def _ask(self, question: Question) -> str:
        outcome = await self.inquiries.ask(self.conversation, self.call, question)
        if not isinstance(outcome.answer, Reply) or not outcome.answer.text.strip():
            raise WorkflowRefused(
                "needs_person",
                "A person has to answer, and nobody can be asked here.",
                hint="Let a person continue it: sam-tui workflow status, next and decide.",
            )
        return require_choice(outcome.answer.text, question.choices)


async def steer_with_person(
    workflows: Workflows, person: Person, verb: VerbName, execution_id: str, word: str = ""
) -> Advanced:
    """Carry out a verb that a model calls. The question of a paused execution goes to the person.

    Raises ``WorkflowRefused`` as the verb does, and ``person_decides``, ``needs_person``.
    """
    view = workflows.records.execution(execution_id)
    if view.question is not None and verb == "retry":
        raise WorkflowRefused(
            "person_decides",
            "A person decides what follows.",
            hint="Resume it, and they are asked.",
        )
    if view.question is not None and verb == "resume":
        return workflows.steer("decide", execution_id, await person.decide(view))
    return workflows.steer(verb, execution_id, word)


async def ask_person(run: StepRun, ticket: Ticket) -> None:
    """Put a human step to the person; without an answer that will do the execution is paused."""
    person = Person(run.context.inquiries, run.context.parent, CallId(mint("call")))
    try:
        output = await person.work_on(ticket)
    except WorkflowRefused as refusal:
        why = f": {refusal}" if refusal.code == "choice_invalid" else ""
        run.pause(ticket, f"step {ticket.step} needs a person{why}")
        return
    run.submit(ticket, output)


_IN_TASK = ("FileSystemTool", "FileDownloaderTool")
_LONGEST = 8000
"""The most characters of a result in the output of a step."""
_LARGEST = 500_000
"""The most characters of a result's data; of larger data only the text of the result is used."""


async def make_call(run: StepRun, ticket: Ticket) -> None:
    """Make the call of a tool step, unless an earlier one was cut off: a person decides then."""
    conversation = run.conversation()
    cut_off = run.workflows.claims.begin_call(
        ticket.execution_id, ticket.step, driver=RUNNER, conversation=conversation
    )
    if cut_off is not None:
        run.context.report(f"{ticket.step}: {cut_off.message}")
        return
    call = call_of(_in_task(run, ticket), CallId(mint("call")))
    gate = run.gate(conversation, ticket)
    plan = _handed_out(run, run.context.engine.executor.plan(call, gate), ticket)
    run.recorder.watch(conversation)
    executed = await _called(run, plan, ticket, conversation)
    output = output_of_call(executed)
    data = output.get("result_data")
    raw = json.dumps(data, ensure_ascii=False) if data else executed.finished.text
    if "/" in ticket.step and len(raw) > LONG:
        add = run.workflows.notes.add_artifact
        add(ticket.execution_id, ticket.step, RESULT, raw, type_="data")
    run.submit(ticket, output)


def _handed_out(run: StepRun, plan: CallPlan, ticket: Ticket) -> CallPlan:
    """The call with a worker in the place of its operation, where its role is handed out.

    Gate, guard and evidence stay here. Calls on files and commands run here, where the workspace
    is, and so do calls that a hook or a person changed.
    """
    hand_out, operation = run.context.hand_out, plan.operation
    if hand_out is None or operation is None or (carry := hand_out.carrier(ticket)) is None:
        return plan
    accesses = operation.accesses(plan.arguments)
    if not all(isinstance(a, Fetch | Use) for a in accesses):
        why = "its call touches files or runs a command in this workspace"
    elif not accesses and not operation.anywhere:
        why = "its call needs data of this program"
    else:
        return replace(plan, operation=replace(operation, run=carry))
    run.context.report(f"{ticket.step}: done here and not by a worker: {why}")
    return plan


async def _called(
    run: StepRun, plan: CallPlan, ticket: Ticket, conversation: ConversationId
) -> Executed:
    """Make the call; a subagent that it begins has the model of the run, and counts with it."""
    engine, model, whole = run.context.engine, run.context.model, run.context.budget
    budget = Budget(whole.max_steps, parent=whole)
    if model is None:
        return await engine.executor.run(plan, conversation)
    with engine.budgets.running(conversation, budget, model, subagent_gate()):
        executed = await engine.executor.run(plan, conversation)
    if budget.usage != Usage():
        calls = int(executed.data.get("iterations", 1))
        run.workflows.notes.add_usage(ticket.execution_id, ticket.step, calls, budget.usage)
    return executed


def _in_task(run: StepRun, ticket: Ticket) -> Ticket:
    """Set the task's folder in calls on files of a task, against any other in the plan."""
    if ticket.spec.tool not in _IN_TASK:
        return ticket
    folder = f"saved_tasks/{run.workflows.records.task_folder(ticket.execution_id)}/workspace"
    return replace(ticket, arguments={**ticket.arguments, "task_folder": folder})


def call_of(ticket: Ticket, identifier: CallId) -> ToolCall:
    """The call that a tool step is."""
    arguments = json.dumps(ticket.arguments, ensure_ascii=False)
    return ToolCall(identifier, ticket.spec.tool, arguments)


def output_of_call(executed: Executed) -> dict[str, object]:
    """Return the output of a tool step: how its call ended.

    The data of the result, where it has any, is for references: seed 002's ``result_data``.
    """
    finished, data = executed.finished, executed.data
    _, success, code = outcome_of(finished)
    text = finished.text[:_LONGEST]
    output: dict[str, object] = {"summary": text or finished.summary, "success": success}
    output |= {"ok": finished.ok, "exit_code": code, "text": text}
    if data and len(json.dumps(data, ensure_ascii=False, default=str)) <= _LARGEST:
        output["result_data"] = dict(data)
    return output
