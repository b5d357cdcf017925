"""All events: plain frozen data, named in the past tense, serialisable."""

from dataclasses import dataclass
from typing import Literal

from sam_tui.core.display import Display
from sam_tui.core.ids import CallId, ConversationId, InquiryId, SessionId
from sam_tui.core.inquiry import Inquiry
from sam_tui.core.messages import AssistantMessage, Image
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import SentPrefix, Usage
from sam_tui.core.verdict import Decision

StopReason = Literal["finished", "cancelled", "limit", "failed"]
AnswerEnd = Literal["complete", "continued", "length", "empty"]
"""How an answer ended: ``continued`` after the model was asked once to go on; ``length`` or ``empty`` if
it also ended too early the second time."""
ClosedAs = Literal["answered", "withdrawn", "expired", "unattended"]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The person's message arrived and the agent began to work on it."""

    conversation: ConversationId
    text: str
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class Steered:
    """A message of the person joined the running turn, behind the results of a step's calls."""

    conversation: ConversationId
    text: str
    kind: Literal["steered"] = "steered"


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A model request left: ``step`` counts from 1 within the turn."""

    conversation: ConversationId
    step: int
    kind: Literal["request_sent"] = "request_sent"


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of the answer; empty for a piece of a call, which is shown once it is whole."""

    conversation: ConversationId
    text: str
    kind: Literal["text_streamed"] = "text_streamed"


@dataclass(frozen=True, slots=True)
class ReasoningStreamed:
    """A piece of the model's reasoning."""

    conversation: ConversationId
    text: str
    kind: Literal["reasoning_streamed"] = "reasoning_streamed"


@dataclass(frozen=True, slots=True)
class Answered:
    """One model call ended; ``message`` is whole and stored. ``usage`` is of this call alone.

    ``prefix`` says how much of its request the one before it had; None where nothing is recorded.
    """

    conversation: ConversationId
    message: AssistantMessage
    usage: Usage
    prefix: SentPrefix | None = None
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True)
class ModelRetried:
    """A model call failed and is tried again after ``delay`` seconds.

    What streamed since the last ``RequestSent`` is void: the step begins anew.
    """

    conversation: ConversationId
    attempt: int
    retries: int
    delay: float
    reason: str
    status: int | None
    kind: Literal["model_retried"] = "model_retried"


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call was allowed and runs. ``summary`` is one line for people, such as ``Reading: a.py``."""

    conversation: ConversationId
    call: CallId
    operation: str
    summary: str
    arguments: str
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A running call said something: new output, or a line about how far it is."""

    conversation: ConversationId
    call: CallId
    text: str
    kind: Literal["tool_progressed"] = "tool_progressed"


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its one result. Published for refused, unknown and malformed calls too.

    ``text`` is for the model (possibly a preview); ``display`` is for people. ``seconds`` excludes the
    time a person took to allow it. ``resolved`` says whether ``operation`` exists: else it is the
    model's own text.
    """

    conversation: ConversationId
    call: CallId
    operation: str
    summary: str
    ok: bool
    text: str
    display: tuple[Display, ...]
    seconds: float
    resolved: bool = True
    kind: Literal["tool_finished"] = "tool_finished"


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """The guard decided on a call."""

    conversation: ConversationId
    call: CallId
    decision: Decision
    kind: Literal["decision_made"] = "decision_made"


@dataclass(frozen=True, slots=True)
class InquiryOpened:
    """A question waits for its answer."""

    inquiry: Inquiry
    kind: Literal["inquiry_opened"] = "inquiry_opened"


@dataclass(frozen=True, slots=True)
class InquiryClosed:
    """A question no longer waits: front ends that show it remove it."""

    conversation: ConversationId
    inquiry: InquiryId
    outcome: ClosedAs
    kind: Literal["inquiry_closed"] = "inquiry_closed"


@dataclass(frozen=True, slots=True)
class TodosChanged:
    """The todo list, as stored."""

    conversation: ConversationId
    items: tuple[Todo, ...]
    kind: Literal["todos_changed"] = "todos_changed"


@dataclass(frozen=True, slots=True)
class Reminded:
    """A reminder was put in front of the model, with ``images``. ``digest`` is of its text."""

    conversation: ConversationId
    name: str
    text: str
    digest: str
    kind: Literal["reminded"] = "reminded"
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryShortened:
    """Old messages left the model's context and went to the archive. Sizes in estimated tokens."""

    conversation: ConversationId
    before: int
    after: int
    dropped: int
    kind: Literal["history_shortened"] = "history_shortened"


@dataclass(frozen=True, slots=True)
class TerminalOpened:
    """An agent's terminal session exists; its screen is had from the Terminals port."""

    conversation: ConversationId
    session: SessionId
    kind: Literal["terminal_opened"] = "terminal_opened"


@dataclass(frozen=True, slots=True)
class TerminalPassed:
    """Somebody else types into an agent's terminal session now; ``reason`` is why the agent asks."""

    conversation: ConversationId
    session: SessionId
    holder: Literal["agent", "person", "watch"]
    reason: str = ""
    kind: Literal["terminal_passed"] = "terminal_passed"


@dataclass(frozen=True, slots=True)
class TerminalClosed:
    """An agent's terminal session ended."""

    conversation: ConversationId
    session: SessionId
    exit_code: int | None
    kind: Literal["terminal_closed"] = "terminal_closed"


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """A call of ``conversation`` began ``child``, a separate conversation, for ``task``."""

    conversation: ConversationId
    call: CallId
    child: ConversationId
    task: str
    kind: Literal["subagent_started"] = "subagent_started"


@dataclass(frozen=True, slots=True)
class WorkflowMoved:
    """An execution changed, and the change is committed: ``change`` is the type of its event.

    Without an execution findings changed: ``change`` is their scope, and ``step`` the project.

    ``conversation`` is the one that drives it, or empty; ``seq`` the number of the event.
    """

    conversation: ConversationId
    execution: str
    change: str
    step: str
    seq: int
    kind: Literal["workflow_moved"] = "workflow_moved"


@dataclass(frozen=True, slots=True)
class HookStarted:
    """A hook runs at ``event``, a name of the convention; ``run`` is its id."""

    conversation: ConversationId
    call: CallId
    run: str
    event: str
    command: str
    kind: Literal["hook_started"] = "hook_started"


@dataclass(frozen=True, slots=True)
class HookFinished:
    """A hook ended. ``outcome`` is its answer; for ``failed``, ``reason`` says why it has none."""

    conversation: ConversationId
    call: CallId
    run: str
    event: str
    command: str
    outcome: Literal["agreed", "allow", "ask", "deny", "failed"]
    reason: str
    seconds: float
    kind: Literal["hook_finished"] = "hook_finished"


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something the person should know that is not part of the conversation."""

    conversation: ConversationId | None
    level: Literal["info", "warning", "error"]
    text: str
    kind: Literal["noticed"] = "noticed"


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over. ``usage`` is of the whole turn, ``steps`` its model calls.

    ``error`` explains ``limit`` and ``failed``; ``limit`` names which one (``turns``, ``tokens``,
    ``cost``, ``output``); ``exit_code`` is what headless ends with. ``ending`` is how the last answer
    ended, None where there is none.
    """

    conversation: ConversationId
    reason: StopReason
    answer: str
    usage: Usage
    steps: int
    error: str = ""
    error_title: str = ""
    exit_code: int = 0
    limit: str = ""
    ending: AnswerEnd | None = None
    kind: Literal["turn_finished"] = "turn_finished"


Event = (
    TurnStarted
    | Steered
    | RequestSent
    | TextStreamed
    | ReasoningStreamed
    | Answered
    | ModelRetried
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | DecisionMade
    | InquiryOpened
    | InquiryClosed
    | TodosChanged
    | Reminded
    | HistoryShortened
    | TerminalOpened
    | TerminalPassed
    | TerminalClosed
    | SubagentStarted
    | WorkflowMoved
    | HookStarted
    | HookFinished
    | Noticed
    | TurnFinished
)


def conversation_of(event: Event) -> ConversationId | None:
    """The conversation that an event belongs to, or None."""
    if isinstance(event, InquiryOpened):
        return event.inquiry.conversation
    return event.conversation
