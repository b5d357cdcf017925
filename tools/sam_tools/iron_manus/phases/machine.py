"""JARVIS on the workflow engine: one call shows a session, or hands in one of its phases.

    asked = JarvisRequest(session_id="s", phase_completed="QUERY", payload={"interpreted_goal": "..."})
    answer = await machine.turn(asked, caller)

A refused call raises ``WorkflowRefused`` with a code and changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sam_tools.iron_manus.phases import payloads
from sam_tools.iron_manus.phases.answer import Extra, TurnAnswers
from sam_tools.iron_manus.phases.delegation import Delegates, DelegationContext, handoff_name
from sam_tools.iron_manus.phases.evidence import SessionEvidence, require_evidence, review
from sam_tools.iron_manus.phases.folder import DAY, SessionFolders, require_session_id
from sam_tools.iron_manus.phases.roles import no_role, role_named
from sam_tools.iron_manus.phases.sessions import ManusSession, ManusSessions
from sam_tui.core.accesses import Location
from sam_tui.core.agent.subagents import Sender
from sam_tui.core.clock import Clock
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.ports.files import Files, FileStat
from sam_tui.core.workflow.drivers.host_steps import Person, steer_with_person
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused

_SUMMARY = 500


@dataclass(frozen=True, slots=True)
class JarvisRequest:
    """The arguments of JARVIS. ``named`` are the located files that the payload names as evidence."""

    session_id: str = ""
    phase_completed: str = ""
    initial_objective: str = ""
    payload: Mapping[str, object] | None = None
    named: Mapping[str, Location] = field(default_factory=dict[str, Location])


@dataclass(frozen=True, slots=True)
class PhaseOutput:
    """A phase's payload after reading: the output for the engine, and warnings for the answer."""

    output: Mapping[str, object]
    warnings: tuple[str, ...] = ()


class PhaseMachine:
    """The eight phases for callers of JARVIS."""

    def __init__(
        self,
        workflows: Workflows,
        folders: SessionFolders,
        files: Files,
        context: DelegationContext,
        *,
        inquiries: Inquiries,
        clock: Clock,
    ) -> None:
        self.sessions = ManusSessions(workflows)
        self._workflows = workflows
        self._folders = folders
        self._evidence = SessionEvidence(workflows, files)
        self._delegates = Delegates(workflows, folders, self._evidence, context)
        self._answers = TurnAnswers(workflows, self.sessions, folders)
        self._context = context
        self._inquiries = inquiries
        self._clock = clock

    async def turn(self, request: JarvisRequest, caller: Sender) -> dict[str, Any]:
        """The answer to one call. Raises ``WorkflowRefused``."""
        self._context.flush()
        session, created = self._session(request, caller)
        extra = Extra()
        if session.view.question is not None:
            session = await self._decide(session, caller)
        if request.phase_completed and not created and session.phase != "DONE":
            session, extra = self._complete(session, request, caller)
        self.sessions.claim(session, caller.conversation)
        self._restore(session)
        delegation = self._delegates.earlier(session)
        meta = self._delegates.due(session)
        if meta is not None:
            delegation = await self._delegates.run(session, meta, caller)
            session = self.sessions.find(session.id)
        extra = replace(extra, delegation=delegation, evidence=self._evidence.of(session))
        return self._answers.of(session, extra)

    def sweep(self) -> tuple[str, ...]:
        """Remove the folders of sessions that were idle for a day; their texts stay in the store."""
        before = self._clock.now() - DAY

        def idle(entry: FileStat) -> bool:
            return (self.sessions.last_activity(entry.name) or entry.mtime) < before

        return self._folders.sweep(idle)

    # -- sessions ------------------------------------------------------------------------------

    def _session(self, request: JarvisRequest, caller: Sender) -> tuple[ManusSession, bool]:
        """The session that is meant, and whether it was begun just now."""
        identifier = request.session_id and require_session_id(request.session_id)
        objective = request.initial_objective.strip()
        if objective and not (identifier and self.sessions.knows(identifier)):
            return self._begin(identifier, objective, request, caller), True
        identifier = identifier or self.sessions.of(caller.conversation)
        if not identifier:
            raise WorkflowRefused(
                "objective_missing",
                "There is no session to go on with.",
                hint='Begin one: JARVIS {"initial_objective": "..."}.',
            )
        session = self.sessions.find(identifier)
        if objective and objective != session.objective:
            raise WorkflowRefused(
                "session_exists",
                f"Session {identifier} has another objective, and is in {session.phase}.",
                hint="Leave initial_objective out, or begin a session of another id.",
                session_id=identifier,
                phase=session.phase,
            )
        if session.view.state == "idle":
            self._workflows.steer("resume", identifier)
            session = self.sessions.find(identifier)
        return session, False

    def _begin(
        self, identifier: str, objective: str, request: JarvisRequest, caller: Sender
    ) -> ManusSession:
        if request.phase_completed:
            raise WorkflowRefused(
                "phase_mismatch",
                f"A new session is in INIT, so {request.phase_completed} cannot be completed.",
                expected="INIT",
                got=request.phase_completed,
            )
        self.sweep()
        requested = (request.payload or {}).get("role")
        role = requested if isinstance(requested, str) else ""
        session = self.sessions.begin(identifier, objective, role, caller.conversation)
        self._folders.prepare(session.id)
        return session

    def _restore(self, session: ManusSession) -> None:
        """Bring back the hand-offs of a folder that was swept while the session was idle."""
        if session.phase == "DONE" or self._folders.listed(session.id):
            return
        rows = self._workflows.records.artifacts(session.id)
        texts = {
            row.name: self._workflows.records.read_artifact(row.id).text
            for row in rows
            if row.type == "file"
        }
        if texts:
            self._folders.restore(session.id, texts)

    async def _decide(self, session: ManusSession, caller: Sender) -> ManusSession:
        """Ask the person the question of a paused session; without an answer the session stays paused."""
        person = Person(self._inquiries, caller.conversation, caller.call)
        try:
            await steer_with_person(self._workflows, person, "resume", session.id)
        except WorkflowRefused as refusal:
            if refusal.code == "needs_person":
                return session
            raise
        return self.sessions.find(session.id)

    # -- phases --------------------------------------------------------------------------------

    def _complete(
        self, session: ManusSession, request: JarvisRequest, caller: Sender
    ) -> tuple[ManusSession, Extra]:
        """Hand in a phase: read, checked, kept, submitted."""
        phase = request.phase_completed
        self.sessions.require_phase(session, phase)
        received = payloads.read_payload(phase, request.payload)
        self.sessions.claim(session, caller.conversation)
        self._evidence.add_files(session, caller.conversation, request.named)
        handed = self._output(session, received.payload, caller)
        done = self.sessions.submit(session, phase, handed.output)
        failures = tuple(failure.message for failure in done.failures)
        return self.sessions.find(session.id), Extra(
            ignored=received.ignored, warnings=handed.warnings, failures=failures
        )

    def _output(
        self, session: ManusSession, payload: payloads.Payload, caller: Sender
    ) -> PhaseOutput:
        match payload:
            case payloads.QueryPayload():
                return _query(session, payload)
            case payloads.EnhancePayload():
                goal = payload.enhanced_goal
                return PhaseOutput({"summary": goal[:_SUMMARY], "enhanced_goal": goal})
            case payloads.KnowledgePayload():
                return self._knowledge(session, payload)
            case payloads.PlanPayload():
                tasks, warnings = payloads.plan_tasks(payload)
                summary = f"{len(tasks)} todos, {sum('role' in t for t in tasks)} of them delegated"
                return PhaseOutput({"summary": summary, "tasks": tasks}, tuple(warnings))
            case payloads.ExecutePayload():
                return self._execute(session, payload, caller)
            case payloads.VerifyPayload():
                reason = payload.reason or "no reason given"
                passed = payload.verification_passed
                output = {"summary": reason[:_SUMMARY], "reason": reason}
                return PhaseOutput(output | {"verification_passed": passed})

    def _knowledge(self, session: ManusSession, payload: payloads.KnowledgePayload) -> PhaseOutput:
        warnings: list[str] = []
        for handoff in payload.handoffs:
            warnings += self._keep(session, _role_of(handoff), handoff.content, "knowledge")
        gathered = payload.knowledge_gathered
        if not gathered:
            gathered = (self._folders.read(session.id, "synthesized_knowledge.md") or "").strip()
        if not gathered:
            raise payloads.invalid("KNOWLEDGE", [
                "payload.knowledge_gathered is missing, and synthesized_knowledge.md is not there",
            ])  # fmt: skip
        if self._folders.read(session.id, "synthesized_knowledge.md") is None:
            self._folders.write(session.id, "synthesized_knowledge.md", gathered)
        sources = [source.model_dump() for source in payload.sources]
        if not sources:
            warnings.append("no source is named: what was gathered cannot be traced")
        output = {"summary": gathered[:_SUMMARY], "knowledge_gathered": gathered[:100_000]}
        return PhaseOutput(output | {"sources": sources}, tuple(warnings))

    def _execute(
        self, session: ManusSession, payload: payloads.ExecutePayload, caller: Sender
    ) -> PhaseOutput:
        warnings: list[str] = []
        task = session.ticket.task if session.ticket else None
        assert task is not None
        role = str(task.payload.get("role") or session.role)
        name = handoff_name(role, task)
        if payload.handoff:
            warnings += self._keep(session, role, payload.handoff, "execute", name=name)
        self._count_report(session, name, caller)
        if payload.execution_success:
            require_evidence(session, self._evidence.of(session))
        result = "done" if payload.execution_success else "reported as failed"
        output = {"summary": payload.summary or result, "success": payload.execution_success}
        return PhaseOutput(output, tuple(warnings))

    def _count_report(self, session: ManusSession, name: str, caller: Sender) -> None:
        """Record a report in the todo's hand-off file as evidence, whoever wrote it there."""
        text = self._folders.read(session.id, name)
        if text is not None and text.strip() and not review(text).blocks:
            file = self._folders.facts(session.id, name, text)
            self._evidence.add_handoff(caller.conversation, file)

    def _keep(
        self, session: ManusSession, role: str, text: str, step: str, *, name: str = ""
    ) -> list[str]:
        """Keep a hand-off as file and artifact. Raises ``WorkflowRefused`` (``handoff_refused``)."""
        looked = review(text)
        if looked.blocks:
            raise WorkflowRefused(
                "handoff_refused",
                f"The hand-off of {role} is not kept: {'; '.join(looked.blocks)}.",
                hint="Take it out, and hand in the phase again.",
            )
        file = name or handoff_name(role)
        self._folders.write(session.id, file, text)
        self._workflows.notes.add_artifact(session.id, step, file, text)
        return [f"{file}: {note}" for note in looked.notes]


def _query(session: ManusSession, payload: payloads.QueryPayload) -> PhaseOutput:
    chosen, fault = payloads.chosen_role(payload)
    if fault:
        if payload.selected_role:
            raise payloads.invalid("QUERY", [f"payload.selected_role: {fault}"])
        chosen = None
    role = chosen.role if chosen else session.role
    reasons = list(chosen.reasons if chosen else session.role_reasons)
    goal = payload.interpreted_goal
    output = {"summary": goal[:_SUMMARY], "interpreted_goal": goal}
    output |= {"selected_role": role, "role_reasons": reasons}
    warning = (f"the choice in claude_response was not taken: {fault}",) if fault else ()
    return PhaseOutput(output, warning)


def _role_of(handoff: payloads.Handoff) -> str:
    role = role_named(handoff.role)
    if role is None:
        raise payloads.invalid("KNOWLEDGE", [f"payload.handoffs: {no_role(handoff.role)}"])
    return role.name
