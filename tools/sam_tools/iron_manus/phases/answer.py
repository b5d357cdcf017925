"""The answer of JARVIS: the object of seed 001, built only from the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sam_tools.iron_manus.phases.delegation import Delegation
from sam_tools.iron_manus.phases.evidence import EvidenceSummary
from sam_tools.iron_manus.phases.folder import SessionFolders
from sam_tools.iron_manus.phases.prompts import phase_prompt, role_meta_prompt
from sam_tools.iron_manus.phases.roles import ROLES
from sam_tools.iron_manus.phases.sessions import ManusSession, ManusSessions, grade, persona
from sam_tui.core.ports.workflows import TaskRow
from sam_tui.core.workflow.execution.guards import THRESHOLD, verify
from sam_tui.core.workflow.service import Workflows

_SHOWN = 4000
"""The most characters of a text in an answer; the store and the session folder have the whole text."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Additions to the answer of one call: ignored arguments, warnings and failures."""

    ignored: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    delegation: Delegation | None = None
    evidence: EvidenceSummary = field(default=EvidenceSummary((), False))


class TurnAnswers:
    """Builds answers."""

    def __init__(
        self, workflows: Workflows, sessions: ManusSessions, folders: SessionFolders
    ) -> None:
        self._workflows = workflows
        self._sessions = sessions
        self._folders = folders

    def of(self, session: ManusSession, extra: Extra) -> dict[str, object]:
        """``{next_phase, system_prompt, allowed_next_tools, payload, status}``."""
        return {
            "next_phase": session.phase,
            "system_prompt": self._prompt(session, extra),
            "allowed_next_tools": allowed_tools(session),
            "payload": self._payload(session, extra),
            "status": _status(session),
        }

    def _prompt(self, session: ManusSession, extra: Extra) -> str:
        if session.phase == "DONE":
            return (
                f"Session {session.id} is done: “{session.objective}”. Nothing is left to do in it."
            )
        if session.view.question is not None:
            question = session.view.question
            return f"Session {session.id} waits for a person: {question.prompt}. Tell them, and stop here."
        if session.ticket is None:
            state = f"Session {session.id} is {session.view.state}. {session.view.reason}".strip()
            return state if session.view.state != "paused" else f"{state} Resume it to go on."
        methodology = persona(self._workflows, session.role)
        return phase_prompt(session, methodology, self._facts(session, extra))

    def _facts(self, session: ManusSession, extra: Extra) -> Mapping[str, object]:
        """The values that guides may name."""
        task = session.ticket.task if session.ticket else None
        todos = session.todos
        return {
            "role": session.role,
            "role_reasons": "; ".join(session.role_reasons) or "as it was begun",
            "roles": ", ".join(ROLES),
            "objective": session.objective,
            "folder": self._folders.path(session.id),
            "files": "\n".join(f"- {r.handoff} ({r.name})" for r in ROLES.values()),
            "example": role_meta_prompt(ROLES[session.role], "...").text(),
            "index": task.position + 1 if task else 0,
            "total": len(todos),
            "priority": task.payload.get("priority", "medium") if task else "",
            "effectiveness": session.view.effectiveness,
            "grade": grade(session.view.effectiveness),
            "delegation": _delegation_text(extra.delegation),
            "critical": _critical_text(task, extra.evidence),
            "percent": percent(todos),
            "todos": "\n".join(_todo_line(todo) for todo in todos) or "There are none.",
            "threshold": f"{THRESHOLD:g}",
            "rollbacks": session.view.rollbacks_left,
        }

    def _payload(self, session: ManusSession, extra: Extra) -> dict[str, object]:
        task = session.ticket.task if session.ticket else None
        payload: dict[str, object] = {
            "session_id": session.id,
            "current_objective": session.objective,
            "detected_role": session.role,
            "role_reasons": list(session.role_reasons),
            "reasoning_effectiveness": session.view.effectiveness,
            "effectiveness_grade": grade(session.view.effectiveness),
            "phase_transition_count": len(self._sessions.transitions(session.id)),
            "session_workspace": self._folders.path(session.id),
            "rollbacks_left": session.view.rollbacks_left,
            "interpreted_goal": session.output("query").get("interpreted_goal"),
            "enhanced_goal": session.output("enhance").get("enhanced_goal"),
            "knowledge_gathered": _clipped(session.output("knowledge").get("knowledge_gathered")),
            "sources": session.output("knowledge").get("sources"),
        }
        if session.todos:
            payload["current_todos"] = [_todo_object(todo) for todo in session.todos]
            payload["completion_percentage"] = percent(session.todos)
        if task is not None:
            payload["current_task_index"] = task.position
            payload["evidence"] = list(extra.evidence.lines)
        failed = self._sessions.last_failure(session.id)
        if failed and session.phase != "DONE":
            payload["verification_failure_reason"] = failed.get("error")
        if session.view.question is not None:
            question = session.view.question
            payload["question"] = {"prompt": question.prompt, "choices": list(question.choices)}
        if extra.delegation is not None:
            payload["delegation"] = extra.delegation.as_object()
        more = {
            "ignored_fields": extra.ignored, "warnings": extra.warnings, "failures": extra.failures,
        }  # fmt: skip
        payload |= {name: list(value) for name, value in more.items() if value}
        return {name: value for name, value in payload.items() if value is not None}


def allowed_tools(session: ManusSession) -> list[str]:
    """The tools that the gate allows in the session's phase, and JARVIS; none when it is done."""
    if session.ticket is None:
        return [] if session.phase == "DONE" else ["JARVIS"]
    tools = ("*",) if session.ticket.spec.allowed is None else session.ticket.spec.allowed
    return [*dict.fromkeys([*tools, "JARVIS"])]


def percent(todos: Sequence[TaskRow]) -> int:
    """The completed share as verification counts it; an empty list is complete."""
    return verify(todos, claimed=False).percent


def _status(session: ManusSession) -> str:
    if session.phase == "DONE":
        return "DONE"
    return "IN_PROGRESS" if session.view.state in ("idle", "running", "paused") else "ERROR"


def _todo_object(todo: TaskRow) -> dict[str, object]:
    status = {"running": "in_progress"}.get(todo.status, todo.status)
    data: dict[str, object] = {
        "id": todo.id,
        "content": todo.title[:_SHOWN],
        "status": status,
        "priority": todo.payload.get("priority", "medium"),
        "type": todo.payload.get("type", "DirectExecution"),
        "critical": todo.critical,
    }
    if todo.payload.get("role"):
        data["role"] = todo.payload["role"]
    return data


def _todo_line(todo: TaskRow) -> str:
    mark = ", critical" if todo.critical else ""
    return f"- {todo.id}: {' '.join(todo.title.split())[:200]}: {todo.status}{mark}"


def _delegation_text(delegation: Delegation | None) -> str:
    if delegation is None:
        return ""
    match delegation.status:
        case "finished":
            remark = f"A {delegation.role} of its own did this; its report is in {delegation.file}."
            remark += " Check it against the todo before you hand it in."
        case "unavailable":
            remark = (
                f"No agent could be started here ({' '.join(delegation.summary.split())}). Give"
                f" payload.delegation.prompt to one of yours; its report belongs in {delegation.file}."
            )
        case _:
            remark = (
                f"The {delegation.role} of its own did not finish; what it left is in"
                f" {delegation.file}."
            )
    return remark + "\n"


def _critical_text(task: TaskRow | None, seen: EvidenceSummary) -> str:
    if task is None or not task.critical:
        return ""
    have = "There is some already." if seen.good else "There is none yet."
    return f"This todo is critical: its success needs evidence that sam-tui saw itself. {have}\n"


def _clipped(text: object) -> object:
    if not isinstance(text, str) or len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}\n[{len(text) - _SHOWN} characters more: synthesized_knowledge.md]"
