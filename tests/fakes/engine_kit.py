"""An engine over real storage and a real folder, with a few small tools to call."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import Field

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.core.accesses import Write
from sam_tui.core.agent.budget import Budgets, Limits
from sam_tui.core.agent.context_window import Room
from sam_tui.core.agent.history import History
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.session import Session
from sam_tui.core.agent.turn import TurnEngine
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus, Subscription
from sam_tui.core.clock import SystemClock
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries, Responder
from sam_tui.core.messages import Image, Message
from sam_tui.core.ports.model import CallDelta, Delta, ModelRequest
from sam_tui.core.prompt.reminders import Injectors, TurnView
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.tooling.arguments import Arguments, NoArguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.executor import CallSurroundings, Executor
from sam_tui.core.tooling.registry import Registry


class Note(Arguments):
    """Something to write down."""

    filePath: str = Field(description="where")
    text: str = ""
    times: int = Field(default=1, ge=1)
    marks: list[int] | None = None


class Say(Arguments):
    """Something to say back."""

    text: str


@dataclass
class Journal:
    """What the tools did, in order, and gates to hold them at."""

    lines: list[str] = field(default_factory=list[str])
    gates: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    images: tuple[Image, ...] = ()
    _written: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, line: str) -> None:
        """Add a line and wake who waits for it."""
        self.lines.append(line)
        self._written.set()

    async def until(self, line: str) -> None:
        """Wait until the line was written."""
        while line not in self.lines:
            self._written.clear()
            await self._written.wait()

    async def say(self, arguments: Say, _: ToolContext) -> ToolResult:
        """Say it back, after its gate opened where it has one."""
        self.write(f"begin {arguments.text}")
        if arguments.text in self.gates:
            await self.gates[arguments.text].wait()
        if arguments.text == "crash":
            raise RuntimeError("boom")
        if arguments.text == "refuse":
            raise ToolError("cannot", hint="say something else")
        self.write(f"end {arguments.text}")
        return ToolResult(arguments.text, images=self.images)

    async def note(self, arguments: Note, context: ToolContext) -> ToolResult:
        """Answer where the note would go."""
        where = context.location("filePath")
        return ToolResult(
            f"{where.display_path} {arguments.text} {arguments.times} {arguments.marks}"
        )

    async def ping(self, _: NoArguments, context: ToolContext) -> ToolResult:
        """Answer who asked."""
        context.emit("pinging")
        return ToolResult(context.conversation)


def example_tools(journal: Journal) -> list[Tool]:
    """A consolidated tool of three schedules, a single one, and one to disable."""

    def say(name: str, schedule: Schedule) -> Operation[Say]:
        return Operation(
            name,
            "say it",
            Say,
            journal.say,
            lambda a: f"Saying: {a.text}",
            schedule=schedule,
            anywhere=name == "murmur",
        )

    note = Operation(
        "note",
        "write it down",
        Note,
        journal.note,
        lambda a: f"Noting: {a.filePath}",
        accesses=lambda a: (Write(a.filePath, "filePath"),),
    )
    ping = Operation("ping", "answer", NoArguments, journal.ping, lambda _: "Pinging")
    speech = (
        say("murmur", Schedule.PARALLEL),
        say("speak", Schedule.SERIAL),
        say("shout", Schedule.BLOCKING),
        note,
    )
    return [
        Tool("voice", "Says things.", speech, local=True),
        Tool("ping", "Answers.", (ping,), consolidated=False),
        Tool("off", "Is disabled.", (ping,), consolidated=False),
    ]


@dataclass
class Kit:
    """Everything an engine test needs."""

    storage: Storage
    bus: Bus
    events: Subscription
    inquiries: Inquiries
    guard: Guard
    registry: Registry
    executor: Executor
    board: TodoBoard
    journal: Journal
    conversation: ConversationId


Piece = Delta | Exception | asyncio.Event
"""What a ``RawModel`` plays: an exception is raised, an event waited for."""


class RawModel:
    """A model that plays answers piece by piece, faults included; it keeps what it was sent."""

    name = "raw"
    host = ""
    context_tokens: int | None = None

    def __init__(self, *answers: Sequence[Piece]) -> None:
        self.answers: list[Sequence[Piece]] = list(answers)
        self.seen: list[list[Message]] = []
        self.systems: list[str] = []
        self.tools: list[str] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The next answer: an exception is raised, an event waited for."""
        self.seen.append(list(request.messages))
        self.systems.append(request.system)
        self.tools.append(request.tools_json)
        for piece in self.answers.pop(0):
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, asyncio.Event):
                await piece.wait()
                continue
            yield piece

    async def close(self) -> None:
        """Nothing to release."""


class AskableModel(RawModel):
    """A model that is asked for notes, too; its notes are played from ``noted``."""

    host = "example.org"

    def __init__(self, *answers: Sequence[Piece], noted: Sequence[Piece] = ()) -> None:
        super().__init__(*answers)
        self.noted = noted
        self.quoted: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The notes, or the next answer."""
        prompt = request.messages[-1]
        if request.tools_json != "[]" or not prompt.text.endswith("Write the notes."):
            async for piece in super().stream(request):
                yield piece
            return
        self.quoted.append(request)
        for piece in self.noted:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, asyncio.Event):
                await piece.wait()
            else:
                yield piece


def calls(*pairs: tuple[str, object], ids: Sequence[str] = ()) -> list[Piece]:
    """An answer that calls: (name, arguments) each, ids c0, c1, ... unless given."""
    return [
        CallDelta(
            index,
            ids[index] if ids else f"c{index}",
            name,
            arguments if isinstance(arguments, str) else json.dumps(arguments),
        )
        for index, (name, arguments) in enumerate(pairs)
    ]


class Hand(SystemClock):
    """A clock whose waits end at once and are kept."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Remember the wait."""
        self.waits.append(seconds)


class Echo:
    """A reminder that says what it is told to."""

    name = "echo"

    def __init__(self) -> None:
        self.says: Callable[[TurnView], str | None] = lambda _: None

    def content(self, view: TurnView) -> str | None:
        """What ``says`` makes of the view."""
        return self.says(view)


@dataclass
class Talk:
    """A session over a kit, its model, and what can be set from outside."""

    kit: Kit
    model: RawModel
    clock: Hand
    reminder: Echo
    session: Session


def open_engine(
    kit: Kit,
    reminders: Sequence[Echo] = (),
    clock: Hand | None = None,
) -> TurnEngine:
    """An engine over a kit's tools; its waits end at once."""
    injectors = Injectors(reminders, kit.storage.reminders)
    requests = RequestBuilder("system", kit.registry.schemas_json, injectors, kit.board)
    retry = RetryPolicy(waits=(0.5, 1.0))
    room = Room(kit.storage.archive, kit.bus)
    return TurnEngine(kit.executor, requests, kit.bus, clock or Hand(), retry, Budgets(), room)


def open_talk(
    kit: Kit,
    model: RawModel,
    *,
    max_steps: int = 50,
    limits: Limits | None = None,
    workflow_mode: bool = False,
) -> Talk:
    """A session in the kit's conversation."""
    clock, reminder = Hand(), Echo()
    engine = open_engine(kit, [reminder], clock)
    engine = replace(engine, workflow_mode=workflow_mode)
    history = History(kit.storage.conversations, kit.conversation)
    history.restore(kit.executor.plan)
    return Talk(
        kit,
        model,
        clock,
        reminder,
        Session(engine, history, model, limits=limits or Limits(max_steps)),
    )


def open_kit(
    folder: Path,
    responder: Responder | None = None,
    clock: SystemClock | None = None,
    *,
    attended: bool = False,
) -> Kit:
    """A kit over a workspace, fresh or used before; ``responder`` or nobody answers questions, or with
    ``attended`` somebody who is there and says nothing yet."""
    (folder / "ws").mkdir(parents=True, exist_ok=True)
    storage = open_storage(folder / "data")
    bus, clock, journal = Bus(), clock or SystemClock(), Journal()
    inquiries = Inquiries(bus, clock, attended=attended, responder=responder)
    workspace = Workspace.open(str(folder / "ws"))
    guard = Guard(workspace, Policy("ask", True, ()), Grants(clock), inquiries)
    registry = Registry(example_tools(journal), disabled=["off"])
    executor = Executor(
        registry, CallSurroundings(guard, storage.results, storage.decisions, bus, clock)
    )
    conversation = ConversationId("c")
    if storage.conversations.find(conversation) is None:
        storage.conversations.create(conversation, workspace.root)
    return Kit(
        storage,
        bus,
        bus.subscribe(),
        inquiries,
        guard,
        registry,
        executor,
        TodoBoard(storage.todos, bus, clock),
        journal,
        conversation,
    )
