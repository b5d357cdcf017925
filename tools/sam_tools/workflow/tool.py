"""workflow: start, follow and advance a workflow from within a conversation; never gated itself."""

import json
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sam_tools.workflow.arguments import (
    STEERING,
    Advance,
    Artifact,
    Finding,
    OneExecution,
    Plan,
    Steering,
    WorkflowStart,
)
from sam_tui.core.display import Table, Text
from sam_tui.core.errors import ToolError
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.offer import canonical
from sam_tui.core.workflow.gate import spelled
from sam_tui.core.workflow.views import FOR_MODELS, Verb, WorkflowRefused

if TYPE_CHECKING:
    from sam_tui.core.workflow.drivers.host_steps import Person
    from sam_tui.core.workflow.service import Workflows
    from sam_tui.core.workflow.views import Advanced, ExecutionView, StepView, Ticket


def status_text(view: "ExecutionView", steps: "Sequence[StepView]") -> str:
    """The state of an execution, step by step."""
    lines = [f"{view.workflow} ({view.id}): {view.state}, {view.progress} steps. {view.reason}"]
    for step in steps:
        lines.append(f"- {step.id}: {step.status}" + (f" ({step.error})" if step.error else ""))
        lines += [f"  - {task.title}: {task.status}" for task in step.tasks]
    if view.question is not None:
        lines.append(f"It asks: {view.question.prompt}; a person decides.")
    return "\n".join(lines)


def ticket_text(ticket: "Ticket") -> str:
    """A step to work on: its tools, its task, and the output it asks for."""
    parts = [
        f"STEP {ticket.step} (attempt {ticket.attempt}). Tools allowed: {spelled(ticket.spec.allowed)}."
    ]
    if ticket.persona_text:
        parts.append(ticket.persona_text)
    parts.append(ticket.instructions)
    if ticket.spec.kind == "human":
        parts.append("Advance with any output: the person is asked then.")
    if ticket.spec.kind == "tool":
        arguments = json.dumps(ticket.arguments, ensure_ascii=False)
        parts.append(f"Call {ticket.spec.tool} with {arguments}; advance with what it came to.")
    if ticket.spec.output is not None:
        parts.append(f"Output: {canonical(ticket.spec.output)}")
    return "\n\n".join(parts)


_ABOUT = (
    "Work by phases: start a workflow, do the step it gives you with the tools it allows, advance"
    " with the step's output, until it is completed."
)


class WorkflowTool:
    """The tool over the core's ``Workflows``, which the first call opens.

    ``flush`` stores the evidence recorded so far.

    A model answers for neither the person nor the host: a human step is asked here, and a tool step is
    taken from the record.
    """

    def __init__(
        self,
        workflows: "Callable[[], Workflows]",
        inquiries: Inquiries,
        flush: Callable[[], None],
    ) -> None:
        self._open = workflows
        self._inquiries = inquiries
        self._flush = flush

    @property
    def _workflows(self) -> "Workflows":
        return self._open()

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operations: tuple[Operation[Any], ...] = (
            Operation("start", "begin one", WorkflowStart, self._start, lambda a: f"Workflow: {a.name}",
                      schedule=Schedule.BLOCKING),
            Operation("status", "where it stands", OneExecution, self._status, _line("status")),
            Operation("advance", "hand in the step's output", Advance, self._advance, _line("advance"),
                      schedule=Schedule.BLOCKING),
            Operation("plan", "hand in a plan step's steps", Plan, self._plan, _line("plan"),
                      schedule=Schedule.BLOCKING),
            Operation("replan", "replace them", Plan, self._replan, _line("replan"),
                      schedule=Schedule.BLOCKING),
            *(
                Operation(verb.name, verb.brief, STEERING[verb.word], self._steering(verb),
                          _line(verb.name), schedule=Schedule.BLOCKING)
                for verb in FOR_MODELS
            ),
            Operation("artifact", "keep, read or list texts", Artifact, self._artifact, _line("artifact")),
            Operation("finding", "keep or list findings", Finding, self._finding, _line("finding")),
        )  # fmt: skip
        return Tool("workflow", _ABOUT, operations)

    async def _start(self, arguments: WorkflowStart, context: ToolContext) -> ToolResult:
        if not arguments.name:
            return self._list()
        with refusals_as_tool_errors():
            done = self._workflows.start(
                arguments.name, arguments.params or {}, conversation=context.conversation
            )
        return self._opened(done, context)

    def _list(self) -> ToolResult:
        views = self._workflows.catalog.views()
        rows = tuple((v.name, v.origin, v.definition.description) for v in views)
        lines: list[str] = []
        for view in views:
            definition = view.definition
            params = [f"{n}{'' if p.required else '?'}" for n, p in definition.params.items()]
            lines.append(f"- {view.name}({', '.join(params)}): {definition.description}")
        text = "\n".join(lines) or "There are no workflows."
        return ToolResult(text, display=(Table(("workflow", "from", "about"), rows),))

    async def _status(self, arguments: OneExecution, context: ToolContext) -> ToolResult:
        execution = self._of(arguments.executionId, context)
        view, steps = (
            self._workflows.records.execution(execution),
            self._workflows.records.steps(execution),
        )
        tickets = self._workflows.tickets(execution, mint=False)
        if tickets and not self._workflows.records.phase(context.conversation):
            self._claim(tickets[0], context)
        parts = [status_text(view, steps), *(ticket_text(ticket) for ticket in tickets[:1])]
        rows = tuple((s.id, s.status, s.persona, str(s.attempts)) for s in steps)
        table = Table(("step", "status", "persona", "attempts"), rows)
        data = {"executionId": view.id, "state": view.state, "progress": view.progress}
        return ToolResult("\n\n".join(parts), display=(table,), data=data)

    async def _advance(self, arguments: Advance, context: ToolContext) -> ToolResult:
        execution = self._of(arguments.executionId, context)
        self._flush()
        with refusals_as_tool_errors():
            step = arguments.step or self._step(execution, context)
            output = await self._vouched(execution, step, arguments.output, context)
            return self._submitted(execution, step, output, context)

    def _submitted(
        self, execution: str, step: str, output: dict[str, object], context: ToolContext
    ) -> ToolResult:
        """Hand in a step. A conversation that works on one step alone can hand in only that one."""
        phase = self._workflows.records.phase(context.conversation)
        if phase is None or not phase.alone:
            return self._opened(self._workflows.submit(execution, step, output), context)
        if (execution, step) != (phase.execution_id, phase.step):
            raise ToolError(
                f"You were given step {phase.step} of {phase.execution_id}, and no other.",
                hint="Advance that one with its output.",
            )
        done = self._workflows.submit(execution, step, output)
        failed = [f"Did not hold: {failure.message}" for failure in done.failures]
        return ToolResult("\n".join(failed) or f"Step {step} is done. Say so, and end.")

    async def _vouched(
        self, execution: str, step: str, output: dict[str, object], context: ToolContext
    ) -> dict[str, object]:
        """The output to hand in: the person's for a human step, the recorded result for a tool step."""
        open_ = self._workflows.tickets(execution, mint=False)
        ticket = next((t for t in open_ if t.step == step), None)
        if ticket is not None and ticket.spec.kind == "human":
            return await self._person(context).work_on(ticket)
        if ticket is not None and ticket.spec.kind == "tool":
            return self._seen(ticket)
        return output

    def _seen(self, ticket: "Ticket") -> dict[str, object]:
        """The result of the last matching call of this attempt."""
        attempts = [
            a for a in self._workflows.records.history(ticket.execution_id) if a.status == "open"
        ]
        started = max((a.started_at for a in attempts if a.step == ticket.step), default=0.0)
        command = ticket.arguments.get("command")
        rows = [
            row
            for row in self._workflows.records.reader.evidence(ticket.execution_id)
            if (row.step, row.operation) == (ticket.step, ticket.spec.tool)
            and row.made_at >= started
            and command in (None, row.subject)
        ]
        if not rows:
            arguments = json.dumps(ticket.arguments, ensure_ascii=False)
            raise ToolError(
                f"Nothing shows that {ticket.spec.tool} was called in this step.",
                hint=f"Call it with {arguments}, then advance.",
            )
        last = rows[-1]
        code = last.exit_code
        outcome = (
            "succeeded" if last.ok else f"failed with {code}" if code is not None else "failed"
        )
        summary = f"{last.operation} {outcome}: {last.subject}"
        return {"summary": summary, "success": last.ok, "ok": last.ok, "exit_code": code}

    async def _plan(self, arguments: Plan, context: ToolContext) -> ToolResult:
        execution = self._of(arguments.executionId, context)
        output: dict[str, object] = {
            "summary": f"{len(arguments.steps)} steps planned",
            "steps": arguments.steps,
        }
        self._flush()
        with refusals_as_tool_errors():
            step = arguments.step or self._step(execution, context)
            return self._submitted(execution, step, output, context)

    async def _replan(self, arguments: Plan, context: ToolContext) -> ToolResult:
        execution = self._of(arguments.executionId, context)
        plans = [s for s in self._workflows.records.steps(execution) if s.kind == "plan"]
        step = arguments.step or (plans[-1].id if plans else "")
        with refusals_as_tool_errors():
            done = self._workflows.replan(execution, step, arguments.steps)
        return self._opened(done, context)

    def _steering(self, verb: Verb) -> Callable[[Steering, ToolContext], Awaitable[ToolResult]]:
        """Return the function that carries out a verb of the table."""

        async def steer(arguments: Steering, context: ToolContext) -> ToolResult:
            from sam_tui.core.workflow.drivers.host_steps import steer_with_person

            execution = self._of(arguments.executionId, context)
            word = str(getattr(arguments, verb.word)) if verb.word else ""
            with refusals_as_tool_errors():
                done = await steer_with_person(
                    self._workflows, self._person(context), verb.name, execution, word
                )
            return self._opened(done, context)

        return steer

    async def _artifact(self, arguments: Artifact, context: ToolContext) -> ToolResult:
        with refusals_as_tool_errors():
            if arguments.artifactId:
                chunk = self._workflows.records.read_artifact(
                    arguments.artifactId, arguments.offset, arguments.length
                )
                note = f"[{chunk.start}-{chunk.end} of {chunk.total} characters]"
                return ToolResult(f"{chunk.text}\n{note}")
            execution = self._of(arguments.executionId, context)
            if arguments.name:
                step = self._step(execution, context)
                row = self._workflows.notes.add_artifact(
                    execution, step, arguments.name, arguments.text
                )
                text = f"Kept as {row.id}: {row.name}, {row.size} bytes."
                return ToolResult(text, data={"artifactId": row.id})
            rows = self._workflows.records.artifacts(execution)
        lines = [f"{r.id}  {r.step}  {r.type}  {r.size} bytes  {r.name}" for r in rows]
        return ToolResult("\n".join(lines) or "There are no artifacts.")

    async def _finding(self, arguments: Finding, context: ToolContext) -> ToolResult:
        from sam_tui.core.ports.workflows import FindingQuery
        from sam_tui.core.workflow.execution.output import FindingDraft

        execution = self._of(arguments.executionId, context)
        with refusals_as_tool_errors():
            if arguments.title:
                row = self._workflows.notes.add_finding(
                    FindingDraft(
                        title=arguments.title,
                        content=arguments.content or arguments.title,
                        severity=arguments.severity,
                        category=arguments.category,
                        source_execution_id=execution,
                    )
                )
                return ToolResult(f"Kept as {row.id}, to be reviewed by a person.")
            rows = self._workflows.records.reader.findings(FindingQuery(execution))
        lines = [f"{r.id}  {r.severity}  {r.review}  {r.title}\n{r.content}" for r in rows]
        return ToolResult("\n".join(lines) or "There are no findings.")

    def _person(self, context: ToolContext) -> "Person":
        from sam_tui.core.workflow.drivers.host_steps import Person

        return Person(self._inquiries, context.conversation, context.call)

    def _of(self, identifier: str, context: ToolContext) -> str:
        """The execution that is meant."""
        if identifier:
            with refusals_as_tool_errors():
                return self._workflows.records.execution(identifier).id
        phase = self._workflows.records.phase(context.conversation)
        if phase is None:
            raise ToolError(
                "This conversation drives no workflow.",
                hint='Begin one: {"operation": "start", "name": "..."}; or name an executionId.',
            )
        return phase.execution_id

    def _step(self, execution: str, context: ToolContext) -> str:
        """The step that is meant: the phase of the conversation, else the first that is open."""
        phase = self._workflows.records.phase(context.conversation)
        open_ = [ticket.step for ticket in self._workflows.tickets(execution, mint=False)]
        if phase is not None and phase.execution_id == execution and phase.step in open_:
            return phase.step
        return open_[0] if open_ else ""

    def _opened(self, done: "Advanced", context: ToolContext) -> ToolResult:
        """The outcome of a verb and the next open step, which the conversation works on from now on."""
        lines = [f"{done.workflow} ({done.execution_id}): {done.outcome}. {done.message}"]
        lines += [f"Did not hold: {failure.message}" for failure in done.failures]
        text = "\n".join(lines)
        open_ = (
            self._workflows.tickets(done.execution_id, mint=False)
            if done.state == "running"
            else ()
        )
        if open_:
            self._claim(open_[0], context)
            text += f"\n\n{ticket_text(open_[0])}"
        data = {
            "executionId": done.execution_id,
            "state": done.state,
            "outcome": done.outcome,
            "open": [ticket.step for ticket in open_],
        }
        return ToolResult(text, display=(Text("\n".join(lines)),), data=data)

    def _claim(self, ticket: "Ticket", context: ToolContext) -> None:
        """Take a step over, unless the conversation is in a phase of another execution."""
        phase = self._workflows.records.phase(context.conversation)
        if phase is not None and phase.execution_id != ticket.execution_id:
            return
        self._workflows.claims.claim(
            ticket.execution_id, ticket.step, driver="sam-tui", conversation=context.conversation
        )


@contextmanager
def refusals_as_tool_errors() -> Generator[None]:
    """Turn the engine's refusals into ``ToolError`` with the engine's code."""
    try:
        yield
    except WorkflowRefused as refusal:
        raise ToolError(f"{refusal.code}: {refusal}", hint=refusal.hint) from refusal


def _line(verb: str) -> Callable[[object], str]:
    return lambda _: f"Workflow: {verb}"
