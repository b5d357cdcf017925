"""A workspace, real git repositories, and the tool behind a real executor."""

import asyncio
import itertools
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sam_tools.build_and_version_control import BuildAndVersionControl
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.tasks import CommandTasks, FileTaskBook
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import PermissionMode, Policy
from sam_tui.core.bus import Bus, Subscription
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import ToolProgressed
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.processes.tasks import TaskRun
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry
from tests.fakes.programs import found

DEADLINE = 90.0
CONVERSATION = ConversationId("c")

Git = Callable[..., str]
Ended = Callable[[str], Awaitable[TaskRun]]


@dataclass
class Harness:
    """The tool over a workspace, called as the agent calls it; nobody answers questions."""

    folder: Path
    storage: Storage
    commands: ShellCommands
    bus: Bus
    events: Subscription
    sandboxed: bool
    added: tuple[str, ...] = ()
    mode: PermissionMode = "ask"
    foreground_seconds: float = 600.0
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.workspace = Workspace.open(str(self.folder), self.added)
        self.book = FileTaskBook(str(self.folder.parent / "data" / "tasks"), self.workspace.root)
        self.tasks = CommandTasks(self.commands)
        self.tool = BuildAndVersionControl(
            self.commands,
            self.tasks,
            book=self.book,
            files=LocalFiles(),
            workspace=self.workspace,
            foreground_seconds=self.foreground_seconds,
        ).tool()
        clock = SystemClock()
        self.inquiries = Inquiries(self.bus, clock, attended=False)
        policy = Policy(self.mode, self.sandboxed, ())
        self.executor = Executor(
            Registry([self.tool]),
            CallSurroundings(
                Guard(self.workspace, policy, Grants(clock), self.inquiries),
                self.storage.results,
                self.storage.decisions,
                self.bus,
                clock,
            ),
        )

    async def call(
        self, operation: str, conversation: ConversationId = CONVERSATION, **arguments: object
    ) -> Executed:
        """One call, under a fresh id."""
        name = f"build_and_version_control.{operation}"
        call = ToolCall(CallId(f"call_{next(self._ids)}"), name, json.dumps(arguments))
        return await self.executor.execute(call, conversation)

    async def task(self, command: str, label: str = "t", **more: object) -> Executed:
        """Create and run a shell task."""
        return await self.call(
            "create_and_run_task", task={"label": label, "command": command, **more}
        )

    async def good(self, operation: str, **arguments: object) -> dict[str, Any]:
        """The data of a call that must succeed."""
        executed = await self.call(operation, CONVERSATION, **arguments)
        assert executed.finished.ok, executed.finished.text
        return dict(executed.data)

    async def bad(self, operation: str, **arguments: object) -> str:
        """The error of a call that must fail."""
        executed = await self.call(operation, CONVERSATION, **arguments)
        assert not executed.finished.ok, executed.finished.text
        return executed.finished.text

    async def until(self, wanted: str) -> str:
        """Wait until progress has told a text; returns all it told since the last look."""
        heard = ""
        async with asyncio.timeout(DEADLINE):
            while wanted not in heard:
                heard += "".join(
                    e.text for e in await self.events.batch() if isinstance(e, ToolProgressed)
                )
        return heard


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace's folder."""
    folder = tmp_path.resolve() / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
async def opened(tmp_path: Path, folder: Path) -> AsyncIterator[Callable[..., Harness]]:
    """How to open a harness; all are closed at the end."""
    sandbox = Sandbox()
    storage = open_storage(str(tmp_path / "data"))
    storage.conversations.create(CONVERSATION, str(folder))
    harnesses: list[Harness] = []

    def opening(*, where: Path = folder, **options: Any) -> Harness:
        bus = Bus()
        options = {"sandboxed": sandbox.confinement.kind != "none", **options}
        harness = Harness(where, storage, ShellCommands(sandbox), bus, bus.subscribe(), **options)
        harnesses.append(harness)
        return harness

    yield opening
    for harness in harnesses:
        await harness.tasks.close()
    storage.close()
    sandbox.close()


@pytest.fixture
def harness(opened: Callable[..., Harness]) -> Harness:
    return opened()


@pytest.fixture
def ended(harness: Harness) -> Ended:
    """Wait for the end of a task."""

    async def waiting(task: str) -> TaskRun:
        run = harness.tasks.find(CONVERSATION, task)
        assert run is not None
        assert await run.wait(DEADLINE)
        return run

    return waiting


@pytest.fixture
def person(home: Path) -> None:
    """Somebody whom git knows."""
    (home / ".gitconfig").write_text(
        '[user]\n\tname = Ada\n\temail = ada@example.org\n[protocol "file"]\n\tallow = always\n'
        "[init]\n\tdefaultBranch = main\n"
    )


@pytest.fixture
def git(folder: Path) -> Git:
    """git in the workspace, or ``at`` another folder."""

    def running(*arguments: str, at: Path = folder, ok: bool = True) -> str:
        done = subprocess.run(
            [found("git"), *arguments],
            cwd=at,
            capture_output=True,
            text=True,
            errors="surrogateescape",
        )
        assert not ok or done.returncode == 0, done.stderr
        return done.stdout.strip("\n")

    return running


@pytest.fixture
def repository(person: None, git: Git, folder: Path) -> Path:
    """The workspace as a repository with one commit of ``a.txt``."""
    git("init", "-q")
    (folder / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    return folder
