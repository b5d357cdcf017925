"""The tools of this folder over real storage, called as the agent calls them."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

from sam_tools.history import ReadToolResult
from sam_tools.todo_operations import TodoOperations
from sam_tools.turn_control import Think, UserCollaboration
from sam_tui.adapters.storage import open_storage
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.messages import ToolCall
from sam_tui.core.todos.item import Todo
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry


class SetClock(SystemClock):
    """A wall clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def now(self) -> float:
        """What it was set to."""
        return self.time


class Harness:
    """One conversation, its todo list and its stored results, behind an executor."""

    def __init__(self, folder: Path, *, attended: bool = False) -> None:
        (folder / "ws").mkdir()
        self.conversation = ConversationId("c")
        self.clock = SetClock()
        self.bus = Bus()
        self.events = self.bus.subscribe()
        self.storage = open_storage(folder / "data")
        self.board = TodoBoard(self.storage.todos, self.bus, self.clock)
        self.inquiries = Inquiries(self.bus, self.clock, attended=attended)
        workspace = Workspace.open(str(folder / "ws"))
        self.storage.conversations.create(self.conversation, workspace.root)
        self.grants = Grants(self.clock)
        guard = Guard(workspace, Policy("ask", True, ()), self.grants, self.inquiries)
        self.registry = Registry([
            Think().tool(),
            UserCollaboration(self.inquiries).tool(),
            TodoOperations(self.board).tool(),
            ReadToolResult(self.storage.results).tool(),
        ])
        self.executor = Executor(
            self.registry,
            CallSurroundings(
                guard, self.storage.results, self.storage.decisions, self.bus, self.clock
            ),
        )
        self._ids = itertools.count()

    @property
    def items(self) -> dict[int, Todo]:
        """The stored list by id."""
        return {item.id: item for item in self.board.items(self.conversation)}

    @property
    def statuses(self) -> dict[int, str]:
        """The stored statuses by id."""
        return {id_: item.status for id_, item in self.items.items()}

    async def call(self, tool: str, arguments: object) -> Executed:
        """One call, under a fresh id."""
        call = ToolCall(CallId(f"call_{next(self._ids)}"), tool, json.dumps(arguments))
        return await self.executor.execute(call, self.conversation)

    async def todos(self, operation: str, **arguments: object) -> Executed:
        """One call of todo_operations."""
        return await self.call("todo_operations", {"operation": operation, **arguments})

    async def stand(self, *rows: tuple[int, str] | Mapping[str, object]) -> None:
        """Write a list from (id, status) pairs or whole items; it must be accepted."""
        items = [
            {"id": row[0], "title": f"T{row[0]}", "status": row[1]}
            if isinstance(row, tuple)
            else row
            for row in rows
        ]
        written = await self.todos("write", todoList=items)
        assert written.finished.ok, written.finished.text
