"""Commands and terminals: the only ways to a process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sam_tui.core.ids import ConversationId, SessionId


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
