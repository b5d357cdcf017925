"""Hooks: programs of the person's, or of a trusted folder's, that run at events and may object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from sam_tui.core.accesses import LocatedAccess
from sam_tui.core.ports.processes.sandbox import AskOutside, Network

HookEvent = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Notification",
    "PreCompact",
    "Stop",
    "SubagentStop",
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
HookSource = Literal["user", "project", "bundle"]
HookWord = Literal["", "allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Hook:
    """One command that runs at an event. ``timeout`` in seconds; ``place`` is where it is written.

    ``matcher`` says of which operations or beginnings; empty for all. ``bundle`` is the folder of the
    bundle that it belongs to. ``claude``: it reads calls by Claude Code's names.
    """

    event: HookEvent
    source: HookSource
    command: str
    timeout: float
    place: str
    matcher: str = ""
    bundle: str = ""
    claude: bool = False


@dataclass(frozen=True, slots=True)
class Occasion:
    """The event for hooks. ``subject`` is what matchers match: an operation, or how a session began.

    ``fields`` are JSON values, by the names of the convention; ``accesses`` are those of a call.
    """

    event: HookEvent
    session: str
    fields: Mapping[str, object]
    subject: str = ""
    accesses: tuple[LocatedAccess, ...] = ()


@dataclass(frozen=True, slots=True)
class HookConfinement:
    """The confinement of a hook's command: real folders that it may write to, and whom to ask for more."""

    writable: tuple[str, ...]
    network: Network
    ask: AskOutside | None


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The raw answer of one hook. ``halt`` ends the turn, and is the reason.

    ``reason`` belongs to ``word``; ``context`` is for the model; ``warning`` is what went wrong with
    the hook itself, for the person: then it said nothing.
    """

    hook: Hook
    word: HookWord = ""
    reason: str = ""
    context: str = ""
    halt: str = ""
    warning: str = ""
    message: str = ""
    """A message of the hook for the person."""
    seconds: float = 0.0
    updated: Mapping[str, object] | None = None
    """The input that the hook gives the call in place of its whole input; None to leave it."""


@dataclass(frozen=True, slots=True)
class HookListing:
    """The configured hooks. ``left_out`` names files that are not used, with reasons."""

    hooks: tuple[Hook, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


class Hooks(Protocol):
    """The configured hooks, and the way to run one."""

    @property
    def confined(self) -> bool:
        """Whether the kernel confines the programs that hooks run."""
        ...

    def awaiting(self, event: HookEvent, subject: str = "") -> Sequence[Hook]:
        """The hooks that run at this event, the person's own first. Reads changed files; never raises."""
        ...

    def problems(self) -> Sequence[str]:
        """Return the faults of the files that are new since the last call, in sentences."""
        ...

    def listing(self) -> HookListing:
        """All configured hooks, also those that do not run. Raises ``ConfigurationError``."""
        ...

    async def run(self, hook: Hook, occasion: Occasion, confinement: HookConfinement) -> HookAnswer:
        """Run one hook and read its answer. Raises only ``CancelledError``, once its processes have
        ended."""
        ...
