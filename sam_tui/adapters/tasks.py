"""The ``Tasks`` port over ``Commands``, and the tasks that were made for a workspace.

Those lie in a tasks.json of their own in the data folder, beside the program's other data and not in the
workspace, so that making a task never changes the person's repository. It has VS Code's shape, so that it
can be copied there by hand.
"""

import asyncio
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sam_tui.core.errors import SamError, StorageError, ToolError
from sam_tui.core.ids import ConversationId, mint
from sam_tui.core.local_files.private_files import replace_file
from sam_tui.core.ports.processes.tasks import TaskStart
from sam_tui.core.ports.processes.terminals import (
    CommandRequest,
    CommandResult,
    Commands,
    SessionOutput,
)
from sam_tui.core.text.tail import Tail

MOST_TASKS = 200
"""The most definitions of one workspace; the oldest are dropped."""


class FileTaskBook:
    """The ``TaskBook`` port: one private file for each workspace, replaced atomically."""

    def __init__(self, folder: str, workspace: str) -> None:
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
        self._workspace = workspace
        self._folder = Path(folder)
        self._file = self._folder / f"{name}.json"

    def tasks(self) -> Sequence[Mapping[str, Any]]:
        """Every definition, oldest first. Raises ``StorageError`` for a file that cannot be read."""
        try:
            text = self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise StorageError(f"The tasks in {self._file} cannot be read: {error}.") from error
        try:
            stored = json.loads(text)["tasks"]
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{self._file} is damaged.", hint="Delete it; tasks can be made again."
            ) from error
        tasks = cast("list[object]", stored) if isinstance(stored, list) else []
        return [cast("dict[str, Any]", task) for task in tasks if isinstance(task, dict)]

    def save(self, task: Mapping[str, Any]) -> None:
        """Keep a definition; one of the same label is replaced. Raises ``StorageError``."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._alone():
                others = [
                    task_known
                    for task_known in self.tasks()
                    if task_known.get("label") != task["label"]
                ]
                self._write([*others, task][-MOST_TASKS:])
        except OSError as error:
            raise StorageError(f"The task cannot be stored: {error}.") from error

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Lock the file against changes by other tasks and processes."""
        lock = os.open(
            self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        content = {"version": "2.0.0", "workspace": self._workspace, "tasks": tasks}
        # ASCII: names that are not UTF-8 keep their bytes as escapes.
        replace_file(str(self._file), json.dumps(content, indent=2), flushed=False)


KEPT_CHARACTERS = 256 * 1024
MOST_RUNNING = 16
"""Tasks of one conversation that may run at the same time."""
KEPT_ENDED = 32
"""How many ended tasks of one conversation can still be read."""
_NO_DEADLINE = 366 * 86400.0


class CommandRun:
    """One run: a task of the event loop around ``Commands.run``, owned here until it is over."""

    def __init__(
        self, commands: Commands, start: TaskStart, on_output: Callable[[str], None]
    ) -> None:
        self.id = mint("task")
        self.start = start
        self.result: CommandResult | None = None
        self.fault = ""
        self._tail = Tail(KEPT_CHARACTERS)
        self._hear = on_output
        self._unhurried = False
        self._waits: set[asyncio.Future[None]] = set()
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._run(commands), name=f"task {start.label}")

    @property
    def running(self) -> bool:
        """Whether it is not over yet."""
        return not self._task.done()

    def output(self, start: int) -> SessionOutput:
        """Return the kept output from an absolute index on; a negative one counts from the end."""
        first = self._tail.end + start if start < 0 else start
        return SessionOutput(*self._tail.since(first))

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, at most so long; False if it is still running. Cancelling does not end it.

        ``release`` ends the waiting.
        """
        released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.add(released)
        try:
            await asyncio.wait(
                [self._task, released], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self._waits.discard(released)
        if self._task.done() and not self._task.cancelled():
            self._task.result()
        return self._task.done()

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for its end."""
        return bool(self._waits)

    def release(self) -> None:
        """Stop waiting for the command; it may then run without a time limit."""
        self._unhurried = True
        for released in self._waits:
            if not released.done():
                released.set_result(None)

    async def end(self) -> None:
        """Cancel the command, and wait until all its processes have ended."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self, commands: Commands) -> None:
        start = self.start
        request = CommandRequest(
            command=start.command,
            cwd=start.cwd,
            confined=start.confined,
            writable=start.writable,
            timeout=_NO_DEADLINE if start.timeout is None else start.timeout,
            on_output=self._printed,
            ask=start.ask,
            network=start.network,
            again=start.again,
            granted=start.granted,
            unhurried=lambda: self._unhurried,
        )
        try:
            self.result = await commands.run(request)
        except SamError as fault:
            self.fault = fault.explain()

    def _printed(self, text: str) -> None:
        self._tail.add(text)
        self._hear(text)


class CommandTasks:
    """The ``Tasks`` port. Closing it ends every running task."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._runs: dict[ConversationId, list[CommandRun]] = {}

    def start(self, start: TaskStart, on_output: Callable[[str], None]) -> CommandRun:
        """Start a task. Raises ``ToolError`` when too many of its conversation run already."""
        runs = self._runs.setdefault(start.conversation, [])
        running = [run for run in runs if run.running]
        if len(running) >= MOST_RUNNING:
            raise ToolError(
                f"{MOST_RUNNING} tasks of this conversation are running, which is the limit.",
                hint="End one of them first.",
            )
        run = CommandRun(self._commands, start, on_output)
        runs.append(run)
        self._forget(runs)
        return run

    def find(self, conversation: ConversationId, task: str) -> CommandRun | None:
        """The conversation's run of that id; another conversation's is not found."""
        return next((run for run in self.of(conversation) if run.id == task), None)

    def of(self, conversation: ConversationId) -> Sequence[CommandRun]:
        """The conversation's runs, oldest first."""
        return tuple(self._runs.get(conversation, ()))

    def awaited(self, conversation: ConversationId) -> list[str]:
        """The command lines of the tasks whose end a call awaits now."""
        return [run.start.command for run in self.of(conversation) if run.awaited]

    def release(self, conversation: ConversationId) -> list[str]:
        """Send the awaited commands to the background, so that their calls return; their lines."""
        awaited = [run for run in self.of(conversation) if run.awaited]
        for run in awaited:
            run.release()
        return [run.start.command for run in awaited]

    async def close(self) -> None:
        """End all that run, at the same time."""
        runs = [run for runs in self._runs.values() for run in runs if run.running]
        self._runs.clear()
        await asyncio.gather(*(run.end() for run in runs))

    @staticmethod
    def _forget(runs: list[CommandRun]) -> None:
        ended = [run for run in runs if not run.running]
        for run in ended[: max(0, len(ended) - KEPT_ENDED)]:
            runs.remove(run)
