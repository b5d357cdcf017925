"""Tasks: named commands of a workspace, and their runs in the background."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.sandbox import AskAgain, AskOutside, Network
from sam_tui.core.ports.processes.terminals import CommandResult, SessionOutput


@dataclass(frozen=True, slots=True)
class TaskStart:
    """A task to start. ``timeout`` in seconds, None for a task that runs until it ends or is ended.

    ``writable`` are real folders; ``matchers`` name how problems are read from its output. ``ask``,
    ``again``, ``network`` and ``granted`` are those of ``CommandRequest``.
    """

    conversation: ConversationId
    label: str
    command: str
    cwd: str
    confined: bool
    writable: tuple[str, ...]
    timeout: float | None
    matchers: tuple[str, ...] = ()
    ask: AskOutside | None = None
    again: AskAgain | None = None
    network: Network = "on"
    granted: tuple[str, ...] = ()


class TaskRun(Protocol):
    """One run of a task."""

    @property
    def id(self) -> str: ...
    @property
    def start(self) -> TaskStart: ...
    @property
    def running(self) -> bool: ...

    @property
    def result(self) -> CommandResult | None:
        """The result of the command; None while it runs, and if it was ended or never started."""
        ...

    @property
    def fault(self) -> str:
        """Why the command could not be started; empty if it could."""
        ...

    def output(self, start: int) -> SessionOutput:
        """All stored output since ``start`` (characters since it began)."""
        ...

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, at most so long; False when it still runs. Cancelling leaves it running."""
        ...

    async def end(self) -> None:
        """End the task and all processes that it started; returns once they have ended."""
        ...


class Tasks(Protocol):
    """All task runs of one runtime."""

    def start(self, start: TaskStart, on_output: Callable[[str], None]) -> TaskRun:
        """Start a task; ``on_output`` gets its output as it comes.

        Raises ``errors.ToolError`` when too many of the conversation's tasks run already.
        """
        ...

    def find(self, conversation: ConversationId, task: str) -> TaskRun | None:
        """The conversation's run of that id, running or ended, until it is forgotten."""
        ...

    def of(self, conversation: ConversationId) -> Sequence[TaskRun]:
        """The conversation's runs, oldest first; of those that ended only the newest are kept."""
        ...

    def awaited(self, conversation: ConversationId) -> Sequence[str]:
        """The command lines of those whose end a call of the conversation waits for now."""
        ...

    def release(self, conversation: ConversationId) -> Sequence[str]:
        """The person lets them go on in the background: the calls return. Their command lines."""
        ...

    async def close(self) -> None:
        """End every task."""
        ...


class TaskBook(Protocol):
    """The stored task definitions of a workspace, in the shape of VS Code's tasks.json."""

    def tasks(self) -> Sequence[Mapping[str, object]]:
        """Every definition, oldest first. Raises ``errors.StorageError``."""
        ...

    def save(self, task: Mapping[str, object]) -> None:
        """Keep a definition; one of the same label is replaced. Raises ``errors.StorageError``."""
        ...
