"""A workspace whose file operations run through a real executor, guard, index, journal and shell."""

import itertools
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sam_tools.file_operations import FileOperations
from sam_tui.adapters.code import SqliteJournal, open_insight
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.storage import open_storage
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.accesses import Location
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import ToolProgressed
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.model import Embedder
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry


class Workshop:
    """One conversation at work in a folder; nobody is there to answer questions."""

    def __init__(
        self,
        folder: Path,
        *,
        embedder: Embedder | None = None,
        search: RipgrepSearch | None = None,
    ) -> None:
        (folder / "ws").mkdir()
        self.data = folder / "data"
        self.conversation = ConversationId("c")
        self.workspace = Workspace.open(str(folder / "ws"))
        self.root = Path(self.workspace.root)
        self.bus = Bus()
        self.events = self.bus.subscribe()
        self.files, self.search = LocalFiles(), search or RipgrepSearch()
        self.journal = SqliteJournal(self.data, self.files)
        self.insight = open_insight(
            self.data, self.workspace.root, self.files, self.search, embedder=embedder
        )
        self.sandbox = Sandbox()
        self.storage = open_storage(self.data)
        self.storage.conversations.create(self.conversation, self.workspace.root)
        clock = SystemClock()
        self.tool = FileOperations(
            self.files,
            self.search,
            journal=self.journal,
            insight=self.insight,
            commands=partial(ShellCommands, self.sandbox),
        ).tool()
        guard = Guard(
            self.workspace,
            Policy("ask", True, (), secrets=Secrets(str(folder / "home"))),
            Grants(clock),
            Inquiries(self.bus, clock, attended=False),
        )
        self.executor = Executor(
            Registry([self.tool]),
            CallSurroundings(guard, self.storage.results, self.storage.decisions, self.bus, clock),
        )
        self._ids = itertools.count()

    @property
    def here(self) -> Location:
        """The workspace itself."""
        return self.workspace.locate(".")

    def write(self, path: str, text: str) -> Path:
        """A file of the workspace, folders made."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
        return file

    def read(self, path: str) -> str:
        """The exact text of a file."""
        return (self.root / path).read_bytes().decode()

    def program(self, name: str, script: str) -> None:
        """A program of the workspace's own virtual environment."""
        file = self.write(f".venv/bin/{name}", f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def tree(self) -> dict[str, bytes]:
        """Every file and its bytes."""
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in sorted(self.root.rglob("*"))
            if file.is_file()
        }

    async def __call__(self, operation: str, /, **arguments: object) -> Executed:
        call = ToolCall(
            CallId(f"call_{next(self._ids)}"),
            f"file_operations.{operation}",
            json.dumps(arguments),
        )
        return await self.executor.execute(call, self.conversation)

    async def done(self, operation: str, /, **arguments: object) -> Executed:
        """A call that must succeed."""
        executed = await self(operation, **arguments)
        assert executed.finished.ok, executed.finished.text
        return executed

    async def refused(self, operation: str, /, **arguments: object) -> str:
        """A call that must fail and change nothing; what it said."""
        before = self.tree()
        executed = await self(operation, **arguments)
        assert not executed.finished.ok, executed.finished.text
        assert self.tree() == before
        return executed.finished.text

    def progress(self) -> list[str]:
        """What was told on the way since the last time."""
        return [e.text for e in self.events.drain() if isinstance(e, ToolProgressed)]

    def close(self) -> None:
        """Release everything."""
        self.insight.index.close()
        self.journal.close()
        self.storage.close()
        self.sandbox.close()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path)
    yield workshop
    workshop.close()


def endless_listing(folder: Path) -> RipgrepSearch:
    """A search that lists one file, and comes to no end in its time."""
    program = folder / "listing"
    program.write_text("#!/bin/sh\nprintf './b.py\\0'\nexec sleep 600\n", encoding="utf-8")
    program.chmod(0o755)
    return RipgrepSearch(binary=str(program), seconds=2)
