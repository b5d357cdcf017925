"""What the core asks of the outside. Adapters implement these; tests drive the real ones."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sam_tui.core.accesses import Location
from sam_tui.core.ids import CallId, ConversationId, SessionId
from sam_tui.core.messages import Message
from sam_tui.core.todos import Todo
from sam_tui.core.usage import Usage
from sam_tui.core.verdict import Decision

# ---- the model


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call to a model.

    ``tools_json`` is the canonical JSON text of the OpenAI-style tools array (``[]`` for none): the
    same bytes in every process. ``messages`` only ever grows at its end within a conversation.
    """

    system: str
    tools_json: str
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. ``id`` and ``name`` are empty where they came before."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class OpaqueDelta:
    """Provider data to send back unchanged with the assistant message; later keys win."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What the call used; at most once, near the end."""

    usage: Usage


Delta = TextDelta | ReasoningDelta | CallDelta | OpaqueDelta | UsageDelta


class Model(Protocol):
    """A model behind any wire. Never retries by itself; raises ``errors.ModelError`` only."""

    @property
    def name(self) -> str:
        """What the status bar shows, such as ``openai/gpt-4o``."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The answer as it comes. Ends normally only when the provider said it was complete."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model that could be used now. ``source`` says where it was found, in words for people."""

    label: str
    model: str
    source: str
    api_base: str = ""


class ModelCatalog(Protocol):
    """Which models there are to choose from, and how to open one."""

    async def offers(self) -> Sequence[ModelOffer]:
        """Local servers that answer, models whose key is in the environment, the scripted one."""
        ...

    def open(self, offer: ModelOffer) -> Model:
        """The offered model, ready to stream."""
        ...


# ---- files and search


@dataclass(frozen=True, slots=True)
class FileStat:
    """One directory entry, not followed. ``mtime`` in seconds since the epoch, ``mode`` as st_mode."""

    name: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    mtime: float
    mode: int


class Files(Protocol):
    """The only way to files. Every location was decided before; no link is followed in use.

    All raise ``errors.ToolError`` with a text for the model: not found, is a folder, changed under
    the check, refused by the system.
    """

    def stat(self, where: Location) -> FileStat | None:
        """What is there, or None."""
        ...

    def read(self, where: Location, *, limit: int) -> bytes:
        """At most ``limit`` bytes from the start of a regular file."""
        ...

    def list(self, where: Location) -> Sequence[FileStat]:
        """The entries of a folder, sorted by name."""
        ...

    def write(self, where: Location, data: bytes, *, replace: bool) -> None:
        """Write the whole file atomically; folders above are made; mode bits of a replaced file stay.

        Without ``replace`` an existing file is an error.
        """
        ...

    def rename(self, source: Location, target: Location) -> None:
        """Move a file or folder; an existing target is an error; folders above it are made."""
        ...

    def delete(self, where: Location) -> None:
        """Delete a file (or a link itself), never a folder."""
        ...

    def make_directory(self, where: Location) -> bool:
        """Make a folder and those above it; False when it was there."""
        ...


@dataclass(frozen=True, slots=True)
class GrepHit:
    """One matching line. ``path`` is relative to the searched folder, ``line`` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """What to look for. ``include`` is a glob on paths; empty for all files."""

    where: Location
    pattern: str
    regex: bool
    case_sensitive: bool = False
    include: str = ""
    limit: int = 200


@dataclass(frozen=True, slots=True)
class GrepResult:
    """Hits in path order; ``truncated`` when the limit or the time cut the list."""

    hits: tuple[GrepHit, ...]
    truncated: bool


class Search(Protocol):
    """Looking through a folder, fast, honouring .gitignore."""

    async def files(
        self, where: Location, pattern: str, *, limit: int, offset: int
    ) -> tuple[Sequence[str], int]:
        """Paths below ``where`` matching a glob (``**`` crosses folders), sorted, and how many in all."""
        ...

    async def grep(self, request: GrepRequest) -> GrepResult:
        """Matching lines; an invalid regular expression raises ``errors.ToolError``."""
        ...


# ---- commands and terminals


@dataclass(frozen=True, slots=True)
class Confinement:
    """What the kernel enforces on commands. ``kind`` is ``none`` where it can do nothing."""

    kind: Literal["landlock", "none"]
    detail: str


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A shell command to run to its end. ``timeout`` in seconds; ``writable`` are real folders.

    ``on_output`` hears decoded output as it comes, on the loop's thread.
    """

    command: str
    cwd: str
    confined: bool
    writable: tuple[str, ...]
    timeout: float
    on_output: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. ``output`` holds both streams in the order written.

    ``exit_code`` is None when a signal ended it (then ``signal`` names it). ``dropped`` counts bytes
    cut out of the middle of ``output`` to keep it bounded.
    """

    output: str
    exit_code: int | None
    signal: str
    seconds: float
    timed_out: bool
    dropped: int


class Commands(Protocol):
    """Runs shell commands for the agent. Nothing else in the program starts one for it."""

    @property
    def confinement(self) -> Confinement:
        """What confined commands are held by."""
        ...

    async def run(self, request: CommandRequest) -> CommandResult:
        """Run and wait. Cancelling ends the whole process group before it returns."""
        ...


@dataclass(frozen=True, slots=True)
class CellRun:
    """Neighbouring cells of one style on a screen row. Colours: palette index, (r, g, b), or None."""

    text: str
    foreground: int | tuple[int, int, int] | None = None
    background: int | tuple[int, int, int] | None = None
    attributes: frozenset[str] = frozenset()
    """Of bold, dim, italic, underline, blink, reverse, strike, hidden."""


@dataclass(frozen=True, slots=True)
class KeyPress:
    """One key for a terminal program. ``key`` is the Textual name (``up``, ``ctrl+c``, ``a``)."""

    key: str
    character: str | None


class Screen(Protocol):
    """What a terminal session shows: the emulator's grid, without any UI."""

    @property
    def columns(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def title(self) -> str: ...

    @property
    def cursor(self) -> tuple[int, int] | None:
        """(column, row) from 0, or None while hidden."""
        ...

    def dirty_rows(self) -> Sequence[tuple[int, Sequence[CellRun]]]:
        """The rows that changed since the last call, and their cells; clears the marks."""
        ...

    def all_rows(self) -> Sequence[Sequence[CellRun]]:
        """Every visible row."""
        ...

    def text(self) -> str:
        """The visible rows as plain text."""
        ...

    def scroll(self, lines: int) -> None:
        """Move the view through the scrollback: negative is up, 0 jumps to the bottom."""
        ...

    def encode_key(self, press: KeyPress) -> bytes:
        """The bytes this program expects for a key in its present mode."""
        ...

    def encode_paste(self, text: str) -> bytes:
        """The bytes for pasted text, bracketed where the program asked for that."""
        ...


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A terminal session to open. ``conversation`` is None for the person's own shell."""

    conversation: ConversationId | None
    cwd: str
    columns: int = 100
    rows: int = 30
    confined: bool = False
    writable: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class SessionOutput:
    """Output from an absolute index. ``start`` is later than asked when older output was dropped."""

    text: str
    start: int
    end: int


class TerminalSession(Protocol):
    """One shell on one PTY."""

    @property
    def id(self) -> SessionId: ...
    @property
    def conversation(self) -> ConversationId | None: ...
    @property
    def tty_name(self) -> str: ...
    @property
    def cwd(self) -> str:
        """Where it was started."""
        ...

    @property
    def running(self) -> bool: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def screen(self) -> Screen: ...

    def write(self, data: bytes) -> None:
        """Type into it; the rest of a short write follows when the program reads."""
        ...

    def output(self, start: int) -> SessionOutput:
        """Everything printed since ``start`` (characters since the session began)."""
        ...

    async def quiet(self, *, silence: float, within: float) -> None:
        """Return once nothing was printed for ``silence`` seconds, or after ``within`` seconds."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program its new size."""
        ...

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call ``changed`` after output or the end; returns how to stop."""
        ...


class Terminals(Protocol):
    """All terminal sessions of one runtime."""

    async def open(self, spec: SessionSpec) -> tuple[TerminalSession, bool]:
        """The conversation's session, made if needed: (session, made now).

        A conversation has one; it is restarted when ``spec.cwd`` differs from where it was started,
        and when it ended. A spec without conversation always makes a new one.
        """
        ...

    def find(self, session: SessionId) -> TerminalSession | None:
        """The session of that id, running or ended, until it is closed."""
        ...

    async def close(self, session: SessionId) -> None:
        """End it with its process groups (HUP, TERM, KILL) and forget it."""
        ...

    async def close_all(self) -> None:
        """End all."""
        ...


# ---- storage


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """What a list of conversations shows. Times in seconds since the epoch."""

    id: ConversationId
    workspace: str
    title: str
    created_at: float
    updated_at: float
    messages: int
    usage: Usage


class ConversationStore(Protocol):
    """Conversations on disk. Whatever returned is committed; raises ``errors.StorageError``."""

    def create(self, conversation: ConversationId, workspace: str) -> None: ...
    def find(self, conversation: ConversationId) -> ConversationRecord | None: ...
    def latest(self, workspace: str) -> ConversationRecord | None: ...
    def recent(self, workspace: str | None, limit: int) -> Sequence[ConversationRecord]: ...
    def append(self, conversation: ConversationId, messages: Sequence[Message]) -> None: ...
    def messages(self, conversation: ConversationId) -> list[Message]: ...
    def add_usage(self, conversation: ConversationId, usage: Usage) -> None: ...


class TodoStore(Protocol):
    """The todo list of each conversation."""

    def load(self, conversation: ConversationId) -> tuple[Todo, ...]: ...
    def save(self, conversation: ConversationId, items: Sequence[Todo]) -> None: ...


class ResultStore(Protocol):
    """Large tool results, whole, by call id."""

    def save(self, conversation: ConversationId, call: CallId, text: str) -> None: ...
    def load(self, conversation: ConversationId, call: CallId) -> str | None: ...
    def calls(self, conversation: ConversationId) -> Sequence[CallId]: ...


class DecisionLog(Protocol):
    """Every decision of the guard."""

    def record(self, conversation: ConversationId, call: CallId, decision: Decision) -> None: ...
