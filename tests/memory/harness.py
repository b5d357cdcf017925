"""The tools of memory over real storage and real files, called as the agent calls them."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

from sam_tools.history import RecallHistory
from sam_tools.memory_operations import MemoryOperations
from sam_tools.prompts import ListMiniPrompts, ListSystemPrompts
from sam_tools.turn_control import IncreaseMaxIterations
from sam_tui.adapters.prompts import FilePrompts
from sam_tui.adapters.storage import open_storage
from sam_tui.core.agent.budget import Budget
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import ApprovalRequest, Inquiry
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry


class SetClock(SystemClock):
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def now(self) -> float:
        """What it was set to."""
        return self.time


class Harness:
    """One conversation ``c`` and what it remembers, behind an executor."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.conversation = ConversationId("c")
        self.clock = SetClock()
        self.bus = Bus()
        self.storage = open_storage(folder / "data", now=self.clock.now)
        self.budgets: dict[ConversationId, Budget] = {}
        self.trusted = False
        self.asked: list[ApprovalRequest] = []
        self.user_prompts = folder / "prompts"
        self.prompts = FilePrompts(
            str(self.user_prompts),
            str(self.workspace),
            self.storage.choices,
            lambda name, data: self.trusted,
        )
        workspace = Workspace.open(str(self.workspace))
        self.guard = guard = Guard(
            workspace,
            Policy("ask", True, (), trusted=True),
            Grants(self.clock),
            Inquiries(self.bus, self.clock, attended=False, responder=self._unanswered),
        )
        storage = self.storage
        self.registry = Registry([
            IncreaseMaxIterations(self.budgets.get).tool(),
            ListSystemPrompts(self.prompts).tool(),
            ListMiniPrompts(self.prompts).tool(),
            MemoryOperations(storage.memories, storage.notes, storage.knowledge, self.clock).tool(),
            RecallHistory(storage.archive, storage.memories).tool(),
        ])
        self.executor = Executor(
            self.registry,
            CallSurroundings(guard, storage.results, storage.decisions, self.bus, self.clock),
        )
        self._ids = itertools.count()

    def _unanswered(self, inquiry: Inquiry) -> None:
        assert isinstance(inquiry.request, ApprovalRequest)
        self.asked.append(inquiry.request)

    def distrust(self) -> None:
        """Let the workspace be one that nobody trusts."""
        self.guard.use_policy(replace(self.guard.policy, trusted=False))

    async def call(
        self, tool: str, arguments: object, conversation: ConversationId | None = None
    ) -> Executed:
        """One call, under a fresh id."""
        call = ToolCall(CallId(f"call_{next(self._ids)}"), tool, json.dumps(arguments))
        return await self.executor.execute(call, conversation or self.conversation)

    async def memory(self, operation: str, **arguments: object) -> Executed:
        """One call of memory_operations."""
        return await self.call("memory_operations", {"operation": operation, **arguments})

    async def told(self, operation: str, **arguments: object) -> str:
        """The text of a call of memory_operations that must succeed."""
        done = await self.memory(operation, **arguments)
        assert done.finished.ok, done.finished.text
        return done.finished.text

    async def refused(self, operation: str, **arguments: object) -> str:
        """The text of a call of memory_operations that must fail."""
        done = await self.memory(operation, **arguments)
        assert not done.finished.ok, done.finished.text
        return done.finished.text

    def prompt(self, place: Path, name: str, text: str) -> Path:
        """A prompt file below a folder."""
        place.mkdir(parents=True, exist_ok=True)
        file = place / name
        file.write_text(text, encoding="utf-8")
        return file
