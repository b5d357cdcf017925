import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sam_tools.terminal_operations import TerminalOperations, TerminalParts
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.terminal.commands.background import PortedCommands
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.accesses import Location
from sam_tui.core.events import Event
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.processes.terminals import (
    CommandRequest,
    CommandResult,
    SessionSpec,
    TerminalSession,
)
from sam_tui.core.tooling.contract import Permit, ToolContext, ToolResult

Run = Callable[..., Coroutine[None, None, CommandResult]]
Until = Callable[[TerminalSession, str], Awaitable[str]]

DEADLINE = 90.0
ME = ConversationId("me")


class Hand:
    """Calls operations as the executor would once the guard has allowed them."""

    def __init__(self, tool: TerminalOperations, workspace: Path) -> None:
        self.owner = tool
        self.tool = tool.tool()
        self.workspace = workspace
        self.commands: Any = None
        self.heard: list[str] = []

    def operation(self, name: str) -> Any:
        return next(o for o in self.tool.operations if o.name == name)

    def context(self, conversation: ConversationId = ME, **locations: Path) -> ToolContext:
        root = str(self.workspace)
        located = {name: Location(str(p), str(p), root) for name, p in locations.items()}
        permit = Permit(located, confined=True, writable=(root,))
        return ToolContext(conversation, CallId("call"), root, permit, self.heard.append)

    async def call(self, name: str, context: ToolContext | None = None, **given: Any) -> ToolResult:
        operation = self.operation(name)
        arguments = operation.arguments.model_validate(given)
        return await operation.run(arguments, context or self.context())

    async def data(self, name: str, context: ToolContext | None = None, **given: Any) -> Any:
        return json.loads((await self.call(name, context, **given)).text)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace, with one file in it."""
    folder = tmp_path.resolve() / "outside"
    folder.mkdir()
    (folder / "victim").write_text("precious")
    return folder


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


@pytest.fixture
def commands(sandbox: Sandbox) -> ShellCommands:
    return ShellCommands(sandbox)


@pytest.fixture
async def terminals(sandbox: Sandbox) -> AsyncIterator[PtyTerminals]:
    made = PtyTerminals(sandbox)
    yield made
    await made.close_all()


@pytest.fixture
async def background(commands: ShellCommands) -> AsyncIterator[PortedCommands]:
    made = PortedCommands(commands)
    yield made
    await made.close_all()


@pytest.fixture
def run(commands: ShellCommands, workspace: Path) -> Run:
    """Run a command in the workspace; what it prints live goes to ``heard``, if given."""

    async def running(
        command: str,
        *,
        confined: bool = False,
        limit: float = DEADLINE,
        cwd: Path | None = None,
        heard: Callable[[str], None] = lambda _: None,
    ) -> CommandResult:
        folder = str(cwd or workspace)
        return await commands.run(
            CommandRequest(command, folder, confined, (str(workspace),), limit, heard)
        )

    return running


def printed(session: TerminalSession) -> str:
    """All a session printed, without the titles and marks among it (OSC sequences)."""
    return re.sub(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", "", session.output(0).text)


@pytest.fixture
def until() -> Until:
    """Wait until a session has printed a text; returns all it printed."""

    async def waiting(session: TerminalSession, wanted: str) -> str:
        changed = asyncio.Event()
        stop = session.watch(changed.set)
        try:
            async with asyncio.timeout(DEADLINE):
                while wanted not in (text := printed(session)):
                    assert session.running, text
                    changed.clear()
                    await changed.wait()
                return text
        finally:
            stop()

    return waiting


@pytest.fixture
def lives() -> Callable[[int], bool]:
    """Whether a process runs; one that only waits to be reaped does not."""

    def living(pid: int) -> bool:
        try:
            line = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return False
        return line.rpartition(b")")[2].split()[0] not in b"ZX"

    return living


@pytest.fixture
def plain_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sessions run bash without anybody's start-up files, with a prompt that is easy to find."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text(
        "PS1='ready> '; PROMPT_COMMAND=; bind 'set enable-bracketed-paste off'"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")


@pytest.fixture
def open_shell(
    terminals: PtyTerminals, workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Awaitable[TerminalSession]]:
    """Opens a session of a shell with start-up files of its own, and waits for its prompt."""
    home = tmp_path / "home"
    (home / ".config" / "fish").mkdir(parents=True)
    # Else fish reads the manual pages of the whole system, in the background.
    Path(os.environ["XDG_DATA_HOME"], "fish", "generated_completions").mkdir(parents=True)
    (home / ".bashrc").write_text(
        "PS1='ready> '; HISTCONTROL=ignoreboth; mine() { echo loaded; }\n"
    )
    (home / ".zshrc").write_text("PS1='ready> '\nmine() { echo loaded }\n")
    (home / ".config" / "fish" / "config.fish").write_text(
        "function fish_prompt; echo 'ready> '; end\nfunction mine; echo loaded; end\n"
    )
    monkeypatch.delenv("ZDOTDIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    async def opening(shell: str, **more: Any) -> TerminalSession:
        monkeypatch.setenv("SHELL", shutil.which(shell) or "")
        session, _ = await terminals.open(SessionSpec(ME, str(workspace), **more))
        await session.activity.settled(within=DEADLINE)
        return session

    return opening


@pytest.fixture
def no_zombies() -> Callable[[], None]:
    # A worker gets children that are not its own at the moment of a fork: see fakes/preloaded.py.
    before = zombies()

    def check() -> None:
        assert zombies() <= before

    return check


def zombies() -> set[int]:
    """Children of this process that ended and were not waited for."""
    ended: set[int] = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = status.read_text(encoding="latin-1").rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) == os.getpid():
                ended.add(int(status.parent.name))
    return ended


@pytest.fixture
def replaced(workspace: Path) -> Callable[[Path | None], None]:
    """Move the workspace away and put a new folder, or a link, in its place."""

    def replace(target: Path | None) -> None:
        workspace.rename(workspace.with_name("old"))
        if target is None:
            workspace.mkdir()
        else:
            workspace.symlink_to(target)

    return replace


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the person's."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def descriptors() -> Callable[[], int]:
    return lambda: len(os.listdir("/proc/self/fd"))


@pytest.fixture
def published() -> list[Event]:
    return []


@pytest.fixture
def hand(
    commands: ShellCommands,
    terminals: PtyTerminals,
    background: PortedCommands,
    workspace: Path,
    published: list[Event],
) -> Hand:
    tool = TerminalOperations(
        TerminalParts(
            commands, terminals, published.append, files=LocalFiles(), background=background
        )
    )
    made = Hand(tool, workspace)
    made.commands = commands
    return made
