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
from sam_tui.core.workflow.execution.tickets import task_folder
from sam_tui.core.workflow.gate import subagent_gate
from sam_tui.core.workflow.refusals import WorkflowRefused, require_choice
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import RUNNER, Advanced, ExecutionView, Ticket, VerbName


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a call of a conversation asks. An answer that will not do is refused, never asked again."""

    inquiries: Inquiries
    conversation: ConversationId
    call: CallId

    async def work_on(self, ticket: Ticket) -> dict[str, object]:
        """The output of a human step. Raises ``WorkflowRefused`` as ``decide`` does."""
        about = f"Workflow {ticket.workflow}, step {ticket.step}"
        answer = await self._ask(Question(ticket.instructions, about, ticket.choices))
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


class PersonDriver:
    """Puts human steps to the person."""

    def __init__(self, run: StepRun) -> None:
        self._run = run

    async def work(self, ticket: Ticket) -> None:
        """Ask; without an answer that will do the execution is paused."""
        context = self._run.context
        try:
            output = await Person(context.inquiries, context.parent, CallId(mint("call"))).work_on(
                ticket
            )
        except WorkflowRefused as refusal:
            why = f": {refusal}" if refusal.code == "choice_invalid" else ""
            self._run.pause(ticket, f"step {ticket.step} needs a person{why}")
            return
        self._run.submit(ticket, output)


_IN_TASK = ("FileSystemTool", "FileDownloaderTool")
_LONGEST = 8000
"""The most characters of a result in the output of a step."""
_LARGEST = 500_000
"""The most characters of a result's data; of larger data only the text of the result is used."""


class ToolDriver:
    """Makes the calls of tool steps."""

    def __init__(self, run: StepRun) -> None:
        self._run = run

    async def work(self, ticket: Ticket) -> None:
        """Make the call, unless an earlier one was cut off: a person decides then."""
        conversation = self._run.conversation()
        executor = self._run.context.engine.executor
        cut_off = self._run.workflows.claims.begin_call(
            ticket.execution_id, ticket.step, driver=RUNNER, conversation=conversation
        )
        if cut_off is not None:
            self._run.context.report(f"{ticket.step}: {cut_off.message}")
            return
        plan = executor.plan(
            call_of(self._in_task(ticket), CallId(mint("call"))),
            self._run.gate(conversation, ticket),
        )
        plan = self._handed_out(plan, ticket)
        self._run.recorder.watch(conversation)
        executed = await self._called(plan, ticket, conversation)
        output = output_of_call(executed)
        data = output.get("result_data")
        raw = json.dumps(data, ensure_ascii=False) if data else executed.finished.text
        if "/" in ticket.step and len(raw) > LONG:
            add = self._run.workflows.notes.add_artifact
            add(ticket.execution_id, ticket.step, RESULT, raw, type_="data")
        self._run.submit(ticket, output)

    def _handed_out(self, plan: CallPlan, ticket: Ticket) -> CallPlan:
        """The call with a worker in the place of its operation, where its role is handed out.

        Gate, guard and evidence stay here. Calls on files and commands run here, where the workspace
        is, and so do calls that a hook or a person changed.
        """
        hand_out, operation = self._run.context.hand_out, plan.operation
        if hand_out is None or operation is None or (carry := hand_out.carrier(ticket)) is None:
            return plan
        accesses = operation.accesses(plan.arguments)
        if not all(isinstance(a, Fetch | Use) for a in accesses):
            why = "its call touches files or runs a command in this workspace"
        elif not accesses and not operation.anywhere:
            why = "its call needs data of this program"
        else:
            return replace(plan, operation=replace(operation, run=carry))
        self._run.context.report(f"{ticket.step}: done here and not by a worker: {why}")
        return plan

    async def _called(
        self, plan: CallPlan, ticket: Ticket, conversation: ConversationId
    ) -> Executed:
        """Make the call; a subagent that it begins has the model of the run, and counts with it."""
        engine, model = self._run.context.engine, self._run.context.model
        whole = self._run.context.budget
        budget = Budget(whole.max_steps, parent=whole)
        if model is None:
            return await engine.executor.run(plan, conversation)
        with engine.budgets.running(conversation, budget, model, subagent_gate()):
            executed = await engine.executor.run(plan, conversation)
        if budget.usage != Usage():
            calls = int(executed.data.get("iterations", 1))
            add = self._run.workflows.notes.add_usage
            add(ticket.execution_id, ticket.step, calls, budget.usage)
        return executed

    def _in_task(self, ticket: Ticket) -> Ticket:
        """Set the task's folder in calls on files of a task, against any other in the plan."""
        if ticket.tool not in _IN_TASK:
            return ticket
        created = self._run.workflows.records.execution(ticket.execution_id).created_at
        folder = f"saved_tasks/{task_folder(ticket.execution_id, created)}/workspace"
        return replace(ticket, arguments={**ticket.arguments, "task_folder": folder})


def call_of(ticket: Ticket, identifier: CallId) -> ToolCall:
    """The call that a tool step is."""
    arguments = json.dumps(ticket.arguments, ensure_ascii=False)
    return ToolCall(identifier, ticket.tool, arguments)


def output_of_call(executed: Executed) -> dict[str, object]:
    """Return the output of a tool step: how its call ended."""
    finished = executed.finished
    success, code = outcome_of(finished)
    return {
        "summary": finished.text[:_LONGEST] or finished.summary,
        "success": success,
        "ok": finished.ok,
        "exit_code": code,
        "text": finished.text[:_LONGEST],
        **_result_data(executed),
    }


def _result_data(executed: Executed) -> dict[str, object]:
    """The data of a result, where it has any, for references: seed 002's ``result_data``."""
    if not executed.data:
        return {}
    size = len(json.dumps(executed.data, ensure_ascii=False, default=str))
    return {"result_data": dict(executed.data)} if size <= _LARGEST else {}
