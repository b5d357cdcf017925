"""Sessions of the machine: executions of ``phased``, as JARVIS sees them."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from sam_tools.iron_manus.phases.folder import require_session_id
from sam_tools.iron_manus.phases.roles import ROLES, choose_role
from sam_tui.core.ids import ConversationId, mint
from sam_tui.core.ports.workflows import EventQuery, EventRow, TaskRow
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import Advanced, ExecutionView, StepView, Ticket, WorkflowRefused

WORKFLOW = "phased"
PHASES = ("QUERY", "ENHANCE", "KNOWLEDGE", "PLAN", "EXECUTE", "VERIFY")
"""The phases that can be completed; INIT and DONE are states before and after them."""
GRADES = ((0.9, "EXCELLENT"), (0.8, "GOOD"), (0.7, "SATISFACTORY"), (0.6, "NEEDS_IMPROVEMENT"))
_MOST_EVENTS = 5000


@dataclass(frozen=True, slots=True)
class ManusSession:
    """The present state of a session. ``ticket`` is its open step, or None."""

    view: ExecutionView
    steps: Mapping[str, StepView]
    ticket: Ticket | None
    role_reasons: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the session's execution."""
        return self.view.id

    @property
    def objective(self) -> str:
        """The objective of the session."""
        return str(self.view.params.get("objective") or "")

    @property
    def phase(self) -> str:
        """One of INIT, QUERY to VERIFY, and DONE."""
        if self.view.state == "completed":
            return "DONE"
        if self.ticket is not None:
            return self.ticket.step.upper()
        if self.view.question is not None:
            return self.view.question.step.upper()
        return (self.view.current[0] if self.view.current else "init").upper()

    @property
    def role(self) -> str:
        """The role of the session: chosen in QUERY, else at its start."""
        chosen = self.output("query").get("selected_role")
        return str(chosen or self.view.params.get("role") or "researcher")

    @property
    def todos(self) -> tuple[TaskRow, ...]:
        """The todos with the status that the store keeps; before EXECUTE none."""
        step = self.steps.get("execute")
        return step.tasks if step else ()

    def output(self, step: str) -> Mapping[str, object]:
        """The output of a phase; empty before."""
        view = self.steps.get(step)
        return (view.output or {}) if view else {}


class ManusSessions:
    """Begins, finds and advances sessions."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows

    def begin(
        self, session: str, objective: str, role: str, caller: ConversationId
    ) -> ManusSession:
        """Start a session. Raises ``WorkflowRefused``: ``session_exists``, ``role_unknown`` ...

        The conversation drives it, and is gated by its phases, unless it drives something already.
        """
        chosen = choose_role(objective, role)
        if role and chosen.by != "person":
            raise WorkflowRefused("role_unknown", f"{chosen.reasons[0]}.")
        identifier = require_session_id(session) if session else mint("session").replace(".", "_")
        busy = self._workflows.records.phase(caller) is not None
        params = {"objective": objective, "role": chosen.role}
        done = self._workflows.start(
            WORKFLOW, params, execution_id=identifier, conversation="" if busy else caller
        )
        self._workflows.notes.add_note(
            done.execution_id, "role_chosen", {"reasons": list(chosen.reasons)}
        )
        return self.find(done.execution_id)

    def find(self, session: str) -> ManusSession:
        """A session. Raises ``WorkflowRefused`` (``session_unknown``)."""
        require_session_id(session)
        view = self._known(session)
        if view is None:
            raise WorkflowRefused(
                "session_unknown",
                f"There is no session {session!r}.",
                hint="Begin one with initial_objective.",
                session_id=session,
            )
        steps = {step.id: step for step in self._workflows.records.steps(session)}
        tickets = self._workflows.tickets(session, mint=False)
        query = steps["query"].output or {}
        reasons = query.get("role_reasons") or self._begun_with(session)
        return ManusSession(view, steps, tickets[0] if tickets else None, tuple(reasons))

    def knows(self, session: str) -> bool:
        """Whether a session with this id exists."""
        return self._known(session) is not None

    def of(self, caller: ConversationId) -> str:
        """The session that a conversation works on, or nothing."""
        phase = self._workflows.records.phase(caller)
        return phase.execution_id if phase is not None and phase.workflow == WORKFLOW else ""

    def submit(self, session: ManusSession, phase: str, output: Mapping[str, object]) -> Advanced:
        """Hand in a phase. Raises ``WorkflowRefused``, of the engine's codes."""
        return self._workflows.submit(session.id, phase.lower(), dict(output))

    def require_phase(self, session: ManusSession, phase: str) -> None:
        """Raise ``WorkflowRefused`` unless the session is in that phase."""
        if session.view.state == "paused":
            question = session.view.question
            why = question.prompt if question else session.view.reason
            raise WorkflowRefused(
                "session_waits" if question else "execution_paused",
                f"Session {session.id} is paused in {session.phase}: {why}".rstrip(": "),
                hint="A person decides what follows." if question else "Resume it first.",
                session_id=session.id,
                phase=session.phase,
            )
        if session.view.state not in ("running", "completed"):
            raise WorkflowRefused(
                "execution_closed",
                f"Session {session.id} is {session.view.state}: {session.view.reason}",
                session_id=session.id,
                state=session.view.state,
            )
        if session.phase != phase:
            raise WorkflowRefused(
                "phase_mismatch",
                f"Session {session.id} is in {session.phase}, not in {phase}.",
                hint=f"Complete {session.phase} first; without phase_completed you are told how.",
                expected=session.phase,
                got=phase,
                session_id=session.id,
            )

    def claim(self, session: ManusSession, caller: ConversationId) -> None:
        """Have the conversation work on this session, whose phase gates it and gets its evidence.

        A claim on another session's step ends, so that only one phase gates the conversation.
        """
        if session.ticket is None:
            return
        phase = self._workflows.records.phase(caller)
        if phase is not None and phase.execution_id != session.id:
            claimed = self._workflows.claims.owner(phase.execution_id, phase.step)
            if claimed == caller:
                self._workflows.claims.claim(
                    phase.execution_id, phase.step, driver="", conversation=""
                )
        if self._workflows.claims.owner(session.id, session.ticket.step) != caller:
            self._workflows.claims.claim(
                session.id, session.ticket.step, driver="JARVIS", conversation=caller
            )

    def events(self, session: str) -> list[EventRow]:
        """The session's events, oldest first."""
        return list(self._workflows.records.reader.events(EventQuery(session, limit=_MOST_EVENTS)))

    def transitions(self, session: str) -> list[tuple[str, str]]:
        """The real transitions from phase to phase, in order; a todo after a todo is none."""
        passed = [
            e.step.upper() for e in self.events(session) if e.type == "step_started" and e.step
        ]
        came = ["INIT", *passed]
        if self._workflows.records.execution(session).state == "completed":
            came.append("DONE")
        return [(a, b) for a, b in itertools.pairwise(came) if a != b]

    def last_failure(self, session: str) -> dict[str, object]:
        """Return why VERIFY failed last: ``{reason, guards}``, empty if it never did."""
        query = EventQuery(session, type="step_failed", step="verify", limit=1, newest=True)
        rows = self._workflows.records.reader.events(query)
        return rows[0].data if rows else {}

    def last_activity(self, session: str) -> float:
        """The time of the session's last event; 0 if it does not exist."""
        rows = self._workflows.records.reader.events(EventQuery(session, limit=1, newest=True))
        return rows[0].at if rows else 0.0

    def _begun_with(self, session: str) -> list[str]:
        rows = self._workflows.records.reader.events(
            EventQuery(session, type="role_chosen", limit=1)
        )
        return rows[0].data["reasons"] if rows else []

    def _known(self, session: str) -> ExecutionView | None:
        try:
            view = self._workflows.records.execution(session)
        except WorkflowRefused:
            return None
        return view if view.workflow == WORKFLOW else None


def grade(effectiveness: float) -> str:
    """Seed 000's grade of a derived effectiveness."""
    return next((word for floor, word in GRADES if effectiveness >= floor), "REQUIRES_ATTENTION")


def persona(workflows: Workflows, role: str) -> str:
    """The text of a role's persona, or a sentence made of its purpose."""
    return (
        workflows.catalog.personas().get(role)
        or f"You are a {role}: one who {ROLES[role].purpose}."
    )
