"""Background commands: each runs as every command does, and is read, awaited and ended by its id."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from sam_tui.adapters.terminal.history import History
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId, SessionId, mint
from sam_tui.core.ports.terminals import CommandRequest, CommandResult, Commands, SessionOutput

_KEPT_ENDED = 20
"""Ended commands that a conversation can still read."""
_START = 1.0
"""Seconds that a start may take before the command is taken to run."""


class RunningCommand:
    """The ``BackgroundCommand`` port: one command in a task of its own."""

    def __init__(self, conversation: ConversationId, request: CommandRequest) -> None:
        self._id = SessionId(mint("cmd"))
        self._conversation = conversation
        self._request = request
        self._history = History()
        self._pid: int | None = None
        self._result: CommandResult | None = None
        self._failure = ""
        self._began = time.monotonic()
        self._listeners: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._started = asyncio.Event()

    @property
    def id(self) -> SessionId:
        """Opaque and unguessable."""
        return self._id

    @property
    def conversation(self) -> ConversationId:
        """Whose it is."""
        return self._conversation

    @property
    def command(self) -> str:
        """The shell command."""
        return self._request.command

    @property
    def cwd(self) -> str:
        """Where it was started."""
        return self._request.cwd

    @property
    def pid(self) -> int | None:
        """The process id of its shell; None before it started."""
        return self._pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._task is not None and not self._task.done()

    @property
    def result(self) -> CommandResult | None:
        """How it ended, without its output; None while it runs."""
        return self._result

    @property
    def failure(self) -> str:
        """Why it could not be started, or how its run broke off; else empty."""
        return self._failure

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        if self._result is not None:
            return self._result.seconds
        return time.monotonic() - self._began

    @property
    def end(self) -> int:
        """The index behind everything printed so far, in characters."""
        return self._history.end

    def output(self, start: int) -> SessionOutput:
        """What it printed since ``start``; of more than a million characters the newest."""
        return self._history.since(start)

    async def wait(self, *, within: float, heard: Callable[[], None] | None = None) -> bool:
        """Wait for its end; False when ``within`` seconds were too short. ``heard`` after output."""
        if self._task is None or self._task.done():
            return True
        if heard is not None:
            self._listeners.append(heard)
        try:
            await asyncio.wait([self._task], timeout=within)
        finally:
            if heard is not None:
                self._listeners.remove(heard)
        return self._task.done()

    async def begin(self, commands: Commands) -> None:
        """Start it; returns once its shell runs, or cannot."""
        self._task = asyncio.get_running_loop().create_task(self._run(commands))
        starting = asyncio.get_running_loop().create_task(self._started.wait())
        try:
            await asyncio.wait(
                [self._task, starting], timeout=_START, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            await self.stop()
            raise
        finally:
            starting.cancel()

    async def stop(self) -> None:
        """End it with all that it started. Cancelling this does not keep it alive."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self, commands: Commands) -> None:
        request = replace(self._request, on_output=self._heard, on_start=self._starts)
        try:
            result = await commands.run(request)
        except ToolError as error:
            self._failure = str(error)
        except asyncio.CancelledError:
            self._failure = "ended on request"
            raise
        else:
            self._result = replace(result, output="")

    def _starts(self, pid: int) -> None:
        self._pid = pid
        self._started.set()

    def _heard(self, text: str) -> None:
        self._started.set()
        self._history.append(text)
        for listener in tuple(self._listeners):
            listener()


class PortedCommands:
    """The ``BackgroundCommands`` port over the ``Commands`` port, confinement and all."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._all: dict[SessionId, RunningCommand] = {}

    async def start(self, conversation: ConversationId, request: CommandRequest) -> RunningCommand:
        """Start one. Returns once it runs, or could not be started (then ``failure`` says why)."""
        made = RunningCommand(conversation, request)
        self._all[made.id] = made
        await made.begin(self._commands)
        self._forget(conversation)
        return made

    def find(self, command: SessionId) -> RunningCommand | None:
        """The one of that id, running or ended."""
        return self._all.get(command)

    def of(self, conversation: ConversationId) -> list[RunningCommand]:
        """All that run for a conversation and the newest that ended, in the order started."""
        return [made for made in self._all.values() if made.conversation == conversation]

    async def stop(self, command: SessionId) -> None:
        """End it with all that it started; nothing for an unknown or ended one."""
        found = self._all.get(command)
        if found is not None:
            await found.stop()

    async def close_all(self) -> None:
        """End all, at the same time."""
        running = [made for made in self._all.values() if made.running]
        self._all.clear()
        async with asyncio.TaskGroup() as group:
            for made in running:
                group.create_task(made.stop())

    def _forget(self, conversation: ConversationId) -> None:
        """Let go of all but the newest ended ones."""
        ended = [made.id for made in self.of(conversation) if not made.running]
        for old in ended[:-_KEPT_ENDED]:
            del self._all[old]
