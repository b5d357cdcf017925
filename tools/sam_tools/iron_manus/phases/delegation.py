"""Carries out meta-prompts: a subagent works on one todo, behind the gate of its phase."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sam_tools.iron_manus.phases.evidence import SessionEvidence, review
from sam_tools.iron_manus.phases.folder import SessionFolders
from sam_tools.iron_manus.phases.meta_prompt import MetaPrompt, read_meta_prompt
from sam_tools.iron_manus.phases.prompts import errand_prompt
from sam_tools.iron_manus.phases.roles import ROLES
from sam_tools.iron_manus.phases.sessions import ManusSession, persona
from sam_tui.core.agent.subagents import Report, Sender, SubagentAssignment, Subagents
from sam_tui.core.errors import SamError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.workflows import TaskRow
from sam_tui.core.tooling.executor import Gate
from sam_tui.core.workflow.service import Workflows

STEPS = 25
"""The limit of model calls for one delegated todo."""
_FORBIDDEN = ("workflow", "JARVIS", "IronManusStateGraph")


@dataclass(frozen=True, slots=True)
class DelegationContext:
    """The parts of the runtime that delegation needs.

    ``gate`` makes the gate of a conversation that works on one execution's step, and records its calls;
    ``flush`` stores the recorded calls; ``model`` is opened if no model runs.
    """

    subagents: Subagents
    gate: Callable[[ConversationId, tuple[str, str]], Gate]
    flush: Callable[[], None]
    model: str = ""


@dataclass(frozen=True, slots=True)
class Delegation:
    """The result of a delegated todo. ``status``: finished, failed or unavailable."""

    role: str
    status: str
    file: str
    summary: str = ""
    conversation: str = ""
    notes: tuple[str, ...] = field(default=())
    prompt: str = ""
    """The prompt for an agent of the client; empty if a subagent did the work."""

    def as_object(self) -> dict[str, object]:
        """For the answer: empty fields are left out."""
        data: dict[str, object] = {"role": self.role, "status": self.status, "file": self.file}
        more = {
            "summary": self.summary,
            "conversation": self.conversation,
            "notes": list(self.notes),
            "prompt": self.prompt,
        }
        return data | {name: value for name, value in more.items() if value}


class Delegates:
    """Spawns the agents of delegated todos."""

    def __init__(
        self,
        workflows: Workflows,
        folders: SessionFolders,
        evidence: SessionEvidence,
        context: DelegationContext,
    ) -> None:
        self._workflows = workflows
        self._folders = folders
        self._evidence = evidence
        self._context = context

    def due(self, session: ManusSession) -> MetaPrompt | None:
        """The meta-prompt of the open todo, unless its agent has ended already."""
        if session.phase != "EXECUTE" or session.ticket is None or session.ticket.task is None:
            return None
        text = session.ticket.task.payload.get("meta_prompt")
        if not isinstance(text, str) or self._evidence.delegated(session) is not None:
            return None
        return read_meta_prompt(text)

    def earlier(self, session: ManusSession) -> Delegation | None:
        """Return how the agent of the open todo ended in an earlier call; None if there was none."""
        row = self._evidence.delegated(session)
        task = session.ticket.task if session.ticket else None
        if row is None or task is None:
            return None
        role = str(task.payload.get("role"))
        path = self._folders.path(session.id, handoff_name(role, task))
        return Delegation(role, "finished" if row.ok else "failed", path)

    async def run(
        self,
        session: ManusSession,
        meta: MetaPrompt,
        sender: Sender,
    ) -> Delegation:
        """Carry out a todo's meta-prompt to its hand-off file.

        The agent works under the gate of EXECUTE and cannot advance the session. Its report is the
        hand-off, unless it wrote that file itself.
        """
        ticket, caller = session.ticket, sender.conversation
        assert ticket is not None and ticket.task is not None
        name = handoff_name(meta.role, ticket.task)
        path = self._folders.path(session.id, name)
        before = self._folders.read(session.id, name)
        files = [self._folders.path(session.id, n) for n in self._folders.listed(session.id)]
        prompt = errand_prompt(meta, session, persona(self._workflows, meta.role), path, files)

        def prepare(child: ConversationId) -> Gate:
            self._workflows.claims.claim(
                session.id, ticket.step, driver=meta.role, conversation=child
            )
            return _without_verbs(self._context.gate(child, (session.id, ticket.step)))

        assignment = SubagentAssignment(
            prompt,
            max_steps=STEPS,
            terminal=True,
            fallback=self._context.model,
            prepare=prepare,
        )
        try:
            report = await self._context.subagents.run(sender, assignment)
        except SamError as error:
            return Delegation(meta.role, "unavailable", path, error.explain(), prompt=prompt)
        finally:
            self._context.flush()
            self._workflows.claims.claim(
                session.id, ticket.step, driver="JARVIS", conversation=caller
            )
        return self._ended(session, meta, caller, (name, before), report)

    def _ended(
        self,
        session: ManusSession,
        meta: MetaPrompt,
        caller: ConversationId,
        file: tuple[str, str | None],
        report: Report,
    ) -> Delegation:
        """Store the agent's results: a file, an artifact, evidence."""
        name, before = file
        written = self._folders.read(session.id, name)
        text = written if written and written != before else report.answer.strip()
        looked = review(text)
        done = report.reason == "finished" and bool(text) and not looked.blocks
        path = self._folders.path(session.id, name)
        if text and not looked.blocks:
            self._folders.write(session.id, name, text)
            self._workflows.notes.add_artifact(session.id, "execute", name, text)
        subject = f"{meta.role}: {report.reason} after {report.steps} model calls, {path}"
        self._evidence.add_agent(caller, subject, ok=done, text=text)
        return Delegation(
            meta.role,
            "finished" if done else "failed",
            path,
            (report.answer.strip() or report.error)[:2000],
            report.conversation,
            (*looked.blocks, *looked.notes),
        )


def handoff_name(role: str, task: TaskRow | None = None) -> str:
    """Return the role's file of the session folder; a todo of EXECUTE has one of its own."""
    if task is None:
        return ROLES[role].handoff
    return f"agent_{role}_output_{task.position + 1}.md"


def _without_verbs(gate: Gate) -> Gate:
    """The gate without the tools that move the session, for the agent of one todo."""

    def decide(key: str) -> str:
        if key.partition(".")[0] in _FORBIDDEN:
            return f"{key} is for who drives the session. Answer with your report instead."
        return gate(key)

    return decide
