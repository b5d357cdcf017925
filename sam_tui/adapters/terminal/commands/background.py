"""Commands in the background: started there, or sent there by the person; read and ended by id."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from sam_tui.adapters.terminal.processes.output import OutputHistory
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId, SessionId, mint
from sam_tui.core.ports.processes.background import Waited
from sam_tui.core.ports.processes.terminals import (
    CommandRequest,
    CommandResult,
    Commands,
    SessionOutput,
)

_KEPT_ENDED = 20
"""How many ended commands of a conversation can still be read."""
_START = 1.0
"""Seconds after which a command counts as running even if its shell has not reported a start."""


class RunningCommand:
    """The ``BackgroundCommand`` port: one command in a task of its own."""

    def __init__(self, conversation: ConversationId, request: CommandRequest) -> None:
        self._id = SessionId(mint("cmd"))
        self._conversation = conversation
        self._request = request
        self._history = OutputHistory()
        self._pid: int | None = None
        self._result: CommandResult | None = None
        self._failure = ""
        self._began = time.monotonic()
        self._listeners: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._fault: ToolError | None = None
        self._started = asyncio.Event()
        self._waits: set[asyncio.Future[None]] = set()
        self._passes = False
        self.end_read = False
        """Whether the agent has read that it ended."""
        self.unhurried = False
        """Whether its time limit no longer applies."""

    @property
    def id(self) -> SessionId:
        """Opaque and unguessable."""
        return self._id

    @property
    def conversation(self) -> ConversationId:
        """The conversation that the command belongs to."""
        return self._conversation

    @property
    def command(self) -> str:
        """The shell command."""
        return self._request.command

    @property
    def cwd(self) -> str:
        """The working directory in which the command started."""
        return self._request.cwd

    @property
    def pid(self) -> int | None:
        """The process id of the command's shell; None before it has started."""
        return self._pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._task is not None and not self._task.done()

    @property
    def lasts(self) -> bool:
        """Whether the command, or a process that it left behind, is running."""
        left = None if self._result is None else self._result.left
        return self.running or (left is not None and bool(left.processes()))

    @property
    def result(self) -> CommandResult | None:
        """The result of the command, without its output; None while it runs."""
        return None if self._result is None else replace(self._result, output="")

    @property
    def failure(self) -> str:
        """Why the command could not be started, or how its run broke off; else empty."""
        return self._failure

    @property
    def seconds(self) -> float:
        """The seconds that the command has run, or ran."""
        if self._result is not None:
            return self._result.seconds
        return time.monotonic() - self._began

    @property
    def end(self) -> int:
        """The index behind everything printed so far, in characters."""
        return self._history.end

    def output(self, start: int) -> SessionOutput:
        """Return the output since ``start``; of more than a million characters the newest."""
        return self._history.since(start)

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for its end."""
        return bool(self._waits)

    async def wait(
        self, *, within: float | None, on_output: Callable[[], None] | None = None
    ) -> Waited:
        """Wait for its end, at most ``within`` seconds. ``on_output`` is called after output."""
        if self._task is None or self._task.done():
            return "ended"
        released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.add(released)
        if on_output is not None:
            self._listeners.append(on_output)
        try:
            await asyncio.wait(
                [self._task, released], timeout=within, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self._waits.discard(released)
            if on_output is not None:
                self._listeners.remove(on_output)
        if self._task.done():
            return "ended"
        return "released" if released.done() else "running"

    def mark_read(self) -> None:
        """Note that the agent reads the state of the command now, so that its end is no longer news."""
        self.end_read = self.end_read or not self.running

    def release(self) -> None:
        """Stop waiting for the command; it may then run without a time limit."""
        self.unhurried = True
        for released in self._waits:
            if not released.done():
                released.set_result(None)

    async def attended(self, commands: Commands) -> CommandResult | None:
        """Start the command and wait for its end; None if the person sent it to the background.

        Its output goes to its request until then. Cancelling ends the command before this returns.
        Raises ``ToolError`` when it cannot be started.
        """
        self._passes = True
        self._task = asyncio.get_running_loop().create_task(self._run(commands))
        try:
            waited = await self.wait(within=None)
        except asyncio.CancelledError:
            await self.stop()
            raise
        finally:
            self._passes = False
        if waited == "released":
            return None
        if self._fault is not None:
            raise self._fault
        if self._task.cancelled():
            raise ToolError("The command was ended.")
        self._task.result()
        assert self._result is not None
        return self._result

    def on_end(self, ended: Callable[["RunningCommand"], None]) -> None:
        """Call ``ended`` once it is over; soon where it is already."""
        if self._task is not None:
            self._task.add_done_callback(lambda _: ended(self))

    async def begin(self, commands: Commands) -> None:
        """Start the command; returns once its shell is running, or could not be started."""
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
        """End the command and every process that it started, also those in other sessions.

        Cancelling this ends it at once, and never skips it.
        """
        if self._result is not None and self._result.left is not None:
            await self._result.left.end()
        if self._task is None or self._task.done():
            return
        cut: asyncio.CancelledError | None = None
        self._task.cancel()
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as again:
                cut = again
                self._task.cancel()
        if cut is not None:
            raise cut

    async def _run(self, commands: Commands) -> None:
        request = replace(
            self._request,
            on_output=self._heard,
            on_start=self._starts,
            unhurried=lambda: self.unhurried,
        )
        try:
            result = await commands.run(request)
        except ToolError as error:
            self._failure, self._fault = str(error), error
        except asyncio.CancelledError:
            self._failure = "ended on request"
            raise
        else:
            # Nobody reads the whole of it but the call that waits.
            self._result = result if self._passes else replace(result, output="")

    def _starts(self, pid: int) -> None:
        self._pid = pid
        self._started.set()

    def _heard(self, text: str) -> None:
        self._started.set()
        self._history.append(text)
        if self._passes:
            self._request.on_output(text)
        for listener in tuple(self._listeners):
            listener()


class PortedCommands:
    """The ``BackgroundCommands`` port over the ``Commands`` port, confinement and all."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._all: dict[SessionId, RunningCommand] = {}
        self._attended: list[RunningCommand] = []
        self._watchers: list[Callable[[RunningCommand], None]] = []

    async def run(
        self, conversation: ConversationId, request: CommandRequest
    ) -> CommandResult | RunningCommand:
        """Run a command to its end; if the person sends it to the background, it is returned still running.

        Raises ``ToolError`` when it cannot be started.
        """
        command = RunningCommand(conversation, request)
        self._attended.append(command)
        try:
            result = await command.attended(self._commands)
        finally:
            self._attended.remove(command)
        if result is None:
            self._keep(command)
            return command
        if result.left is not None:
            command.end_read = True
            self._keep(command)
            return replace(result, left_id=command.id)
        return result

    def awaited(self, conversation: ConversationId) -> list[str]:
        """The commands whose end a call of the conversation waits for now."""
        return [command.command for command in self._waited(conversation)]

    def release(self, conversation: ConversationId) -> list[str]:
        """Send the awaited commands to the background, so that their calls return; returns them."""
        waited = self._waited(conversation)
        for command in waited:
            command.release()
        return [command.command for command in waited]

    def _waited(self, conversation: ConversationId) -> list[RunningCommand]:
        both = (*self._attended, *self._all.values())
        return [
            command for command in both if command.conversation == conversation and command.awaited
        ]

    async def start(self, conversation: ConversationId, request: CommandRequest) -> RunningCommand:
        """Start one. Returns once it runs, or could not be started (then ``failure`` says why)."""
        command = RunningCommand(conversation, request)
        self._all[command.id] = command
        await command.begin(self._commands)
        self._keep(command)
        return command

    def find(self, command: SessionId) -> RunningCommand | None:
        """The running or ended command of this id, or None."""
        return self._all.get(command)

    def of(self, conversation: ConversationId) -> list[RunningCommand]:
        """Return all running commands of a conversation and the newest ended ones, in the order started."""
        return [command for command in self._all.values() if command.conversation == conversation]

    def unread(self, conversation: ConversationId) -> list[RunningCommand]:
        """The ended commands whose end the agent has not read."""
        return [
            command
            for command in self.of(conversation)
            if not (command.running or command.end_read)
        ]

    async def stop(self, command: SessionId) -> None:
        """End a command with all processes that it started; does nothing for an unknown or ended one."""
        running = self._all.get(command)
        if running is not None:
            await running.stop()

    def watch(self, moved: Callable[[RunningCommand], None]) -> Callable[[], None]:
        """Call ``moved`` when a command comes to the background or ends; return how to stop."""
        self._watchers.append(moved)
        return lambda: self._watchers.remove(moved)

    async def close_all(self) -> None:
        """End all, at the same time."""
        self._watchers.clear()
        stopped = [*self._attended, *self._all.values()]
        self._all.clear()
        async with asyncio.TaskGroup() as group:
            for command in stopped:
                group.create_task(command.stop())

    def _keep(self, command: RunningCommand) -> None:
        """Add a command to those in the background."""
        self._all[command.id] = command
        self._forget(command.conversation)
        command.on_end(self._tell)
        if command.running:
            self._tell(command)

    def _tell(self, command: RunningCommand) -> None:
        for moved in tuple(self._watchers):
            moved(command)

    def _forget(self, conversation: ConversationId) -> None:
        """Forget all but the newest ended commands of a conversation."""
        ended = [command for command in self.of(conversation) if not command.running]
        if len(ended) > _KEPT_ENDED:  # their remaining processes are searched among all processes
            ended = [command for command in ended if not command.lasts]
        for old in ended[:-_KEPT_ENDED]:
            del self._all[old.id]
