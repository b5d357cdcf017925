"""An app over a real runtime: real storage, real terminals, a real engine, a model that plays answers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sam_tui.adapters.llm.catalog import Catalog
from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.terminal.commands import ShellCommands
from sam_tui.adapters.terminal.confinement import Sandbox
from sam_tui.adapters.terminal.sessions import PtyTerminals
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.turn import Engine
from sam_tui.core.authorization.containment import Workspace
from sam_tui.core.authorization.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.policy import Policy
from sam_tui.core.board import TodoBoard
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.execute import Executor
from sam_tui.core.tooling.registry import Registry
from sam_tui.ui.app import SamApp
from sam_tui.ui.guard import Patience
from textual.pilot import Pilot
from tests.fakes.engine_kit import Journal, RawModel, example_tools

DEADLINE = 15.0


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return self.time


class Workbench(SamApp):
    """The app with a person who waits for nothing: questions show at once and hear at once."""

    PATIENCE = Patience(hush=0.0, grace=0.0)


class StillWorkbench(SamApp):
    """The app under a clock of ours."""

    WATCH = Watch()
    PATIENCE = Patience(hush=0.0, grace=0.4, clock=WATCH)


@dataclass
class Stage:
    """A runtime, its model and the tools' journal; and the app once it runs."""

    storage: Storage
    runtime: Runtime
    model: RawModel
    journal: Journal
    workspace: Path

    async def start(self, progress: Callable[[str], None]) -> Runtime:
        """What the app is given to start."""
        progress("loading")
        return self.runtime


def build_stage(folder: Path, model: RawModel | None) -> Stage:
    """A runtime over a fresh workspace; somebody is there to answer."""
    workspace = folder / "ws"
    workspace.mkdir(parents=True)
    storage = open_storage(folder / "data")
    bus, clock, journal = Bus(), SystemClock(), Journal()
    inquiries = Inquiries(bus, clock, attended=True)
    place = Workspace.open(str(workspace))
    guard = Guard(place, Policy("ask", True, ()), Grants(clock), inquiries)
    registry = Registry(example_tools(journal), disabled=["off"])
    executor = Executor(registry, guard, storage.results, storage.decisions, bus, clock)
    board = TodoBoard(storage.todos, bus, clock)
    sandbox = Sandbox()
    requests = RequestBuilder("system", registry.schemas_json, [], board)
    runtime = Runtime(
        bus=bus,
        inquiries=inquiries,
        workspace=place,
        model=model,
        catalog=Catalog({}, servers=()),
        terminals=PtyTerminals(sandbox),
        commands=ShellCommands(sandbox),
        conversations=storage.conversations,
        todos=board,
        registry=registry,
        guard=guard,
        executor=executor,
        engine=Engine(executor, requests, bus, clock, RetryPolicy(attempts=2)),
    )
    return Stage(storage, runtime, model or RawModel(), journal, workspace)


@pytest.fixture
def model() -> RawModel:
    """The model of the stage; tests give it answers before they send."""
    return RawModel()


@pytest.fixture
def stage(tmp_path: Path, model: RawModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A runtime with a model. The shell is a quiet bash."""
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("PS1", "$ ")
    stage = build_stage(tmp_path, model)
    yield stage
    stage.storage.close()


class Driver:
    """Presses keys, and waits for what should come of them."""

    def __init__(self, app: SamApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until it holds; the test fails when it does not within the deadline."""
        async with asyncio.timeout(DEADLINE):
            while not holds():
                await self.pilot.pause()

    async def ready(self) -> None:
        """Wait for the runtime."""
        await self.until(
            lambda: self.app.runtime and self.app.chat.status.activity.phase == "ready"
        )

    async def type(self, text: str) -> None:
        """Put text into the prompt, as a paste would."""
        self.app.chat.prompt.area.insert(text)
        await self.pilot.pause()

    async def send(self, text: str) -> None:
        """Type and press Enter."""
        await self.type(text)
        await self.pilot.press("enter")

    def transcript(self) -> str:
        """All that was said, as text."""
        return self.app.chat.transcript.source_text()


@asynccontextmanager
async def driven(app: SamApp, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[Driver]:
    """Run the app without a terminal until the block ends."""
    async with app.run_test(size=size) as pilot:
        yield Driver(app, pilot)


def app_over(
    stage: Stage,
    kind: type[SamApp] = Workbench,
    *,
    prompt: str = "",
    conversation: str | None = None,
) -> SamApp:
    """An app over the stage's runtime."""
    return kind(
        stage.start,
        workspace=str(stage.workspace),
        version="0.1.0",
        prompt=prompt,
        conversation=conversation,
    )
