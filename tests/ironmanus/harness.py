"""JARVIS over a real store, real files, a real executor and real subagents with a scripted model."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from sam_tools.file_operations import FileOperations
from sam_tools.iron_manus import build_iron_manus
from sam_tools.iron_manus.phases.folder import SessionFolders
from sam_tui.adapters.documents import LocalDocuments
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.storage import open_storage
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.workflows import DefinitionFiles
from sam_tui.core.agent.budget import Budget, Budgets
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.subagents import Subagents, Surroundings
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries, Responder
from sam_tui.core.messages import ToolCall
from sam_tui.core.prompt.reminders import Injectors
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.services import Services
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry
from sam_tui.core.workflow.lazy import LazyWorkflows
from tests.fakes.web_server import WebServer
from tests.workflow.bench import Bench, HandClock

Play = dict[str, Any]
PHASES: list[tuple[str, Play]] = [
    ("QUERY", {"interpreted_goal": "g"}),
    ("ENHANCE", {"enhanced_goal": "g and more"}),
    ("KNOWLEDGE", {"knowledge_gathered": "k", "sources": [{"source": "a.md", "confidence": 0.8}]}),
]
"""What leads to PLAN."""


class QuickClock(HandClock):
    """A clock that is moved by hand and whose waits end at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Remember the wait."""
        self.waits.append(seconds)


class Harness:
    """One data folder and one workspace with all tools of the profile, as assembly makes them."""

    def __init__(
        self,
        folder: Path,
        plays: Sequence[Play] = (),
        *,
        responder: Responder | None = None,
        site: WebServer | None = None,
        tables: Sequence[str] = (),
    ) -> None:
        self.bench = Bench(folder, package=True)
        self.clock = self.bench.clock = QuickClock()
        self.folder = self.bench.workspace
        self.workspace = Workspace.open(str(self.folder))
        self.storage = open_storage(folder / "conversations")
        self.bus, self.files = Bus(), LocalFiles()
        self.inquiries = Inquiries(self.bus, self.clock, attended=False, responder=responder)
        source = DefinitionFiles(
            str(folder / "config"), str(self.folder), vouches=lambda _name, _data: True
        )
        self.lazy = LazyWorkflows(
            lambda: self.bench.store, lambda: source, lambda: True, self.clock, self.bus
        )
        self.workflows = self.lazy.workflows()
        self.budgets = Budgets()
        self.model = ScriptedModel(list(plays)) if plays else None
        set_topic = self.storage.memories.set_topic
        surroundings = Surroundings(
            lambda: self.engine, self._open, str, lambda _, __: "", set_topic
        )
        self.subagents = Subagents(self.storage.conversations, self.budgets, surroundings)
        self.folders = SessionFolders(self.files, self.workspace)
        self.sandbox = Sandbox()
        allowed = frozenset({site.origin}) if site else frozenset[str]()
        services: Any = SimpleNamespace(
            workflows=self.lazy,
            clock=self.clock,
            files=self.files,
            workspace=self.workspace,
            subagents=self.subagents,
            inquiries=self.inquiries,
            default_model="scripted" if plays else "",
            online=SimpleNamespace(web=GuardedWeb(allowed=allowed), api_tables=lambda: tables),
            results=self.storage.results,
            remembered=SimpleNamespace(notes=self.storage.notes),
            commands=ShellCommands(self.sandbox),
            documents=LocalDocuments(),
        )
        self.tools = build_iron_manus(cast("Services", services))
        registry = Registry([FileOperations(self.files, RipgrepSearch()).tool(), *self.tools])
        guard = Guard(self.workspace, Policy("ask", True, ()), Grants(self.clock), self.inquiries)
        self.executor = Executor(
            registry,
            CallSurroundings(
                guard,
                self.storage.results,
                self.storage.decisions,
                self.bus,
                self.clock,
                self.lazy.gate,
            ),
        )
        board = TodoBoard(self.storage.todos, self.bus, self.clock)
        injectors = Injectors([], self.storage.reminders)
        requests = RequestBuilder("system", registry.schemas_json, injectors, board)
        self.engine = TurnEngine(
            self.executor, requests, self.bus, self.clock, RetryPolicy(waits=()), self.budgets,
            Room(self.storage.archive, self.bus),
        )  # fmt: skip
        self._ids = itertools.count()

    def _open(self, name: str, options: Mapping[str, Any]) -> ScriptedModel:
        assert self.model is not None
        return self.model

    async def call(self, tool: str, conversation: str = "c", **arguments: Any) -> Executed:
        """One call of a conversation, behind its gate."""
        call = ToolCall(CallId(f"call_{next(self._ids)}"), tool, json.dumps(arguments))
        who = ConversationId(conversation)
        if self.storage.conversations.find(who) is None:
            self.storage.conversations.create(who, self.workspace.root)
        return await self.executor.execute(call, who)

    async def answer(self, tool: str, **arguments: Any) -> Play:
        """The JSON object that a tool answers with, whether it succeeded or not."""
        executed = await self.call(tool, **arguments)
        return json.loads(executed.finished.text)

    async def jarvis(self, conversation: str = "c", **arguments: Any) -> Play:
        """One call of JARVIS that must succeed: its answer."""
        executed = await self.call("JARVIS", conversation, **arguments)
        assert executed.finished.ok, executed.finished.text
        return json.loads(executed.finished.text)

    async def refused(self, conversation: str = "c", **arguments: Any) -> Play:
        """One call of JARVIS that must be refused: its error."""
        executed = await self.call("JARVIS", conversation, **arguments)
        assert not executed.finished.ok, executed.finished.text
        answer = json.loads(executed.finished.text)
        assert answer["status"] == "ERROR"
        return answer["error"]

    async def begin(self, session: str = "s", objective: str = "build it") -> Play:
        """Begin a session."""
        return await self.jarvis(session_id=session, initial_objective=objective)

    async def done(self, phase: str, payload: Play, session: str = "s") -> Play:
        """Hand in a phase."""
        return await self.jarvis(session_id=session, phase_completed=phase, payload=payload)

    async def plan(self, todos: Sequence[Any], session: str = "s") -> Play:
        """Lead a session through its first phases and plan these todos."""
        await self.begin(session)
        for phase, payload in PHASES:
            await self.done(phase, payload, session)
        payload = {"plan_created": True, "todos_with_metaprompts": list(todos)}
        return await self.done("PLAN", payload, session)

    async def execute(self, success: bool = True, session: str = "s", **more: Any) -> Play:
        """Hand in the todo of EXECUTE."""
        return await self.done("EXECUTE", {"execution_success": success, **more}, session)

    async def verify(self, passed: bool = True, session: str = "s") -> Play:
        """Hand in VERIFY."""
        return await self.done("VERIFY", {"verification_passed": passed}, session)

    def running(self, conversation: str = "c") -> Any:
        """A turn of the conversation that runs with the model: what subagents are given."""
        assert self.model is not None
        return self.budgets.running(ConversationId(conversation), Budget(50), self.model)

    def close(self) -> None:
        """Close everything."""
        self.lazy.close()
        self.storage.close()
        self.sandbox.close()
