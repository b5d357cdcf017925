"""A question to the person, and its answers, as data."""

from dataclasses import dataclass
from typing import Literal

from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId, InquiryId

ApprovalChoice = Literal["once", "timed", "deny"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What the host asks about a blocked call; the model words none of it.

    ``targets`` are the resolved paths, commands or keys in question; ``why`` says which rule asks;
    ``preview`` shows the change. ``timed_scope`` is what "5 minutes" would cover, in words; empty
    when only "once" is offered. ``asker`` names the subagent that asks, or is empty.
    """

    operation: str
    summary: str
    targets: tuple[str, ...]
    why: str
    cwd: str
    preview: tuple[Diff, ...] = ()
    timed_scope: str = ""
    seconds: float = 300.0
    asker: str = ""
    kind: Literal["approval"] = "approval"


@dataclass(frozen=True, slots=True)
class Question:
    """What the agent asks by ``user_collaboration``. An answer to it never grants anything."""

    prompt: str
    context: str = ""
    kind: Literal["question"] = "question"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question that waits for exactly one answer."""

    id: InquiryId
    conversation: ConversationId
    call: CallId
    asked_at: float
    request: ApprovalRequest | Question


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer to an ``ApprovalRequest``; ``comment`` reaches the model when denied."""

    choice: ApprovalChoice
    comment: str = ""
    kind: Literal["approval"] = "approval"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a ``Question``."""

    text: str
    kind: Literal["reply"] = "reply"


Answer = Approval | Reply
