"""Commands in the background: started there, or sent there by the person."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from sam_tui.core.ids import ConversationId, SessionId
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult, SessionOutput

Waited = Literal["ended", "running", "released"]
"""How waiting ended: the command ended, the time was over, or the person stopped waiting for it."""


class BackgroundCommand(Protocol):
    """A command that runs while its conversation continues."""

    @property
    def id(self) -> SessionId: ...
    @property
    def conversation(self) -> ConversationId: ...
    @property
    def command(self) -> str: ...
    @property
    def cwd(self) -> str: ...

    @property
    def pid(self) -> int | None:
        """The process id of the command's shell; None before it has started."""
        ...

    @property
    def running(self) -> bool: ...

    @property
    def end_read(self) -> bool:
        """Whether the agent has read that the command ended."""
        ...

    def mark_read(self) -> None:
        """Note that the agent reads the state of the command now, so that its end is no longer news."""
        ...

    @property
    def result(self) -> CommandResult | None:
        """The result of the command, with an empty ``output`` (see the property); None while it runs."""
        ...

    @property
    def failure(self) -> str:
        """Why the command could not be started; empty if it could."""
        ...

    @property
    def seconds(self) -> float:
        """The seconds that the command has run, or ran."""
        ...

    @property
    def end(self) -> int:
        """The index behind everything printed so far."""
        ...

    def output(self, start: int) -> SessionOutput:
        """Return the output since ``start``; only the newest part is kept."""
        ...

    async def wait(self, *, within: float, on_output: Callable[[], None] | None = None) -> Waited:
        """Wait for its end, at most ``within`` seconds. ``on_output`` is called after output."""
        ...


class BackgroundCommands(Protocol):
    """The background commands of one runtime, run as ``Commands`` runs all others."""

    async def run(
        self, conversation: ConversationId, request: CommandRequest
    ) -> CommandResult | BackgroundCommand:
        """Run one and wait for its end, as ``Commands`` does, unless the person releases it.

        Then it is returned, still running, and its ``timeout`` no longer counts.
        """
        ...

    def awaited(self, conversation: ConversationId) -> Sequence[str]:
        """The commands whose end a call of the conversation waits for now."""
        ...

    def release(self, conversation: ConversationId) -> Sequence[str]:
        """The person lets them go on in the background: the calls return. The commands let go."""
        ...

    async def start(
        self, conversation: ConversationId, request: CommandRequest
    ) -> BackgroundCommand:
        """Start one. Returns once it runs, or could not be started (then ``failure`` says why)."""
        ...

    def find(self, command: SessionId) -> BackgroundCommand | None:
        """The running or ended command of this id, or None."""
        ...

    def of(self, conversation: ConversationId) -> Sequence[BackgroundCommand]:
        """Return all running commands of a conversation and the newest ended ones, in the order started."""
        ...

    def unread(self, conversation: ConversationId) -> Sequence[BackgroundCommand]:
        """The ended commands whose end the agent has not read."""
        ...

    async def stop(self, command: SessionId) -> None:
        """End the command and all its processes."""
        ...

    def watch(self, moved: Callable[[BackgroundCommand], None]) -> Callable[[], None]:
        """Call ``moved`` when a command comes to the background or ends; return how to stop."""
        ...

    async def close_all(self) -> None:
        """End every command."""
        ...
