"""Evidence that a todo is done, as the host itself sees it, and a check of texts that agents hand in."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sam_tools.iron_manus.phases.folder import HandoffFile
from sam_tools.iron_manus.phases.sessions import ManusSession
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.workflows import EvidenceRow
from sam_tui.core.redaction.forms import FORMS
from sam_tui.core.redaction.shield import Shield
from sam_tui.core.workflow.execution.completion import RecordedCall
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused

FILE, AGENT = "evidence.file", "evidence.agent"
LARGEST = 20_000_000
_SLACK = 2.0
"""Seconds by which a file's time may precede the session's, because file systems round times."""
_SAYS_NOTHING = frozenset({"think", "todo_operations", "memory_operations"})


@dataclass(frozen=True, slots=True)
class EvidenceSummary:
    """The evidence of an open attempt: a line for each call, and whether any succeeded."""

    lines: tuple[str, ...]
    good: bool


class SessionEvidence:
    """Adds evidence that the host can check to an open attempt, and reports it."""

    def __init__(self, workflows: Workflows, files: Files) -> None:
        self._workflows = workflows
        self._files = files

    def add_files(
        self, session: ManusSession, caller: ConversationId, named: Mapping[str, Location]
    ) -> None:
        """Files that were named as evidence. Raises ``WorkflowRefused`` (``evidence_invalid``).

        A file counts when it is there, is not empty, and was changed since the session began.
        """
        for name, where in named.items():
            self._add_file(session, caller, name, where)

    def _add_file(
        self, session: ManusSession, caller: ConversationId, name: str, where: Location
    ) -> None:
        try:
            entry = self._files.stat(where)
            if entry is None or entry.kind != "file":
                raise _invalid(name, "is no file")
            if entry.mtime < session.view.created_at - _SLACK:
                raise _invalid(name, "was not changed since the session began")
            data = self._files.read(where, limit=LARGEST)
        except ToolError as error:
            raise _invalid(name, str(error)) from None
        if not data:
            raise _invalid(name, "is empty")
        digest = hashlib.sha256(data).hexdigest()
        self._add(
            caller, FILE, f"{where.display_path} ({len(data)} bytes, sha256 {digest})", digest
        )

    def add_handoff(self, caller: ConversationId, file: HandoffFile) -> None:
        """A hand-off file that was written just now."""
        subject = f"{file.path} ({file.size} bytes, sha256 {file.sha256})"
        self._add(caller, FILE, subject, file.sha256)

    def add_agent(self, caller: ConversationId, subject: str, *, ok: bool, text: str) -> None:
        """Record how a delegated agent ended."""
        self._workflows.notes.add_evidence([RecordedCall(caller, AGENT, subject, ok, None, text)])

    def of(self, session: ManusSession) -> EvidenceSummary:
        """Return a summary of the evidence for the open attempt of a session."""
        ticket = session.ticket
        rows = self._workflows.records.open_evidence(session.id, ticket.step) if ticket else ()
        telling = [row for row in rows if row.operation.partition(".")[0] not in _SAYS_NOTHING]
        lines = tuple(_line(row) for row in telling[-10:])
        return EvidenceSummary(lines, any(row.ok for row in telling))

    def delegated(self, session: ManusSession) -> EvidenceRow | None:
        """Return how the agent of the open attempt ended; None if it did not."""
        ticket = session.ticket
        rows: Sequence[EvidenceRow] = (
            self._workflows.records.open_evidence(session.id, ticket.step) if ticket else ()
        )
        return next((row for row in reversed(rows) if row.operation == AGENT), None)

    def _add(self, caller: ConversationId, kind: str, subject: str, text: str) -> None:
        self._workflows.notes.add_evidence([RecordedCall(caller, kind, subject, True, None, text)])


def require_evidence(session: ManusSession, seen: EvidenceSummary) -> None:
    """Raise ``WorkflowRefused`` (``evidence_missing``) for a critical todo without any evidence."""
    task = session.ticket.task if session.ticket else None
    if task is None or not task.critical or seen.good:
        return
    raise WorkflowRefused(
        "evidence_missing",
        f"Nothing that sam-tui itself saw bears out that {task.title[:80]!r} is done, and it is critical.",
        hint=(
            "Counted are: calls of this todo that ended well here, the report of its agent, a handoff"
            ' text, and changed files named in payload.evidence: {"files": ["path"]}.'
        ),
        session_id=session.id,
        task=task.id,
        seen=list(seen.lines),
    )


def _invalid(name: str, why: str) -> WorkflowRefused:
    return WorkflowRefused("evidence_invalid", f"{name} {why}.", file=name, reason=why)


def _line(row: EvidenceRow) -> str:
    code = "" if row.exit_code is None else f", exit code {row.exit_code}"
    return f"{row.operation}: {row.subject[:200]} ({'ok' if row.ok else 'failed'}{code})"


_NOTES = (
    ("unfinished", re.compile(r"(?m)^\s*(?:#|//|/\*|--|\*)\s*(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")),
    ("debug output", re.compile(r"(?m)^\s*(?:console\.log\(|debugger;|breakpoint\(\)|pdb\.set_trace\()")),
    ("says that it failed", re.compile(r"(?im)^\s*(?:error|traceback|fatal):")),
)  # fmt: skip
_DOUBTFUL = {"jwt", "url-password", "authorization", "api-key", "webhook-secret"}
_CERTAIN = {"private-key", *(form.name for form in FORMS)} - _DOUBTFUL
_SHORT = 40
"""A report with fewer characters does not count as one."""


@dataclass(frozen=True, slots=True)
class Review:
    """The result of a review; ``blocks`` says why the text must not be kept, or is empty."""

    notes: tuple[str, ...]
    blocks: tuple[str, ...]


def review(text: str) -> Review:
    """Remarks on a text that an agent hands in."""
    notes = [
        f"{what}: line {text.count(chr(10), 0, match.start()) + 1}"
        for what, pattern in _NOTES
        if (match := pattern.search(text))
    ]
    if len(text.strip()) < _SHORT:
        notes.append("very short for a report")
    masked = Shield().mask(text)
    keys = [name for name in masked.names if name in _CERTAIN]
    return Review(tuple(notes), tuple(f"it holds a secret ({name})" for name in keys))
