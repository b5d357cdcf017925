"""The contract of a tool: named operations with arguments, accesses and the function that runs."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sam_tui.core.accesses import Access, LocatedAccess, Location, by_parameter
from sam_tui.core.display import Diff, Display
from sam_tui.core.errors import SamError, ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import Image
from sam_tui.core.verdict import Decision

if TYPE_CHECKING:
    from sam_tui.core.authorization.message_calls import MessageCalls
    from sam_tui.core.inquiry import Draft
    from sam_tui.core.messages import ToolCall

    # Nobody needs these before a tool is called.
    from sam_tui.core.ports.processes.sandbox import AskAgain, AskOutside, Network
    from sam_tui.core.ports.processes.terminals import CommandRequest
    from sam_tui.core.redaction.shield import Shield
    from sam_tui.core.tooling.arguments import Arguments
    from sam_tui.core.tooling.questions import HostQuestions

INLINE_LIMIT = 8192
"""The most characters of a result that the model gets at once (seed 004, read_tool_result)."""


class Schedule(StrEnum):
    """The rule by which calls of one message run at the same time."""

    PARALLEL = "parallel"
    """Runs at the same time as all but blocking calls."""
    SERIAL = "serial"
    """As parallel, but not at the same time as another call of the same tool."""
    BLOCKING = "blocking"
    """Runs alone: earlier calls end first, and later ones wait."""


AskRehearsed = Callable[[str, Sequence[Diff]], Awaitable[bool]]
"""Asks whether to make the changes of a rehearsal; gets their number in words, and the changes."""


@dataclass(frozen=True, slots=True)
class Permit:
    """The permission of the guard: the only locations a tool may use, by the parameter that named them."""

    locations: Mapping[str, Location]
    confined: bool = True
    """Whether a command must run inside the kernel sandbox."""
    writable: tuple[str, ...] = ()
    """Real paths of folders that a confined command may write to."""
    granted: tuple[str, ...] = ()
    """Real paths outside that are granted already, for commands that cannot ask while they run."""
    ask_outside: "AskOutside | None" = None
    """Asks about accesses outside by a confined command and the processes it leaves; None refuses them."""
    ask_again: "AskAgain | None" = None
    """Asks, after a run that could not ask, whether to run the command again with more writable paths."""
    network: "Callable[[], Network]" = lambda: "on"
    """Returns the hosts that a confined command reaches; the first call may try the sandbox."""
    host: "HostQuestions | None" = None
    """Asks the person about this call, and about later ones; None for calls that cannot ask."""
    ask_rehearsed: "AskRehearsed | None" = None
    """Set if the command is to be rehearsed: asks whether to make the changes of the rehearsal."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The surroundings of one call. Cancellation is that of the task."""

    conversation: ConversationId
    call: CallId
    workspace: str
    """The real path of the workspace folder."""
    permit: Permit
    emit: Callable[[str], None]
    """Reports progress: text for people."""

    def command(
        self, command: str, cwd: str, *, timeout: float, on_output: Callable[[str], None]
    ) -> "CommandRequest":
        """A shell command as the permit holds it. ``timeout`` in seconds."""
        from sam_tui.core.ports.processes.terminals import CommandRequest

        permit = self.permit
        return CommandRequest(
            command,
            cwd,
            permit.confined,
            permit.writable,
            timeout,
            on_output,
            ask=permit.ask_outside,
            network=permit.network(),
            again=permit.ask_again,
            granted=permit.granted,
        )

    def location(self, parameter: str) -> Location:
        """The location of the path argument ``parameter``. Raises KeyError if no access named it."""
        return self.permit.locations[parameter]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of a call: ``text`` for the model, ``display`` for people, ``data`` for programs."""

    text: str
    ok: bool = True
    display: tuple[Display, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mime_type: str = "text/plain"
    images: tuple[Image, ...] = ()
    """Images that the model gets in addition."""


A = TypeVar("A", bound="Arguments")


def _nothing(_: object) -> Sequence[Access]:
    return ()


@dataclass(frozen=True, slots=True)
class Operation(Generic[A]):
    """One function of a tool.

    ``run`` raises ``errors.ToolError`` for a failure that the model should read. ``summary`` is the
    line on the card, such as ``Reading: a.py``. ``preview`` returns the change for the approval; it may
    read everything that the permit would allow.
    """

    name: str
    about: str
    arguments: type[A]
    run: Callable[[A, ToolContext], Awaitable[ToolResult]]
    summary: Callable[[A], str]
    accesses: Callable[[A], Sequence[Access]] = _nothing
    schedule: Schedule = Schedule.PARALLEL
    inline_limit: int = INLINE_LIMIT
    preview: Callable[[A, Mapping[str, Location]], Sequence[Diff]] | None = None
    draft: "Callable[[A, Mapping[str, Location]], Draft | None] | None" = None
    """The content that a call would write, if the person can change it before they allow the call."""
    amend: "Callable[[A, str], tuple[Operation[Any], Arguments]] | None" = None
    """The operation and its arguments that write a changed text in place of the draft."""
    rehearsable: Callable[[A], bool] | None = None
    """Whether a call can first run on a copy of the workspace."""
    lasting: bool = False
    """Whether it opens a terminal session, which outlives the call."""
    sends: bool = False
    """Whether its arguments may be sent to a host, although its tool is ``local``."""
    anywhere: bool = False
    """Whether a call without accesses has the same result in another program, because it only computes."""
    example: Mapping[str, object] | None = None
    """The arguments of a correct call, if the required ones alone are not enough."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as registered. A consolidated one chooses by its ``operation`` argument (seed 004)."""

    name: str
    description: str
    operations: tuple[Operation[Any], ...]
    consolidated: bool = True
    local: bool = False
    """Whether arguments remain on this machine and out of every model's context: only then placeholders of
    secrets are replaced by the secrets."""
    listed: bool = True
    """Whether the model's list of tools has it; otherwise it is called by name, as by steps of plans."""


def single(operation: Operation[Any], about: str, *, listed: bool = True) -> Tool:
    """A tool of one operation, which has its name."""
    return Tool(operation.name, about, (operation,), consolidated=False, listed=listed)


def operation_key(tool: Tool, operation: Operation[Any]) -> str:
    """The name grants, decisions and events use: ``tool.operation``, or ``tool`` for a single one."""
    return f"{tool.name}.{operation.name}" if tool.consolidated else tool.name


Gate = Callable[[str], str]
"""Whether an operation can be called now: empty if so, else why not and which ones can."""
CONTENT_CHANGED = "You changed the content"
"""The beginning of a question about a call whose content the person changed."""
_LONGEST = 8_000
"""The most characters of a difference that the model gets."""


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A parsed call. A call with a ``fault`` is not run, but gets a result all the same.

    ``gate`` takes the place of that of the conversation it runs in.
    """

    call: "ToolCall"
    key: str
    schedule: Schedule
    summary: str
    operation: Operation[Any] | None = None
    arguments: "Arguments | None" = None
    fault: SamError | None = None
    gate: Gate | None = None
    named: bool = True
    """Whether ``key`` is an operation that exists."""
    ignored: tuple[str, ...] = ()
    """Arguments that the operation does not have, in words."""
    proposed: str | None = None
    """The content that the model proposed; None if the person did not change it."""
    message: "MessageCalls[Any] | None" = None
    """The calls of the same assistant message."""


def unread(call: "ToolCall") -> CallPlan:
    """The plan of a call that was not parsed and will not run."""
    return CallPlan(call, call.name, Schedule.PARALLEL, call.name, named=False)


def rehearsable(plan: CallPlan) -> bool:
    """Whether it can be tried on a copy of the workspace first."""
    can = plan.operation.rehearsable if plan.operation is not None else None
    return can is not None and can(plan.arguments)


def draft_of(plan: CallPlan, accesses: tuple[LocatedAccess, ...]) -> "Draft | None":
    """The content that the call would write, if the person can change it; else None."""
    operation = plan.operation
    if operation is None or operation.draft is None:
        return None
    return operation.draft(plan.arguments, by_parameter(accesses))


def preview_of(plan: CallPlan, accesses: tuple[LocatedAccess, ...]) -> Sequence[Diff]:
    """Return the changes that the call would make, as far as they are known before."""
    if plan.operation is None or plan.operation.preview is None:
        return ()
    return plan.operation.preview(plan.arguments, by_parameter(accesses))


def amended_plan(
    plan: CallPlan, accesses: tuple[LocatedAccess, ...], text: str, shield: "Shield"
) -> CallPlan:
    """The plan that writes the text as the person changed it, in place of the proposed text."""
    draft, operation = draft_of(plan, accesses), plan.operation
    if draft is None or operation is None or operation.amend is None:
        raise ToolError(f"The content of {plan.key} can no longer be changed.")
    text = shield.unmask_data({"text": text})["text"]
    amended, arguments = operation.amend(plan.arguments, text)
    return replace(
        plan,
        key=f"{plan.key.partition('.')[0]}.{amended.name}",
        summary=shield.redact(amended.summary(arguments)),
        operation=amended,
        arguments=arguments,
        proposed=draft.text if plan.proposed is None else plan.proposed,
    )


def with_change(decision: Decision, plan: CallPlan, shield: "Shield") -> Decision:
    """The decision of a person who changed a proposal, with the difference as its comment."""
    if plan.proposed is None:
        return decision
    import difflib  # few drafts are changed by a person

    written: str = getattr(plan.arguments, "content", "")
    lines = difflib.unified_diff(
        plan.proposed.splitlines(), written.splitlines(), "proposed", "written", lineterm="", n=1
    )
    difference = shield.redact("\n".join(lines))
    if len(difference) > _LONGEST:
        difference = f"{difference[:_LONGEST]}\n[… read the file for the rest …]"
    words = f"I changed what you proposed before it was written. The difference:\n{difference}"
    return replace(decision, comment="\n".join(filter(None, (decision.comment, words))))
