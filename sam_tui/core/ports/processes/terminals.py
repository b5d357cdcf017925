"""Commands and terminals: the only ways to a process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.ports.processes.sandbox import (
    AskAgain,
    AskOutside,
    Network,
    OutsideAccess,
    RunningProcess,
)
from sam_tui.core.ports.processes.sandbox import Confinement as Confinement
from sam_tui.core.ports.processes.screens import Screen as Screen


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A shell command to run to its end. ``timeout`` in seconds; ``writable`` are real folders.

    ``on_output`` hears decoded output as it comes, ``on_start`` once the process id of the shell,
    both on the loop's thread.
    """

    command: str
    cwd: str
    confined: bool
    writable: tuple[str, ...]
    timeout: float
    on_output: Callable[[str], None]
    on_start: Callable[[int], None] | None = None
    ask: AskOutside | None = None
    """Asked about accesses outside while a confined command runs; with None they are refused."""
    network: Network = "on"
    again: AskAgain | None = None
    """Asked after a run with refused accesses during which nothing could be asked."""
    granted: tuple[str, ...] = ()
    """Further real paths outside that it may write to, if nothing can be asked while it runs."""
    unhurried: Callable[[], bool] | None = None
    """Called when the time is up; if it returns True, ``timeout`` no longer applies."""
    stdin: bytes = b""
    """Standard input; the command need not read it."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of its environment in addition to the usual ones."""
    apart: bool = False
    """Whether standard error is returned separately from the output."""
    readable: tuple[str, ...] = ()
    """Real paths outside that it may read without a question."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command. ``output`` holds both streams in the order written, unless ``errors``
    holds standard error, as was asked for.

    ``exit_code`` is None when a signal ended it (then ``signal`` names it). ``dropped`` counts bytes
    cut out of the middle of ``output`` to keep it bounded. ``refused`` are the refused outside accesses
    of a confined command, each once.
    """

    output: str
    exit_code: int | None
    signal: str
    seconds: float
    timed_out: bool
    dropped: int
    refused: tuple[OutsideAccess, ...] = ()
    runs: int = 1
    """How often it ran: more than once if the person let it write to more paths."""
    errors: str = ""
    withheld: tuple[str, ...] = ()
    """Variables that were withheld as secrets and that the failed command may have needed."""
    left: "LeftRunning | None" = None
    """The processes that the command left running; None if there are none."""
    left_id: str = ""
    """The id with which their output is read and they are ended; empty if they are not stored."""
    exceeded: tuple[str, ...] = ()
    """The limits that it exceeded and was ended for, by their names in the policy file."""
    abandoned: bool = False
    """Whether it was ended because its sandbox's supervisor ended."""


class LeftRunning(Protocol):
    """Processes that an ended command has left running. They end with the program at the latest."""

    def processes(self) -> Sequence[RunningProcess]:
        """The processes that are still running."""
        ...

    async def end(self) -> None:
        """Ask the processes to end, and kill those that do not."""
        ...


class Commands(Protocol):
    """Runs shell commands for the agent. Nothing else in the program starts one for it."""

    @property
    def confinement(self) -> Confinement:
        """The confinement of commands. The first look runs one to find out."""
        ...

    @property
    def expected(self) -> Confinement:
        """The same as far as is known; nothing is run to find out."""
        ...

    def warm(self) -> None:
        """Prepare what the first command would have to wait for; never raises."""
        ...

    @property
    def limits(self) -> Mapping[str, str]:
        """The limits of a command, in words, by the name of each limit."""
        ...

    async def run(self, request: CommandRequest) -> CommandResult:
        """Run and wait. Cancelling ends the whole process group before it returns."""
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
    ask: AskOutside | None = None
    """Asked about accesses outside while the session lives; with None they are refused."""
    network: Network = "on"


@dataclass(frozen=True, slots=True)
class SessionOutput:
    """Output from an absolute index. ``start`` is later than asked when older output was dropped."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One command that a session's shell ran, as the shell reported it.

    ``start`` and ``end`` are the session's output indexes around its output. ``end``, ``exit_code`` and
    ``seconds`` are None while it runs; ``cwd`` is the folder in which it was started.
    """

    command: str
    cwd: str
    start: int
    end: int | None = None
    exit_code: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TerminalState:
    """The activity of a session now.

    ``finished``: no command runs, or the shell ended. ``waiting``: a program waits for keys. ``quiet``:
    a command runs and printed nothing for a while. ``seconds`` is the time since the last output;
    ``secret`` is true while input is hidden, as at a password prompt.
    """

    name: Literal["running", "quiet", "waiting", "finished"]
    seconds: float
    secret: bool = False


Holder = Literal["agent", "person", "watch"]
"""Who may type in a session; ``watch``: nobody."""


@dataclass(frozen=True, slots=True)
class Handover:
    """A finished period in which the person held an agent's session.

    ``number`` counts them. ``changed`` are the lines of the screen that are new since then, without the
    person's input.
    """

    number: int
    reason: str
    changed: str


@dataclass(frozen=True, slots=True)
class AgentScreen:
    """The agent's view of a session's screen, with wrapped lines in one piece.

    ``alternate`` is true for a full-screen program; the cursor is (column, row) from 0, None while hidden.
    """

    title: str
    columns: int
    rows: int
    cursor: tuple[int, int] | None
    alternate: bool
    text: str


class TerminalActivity(Protocol):
    """The activity of a session, and ways to wait for it."""

    @property
    def program(self) -> str:
        """The name of the program that has the terminal; "" where that is not known."""
        ...

    @property
    def state(self) -> TerminalState:
        """Return the present activity. Reads the session's processes: not for every frame."""
        ...

    async def settled(self, *, within: float) -> TerminalState:
        """The state once a command finished, a program waits for keys, it ended, or time is up."""
        ...

    async def quiet(self, *, silence: float, within: float) -> None:
        """Return once nothing was printed for ``silence`` seconds, or after ``within`` seconds."""
        ...

    async def end_command(self, signalled: Callable[[str], None] | None = None) -> TerminalState:
        """End what runs in the foreground (INT, TERM, KILL), not the shell. Returns the state then.

        ``signalled`` hears each signal by its name, once a job got it.
        """
        ...


class TurnTaking(Protocol):
    """The right to type into a session, and the part of the person's input that the agent may see."""

    @property
    def holder(self) -> Holder:
        """The party that may type: the agent in its own session, unless it was handed over."""
        ...

    @property
    def reason(self) -> str:
        """The agent's reason for handing over, while the person has the session."""
        ...

    @property
    def handover(self) -> Handover | None:
        """The latest hand-over that has ended, or None."""
        ...

    @property
    def agent_screen(self) -> AgentScreen:
        """Return the agent's view of the screen; of the time the person held it, only prompts and the
        output of commands during which nothing was typed."""
        ...

    def pass_to(self, holder: Holder, reason: str = "") -> None:
        """Change who types into it; the agent and watchers learn of it. The person's stays theirs."""
        ...

    async def tidied(self) -> None:
        """Wait until the line has no unfinished input of the person; ``ToolError`` if it still has."""
        ...

    def redacted(self, text: str) -> str:
        """Return the text without the person's input while they held the session."""
        ...


class TerminalSession(Protocol):
    """A shell on a PTY.

    While the person holds an agent's session, input and output are on its screen only: not in its
    output, its commands or a recording.
    """

    @property
    def id(self) -> SessionId: ...
    @property
    def conversation(self) -> ConversationId | None: ...
    @property
    def tty_name(self) -> str: ...

    @property
    def confined(self) -> bool:
        """Whether it runs in the sandbox."""
        ...

    @property
    def cwd(self) -> str:
        """The working directory in which the session started."""
        ...

    @property
    def directory(self) -> str:
        """The shell's working directory, if known; else the one at its start."""
        ...

    @property
    def running(self) -> bool: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def screen(self) -> Screen: ...
    @property
    def activity(self) -> TerminalActivity: ...
    @property
    def turns(self) -> TurnTaking: ...
    @property
    def commands(self) -> Sequence[CommandRecord]:
        """The newest commands of the shell, oldest first; the last may still run. Empty without marks."""
        ...

    @property
    def end(self) -> int:
        """The index behind everything printed so far."""
        ...

    selection: str
    """The text that the person has selected in the workbench; the front end sets it."""

    def write(self, data: bytes) -> None:
        """The agent types; the rest of a short write follows when the program reads.

        Raises ``ToolError`` while it is not the agent's turn, in a session of the agent.
        """
        ...

    def type(self, data: bytes) -> None:
        """The person types. In a session of the agent they hold it from then on.

        Raises ``ToolError`` where it is watched only.
        """
        ...

    def report(self, data: bytes) -> None:
        """Report mouse or focus to the program while the person holds it."""
        ...

    def output(self, start: int, end: int | None = None) -> SessionOutput:
        """Return the output from ``start`` up to ``end`` (characters since the session began)."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Tell the program its new size."""
        ...

    def record(self, path: str, *, typed: bool = False) -> Callable[[], None]:
        """Record from now on to a new asciicast v2 file; returns how to stop.

        Input is recorded only if ``typed``, and never while the terminal hides it.
        """
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

    async def resume(self, conversation: ConversationId) -> TerminalSession | None:
        """The session that a conversation had in an earlier run of the program, if it still lives."""
        ...

    def find(self, session: SessionId) -> TerminalSession | None:
        """The session of that id, running or ended, until it is closed."""
        ...

    def of(self, conversation: ConversationId | None) -> Sequence[TerminalSession]:
        """The sessions of a conversation (at most one), or the person's own (None)."""
        ...

    def missed(self, session: TerminalSession, record: CommandRecord) -> tuple[str, ...]:
        """Withheld variables that a failed command of the agent wanted; the person sees each once."""
        ...

    async def close(self, session: SessionId) -> None:
        """End a session with its process groups (HUP, TERM, KILL) and forget it."""
        ...

    async def close_all(self) -> None:
        """End every session that does not outlive the program."""
        ...
