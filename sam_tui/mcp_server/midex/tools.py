"""Seed 003's tools: ``workflow.start`` and ``workflow.next_step``, with verbs for all the rest.

A model answers for neither the person nor the host: a human step asks the client's person, and a tool
step is run here, through the guard, and a client's output for it is ignored.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from sam_tui.core.errors import SamError
from sam_tui.core.ports.workflows import FindingQuery
from sam_tui.core.runtime import Runtime
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.tooling.arguments import Arguments, UnknownArguments
from sam_tui.core.tooling.offer import arguments_schema, canonical
from sam_tui.core.tooling.results import IGNORED
from sam_tui.core.workflow.drivers.host_steps import (
    Person,
    call_of,
    output_of_call,
    steer_with_person,
)
from sam_tui.core.workflow.execution.output import FindingDraft
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import (
    FOR_MODELS,
    Advanced,
    ExecutionView,
    Ticket,
    Verb,
    WorkflowRefused,
)
from sam_tui.mcp_server.json_text import plain_json
from sam_tui.mcp_server.midex import forms as forms
from sam_tui.mcp_server.midex.arguments import (
    STEERING,
    AddFinding,
    MidexExecution,
    MidexStart,
    NextStep,
    ReadArtifact,
    SearchFindings,
    UpdateFinding,
)
from sam_tui.mcp_server.midex.claims import Claims
from sam_tui.mcp_server.midex.resources import artifact_uri
from sam_tui.mcp_server.toolbox import ToolRequest

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Entry:
    about: str
    arguments: type[Arguments]
    verb: Callable[[Any, ToolRequest], Awaitable[Answer]]
    reads: bool = False
    ends: bool = False


class MidexToolbox:
    """The tools over the workflows of one data folder.

    ``served`` are the tools that clients can call besides, and whose calls are evidence.
    """

    def __init__(self, runtime: Runtime, claims: Claims, served: Collection[str]) -> None:
        self._runtime = runtime
        self._served = served
        self._claims = claims
        self._entries: dict[str, _Entry] = {
            "workflow.start": _Entry(
                "Start a workflow. Returns its first step: persona, instructions and the token that"
                " finishes it. Steps that may run side by side are in steps, each with its token.",
                MidexStart, self._start),
            "workflow.next_step": _Entry(
                "Finish a step with its token, once, and get the next one, until workflow_state is"
                " completed. Output that does not fit is refused with the faults; the token stays"
                " good then.",
                NextStep, self._next_step),
            **{
                f"workflow.{verb.name}": _Entry(
                    verb.about, STEERING[verb.word][0], self._steering(verb), ends=verb.ends)
                for verb in FOR_MODELS
            },
            "workflow.read_artifact": _Entry(
                "Read the text of an artifact, or a range of it.", ReadArtifact, self._artifact,
                reads=True),
            "knowledge.add_finding": _Entry(
                "Keep something learnt; a person reviews it.", AddFinding, self._add_finding),
            "knowledge.update_finding": _Entry(
                "Correct a finding, or mark it deprecated.", UpdateFinding, self._update_finding),
            "knowledge.search": _Entry(
                "Findings, the gravest first.", SearchFindings, self._search, reads=True),
        }  # fmt: skip
        self._tools = tuple(_tool(name, entry) for name, entry in self._entries.items())

    @property
    def tools(self) -> tuple[types.Tool, ...]:
        """All of them, in a fixed order."""
        return self._tools

    def knows(self, name: str) -> bool:
        """By the seed's name, or with an underscore for clients that allow no dots."""
        return self._named(name) is not None

    async def run(self, request: ToolRequest) -> types.CallToolResult:
        """Run one call; a refusal is a result with a code."""
        entry = self._named(request.name)
        assert entry is not None
        unknown = UnknownArguments()
        try:
            arguments = entry.arguments.model_validate(dict(request.arguments), context=unknown)
            answer = {"success": True, **await entry.verb(arguments, request)}
        except ValidationError as error:
            answer = _refusal("invalid_arguments", "; ".join(faults_of(error)), {})
        except WorkflowRefused as refusal:
            answer = _refusal(refusal.code, refusal.explain(), refusal.details)
        except SamError as fault:
            answer = _refusal("failed", fault.explain(), {})
        if unknown.words:
            answer[IGNORED] = list(unknown.words)
        shield = self._runtime.executor.shield
        shield.refresh()
        answer = shield.without_known(plain_json(answer))
        # Once: no output schema is promised, so a client that looks for data reads the text, too.
        return types.CallToolResult(
            content=[types.TextContent(text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer if request.structured else None,
            is_error=not answer["success"],
        )

    def _named(self, name: str) -> _Entry | None:
        dotted = name if "." in name else name.replace("_", ".", 1)
        return self._entries.get(dotted)

    @property
    def _workflows(self) -> Workflows:
        return self._runtime.workflows.workflows()

    # -- verbs ---------------------------------------------------------------------------------

    async def _start(self, arguments: MidexStart, request: ToolRequest) -> Answer:
        definition = self._workflows.catalog.view(arguments.workflow_name).definition
        for step, evidence in definition.evidence:
            if not any(fnmatchcase(tool, evidence.partition(".")[0]) for tool in self._served):
                raise WorkflowRefused(
                    "evidence_unavailable",
                    f"{definition.name} cannot be finished here: its step {step} needs evidence of"
                    f" {evidence}, and this server has no such tool.",
                    hint="Serve it with sam-tui mcp serve --profile all, or let our agent do it:"
                    f" sam-tui workflow run {definition.name}.",
                    step=step,
                    evidence=evidence,
                )
        done = self._workflows.start(
            arguments.workflow_name, arguments.params, execution_id=arguments.execution_id
        )
        return self._opened(done, request)

    async def _next_step(self, arguments: NextStep, request: ToolRequest) -> Answer:
        ticket = self._workflows.peek(arguments.token, execution_id=arguments.execution_id)
        output: Any = arguments.output
        match ticket.spec.kind:
            case "tool":
                return self._opened(await self._run_tool(ticket, arguments.token, request), request)
            case "human":
                output = await self._person(request).work_on(ticket)
            case _:
                self._runtime.workflows.flush()
        return self._opened(self._workflows.advance(arguments.token, output), request)

    def _steering(self, verb: Verb) -> Callable[[MidexExecution, ToolRequest], Awaitable[Answer]]:
        """Return the function that carries out a verb of the table."""

        async def steer(arguments: MidexExecution, request: ToolRequest) -> Answer:
            field = STEERING[verb.word][1]
            word = str(getattr(arguments, field)) if field else ""
            done = await steer_with_person(
                self._workflows, self._person(request), verb.name, arguments.execution_id, word
            )
            return self._opened(done, request)

        return steer

    async def _artifact(self, arguments: ReadArtifact, _: ToolRequest) -> Answer:
        chunk = self._workflows.records.read_artifact(
            arguments.artifact_id, arguments.offset, arguments.length
        )
        return {
            "artifact_id": arguments.artifact_id,
            "uri": artifact_uri(arguments.artifact_id),
            "content": chunk.text,
            "start": chunk.start,
            "end": chunk.end,
            "total": chunk.total,
        }

    async def _add_finding(self, arguments: AddFinding, request: ToolRequest) -> Answer:
        fields = arguments.model_dump()
        fields["source_agent"] = arguments.source_agent or request.client.name
        row = self._workflows.notes.add_finding(FindingDraft.model_validate(fields))
        return {"finding": forms.finding_form(row)}

    async def _update_finding(self, arguments: UpdateFinding, _: ToolRequest) -> Answer:
        changes = arguments.model_dump(exclude={"id"}, exclude_none=True)
        return {
            "finding": forms.finding_form(
                self._workflows.notes.update_finding(arguments.id, changes)
            )
        }

    async def _search(self, arguments: SearchFindings, _: ToolRequest) -> Answer:
        query = FindingQuery(
            arguments.execution_id,
            project=arguments.project_id,
            status="active",
            text=arguments.text,
            limit=arguments.limit,
        )
        return {
            "findings": [
                forms.finding_form(row) for row in self._workflows.records.reader.findings(query)
            ]
        }

    # -- steps that no client does -------------------------------------------------------------

    async def _run_tool(self, ticket: Ticket, token: str, request: ToolRequest) -> Advanced:
        """Run the call of a tool step here; an approval that nobody can give leaves it open."""
        self._claims.take((ticket,), request.client)
        conversation = request.client.conversation
        with self._workflows.claims.drive(ticket.execution_id):
            cut_off = self._workflows.claims.begin_call(ticket.execution_id, ticket.step)
            if cut_off is not None:
                return cut_off
            executed = await self._runtime.executor.execute(
                call_of(ticket, request.call.id), conversation
            )
            if executed.decision is not None and executed.decision.rule == "unattended":
                self._workflows.claims.withdraw_call(ticket.execution_id, ticket.step)
                raise WorkflowRefused("needs_approval", executed.finished.text)
            self._runtime.workflows.flush()
            return self._workflows.advance(token, output_of_call(executed))

    def _person(self, request: ToolRequest) -> Person:
        return Person(self._runtime.inquiries, request.client.conversation, request.call.id)

    # -- results of verbs ----------------------------------------------------------------------

    def _opened(self, done: Advanced, request: ToolRequest) -> Answer:
        """Return the next step to do, in seed 003's names, and every other open one."""
        view = self._workflows.records.execution(done.execution_id)
        answer = _summary(done, view)
        if done.state != "running":
            return answer
        steps = list(done.opened) or list(self._workflows.tickets(done.execution_id))
        if not steps:
            return answer
        self._claims.take(steps[:1], request.client)
        open_forms = [forms.step_form(ticket) for ticket in steps]
        first = open_forms[0]
        chosen = (
            "step_name",
            "agent_name",
            "agent_content",
            "new_token",
            "expires_at",
            "output_schema",
        )
        answer |= {name: first[name] for name in chosen}
        answer["instructions"] = f"{first['instructions']}\n\n{forms.CONTINUE}"
        return answer | {"steps": open_forms}


def _summary(done: Advanced, view: ExecutionView) -> Answer:
    answer: Answer = {
        "execution_id": done.execution_id,
        "workflow_name": done.workflow,
        "workflow_state": done.state,
        "outcome": done.outcome,
        "progress": view.progress,
        "message": done.message,
    }
    if done.failures:
        answer["failures"] = [
            {"guard": f.guard, "message": f.message, "details": dict(f.details)}
            for f in done.failures
        ]
    if view.question is not None:
        question = view.question
        answer["question"] = {"prompt": question.prompt, "choices": list(question.choices)}
    return answer


def _refusal(code: str, message: str, details: Mapping[str, Any]) -> Answer:
    return {"success": False, "error": message, "code": code, "details": dict(details)}


def _tool(name: str, entry: _Entry) -> types.Tool:
    schema = arguments_schema(entry.arguments)
    return types.Tool(
        name=name,
        description=entry.about,
        input_schema={"type": "object", **json.loads(canonical(schema))},
        annotations=types.ToolAnnotations(
            read_only_hint=entry.reads, destructive_hint=entry.ends, open_world_hint=False
        ),
    )
