"""A whole runtime over a workspace, with hooks of the person's and of the folder's."""

import json
import os
import select
import shlex
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy import FileTrust
from sam_tui.assembly import Options, build
from sam_tui.core.events import DecisionMade, Event, Noticed, Reminded, ToolFinished, TurnFinished
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.inquiries import Responder
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.executor import Executed
from sam_tui.core.verdict import Decision
from tests.fakes.interpreter import BARE_PYTHON

Step = dict[str, Any]
EVENT = "PreToolUse"
DEADLINE = 90.0


@dataclass
class Place:
    """A workspace, a settings folder, and the runtime that is built over them."""

    folder: Path
    runtimes: list[Runtime] = field(default_factory=list[Runtime])

    def __post_init__(self) -> None:
        self.workspace, self.config = self.folder / "ws", self.folder / "cfg"
        (self.workspace / ".sam").mkdir(parents=True)
        self.config.mkdir()
        self.user_file = self.config / "hooks.json"
        self.project_file = self.workspace / ".sam/hooks.json"

    def user(self, *commands: str, event: str = EVENT, **more: Any) -> None:
        """Hooks of the person's."""
        write(self.user_file, event, commands, **more)

    def project(self, *commands: str, event: str = EVENT, trust: bool = True, **more: Any) -> None:
        """Hooks of the folder's."""
        write(self.project_file, event, commands, **more)
        if trust:
            self.trust()

    def trust(self) -> None:
        """Trust the folder as it is."""
        FileTrust(str(self.config)).trust(str(self.workspace))

    def script(self, *steps: Step) -> str:
        """The name of a model that plays these steps."""
        path = self.folder / "script.json"
        path.write_text(json.dumps(steps), encoding="utf-8")
        return f"scripted:{path}"

    def build(self, *steps: Step, responder: Responder | None = None, **options: Any) -> Runtime:
        """The runtime, with a model that plays these steps."""
        chosen = Options(
            str(self.workspace),
            str(self.folder / "data"),
            model=self.script(*steps) if steps else "",
            responder=responder,
            **options,
        )
        environ = {"HOME": str(self.folder), "SAM_TUI_CONFIG_DIR": str(self.config)}
        self.runtimes.append(build(chosen, environ))
        return self.runtimes[-1]

    def told(self, name: str) -> dict[str, Any]:
        """What a hook that keeps its input was told."""
        return json.loads((self.workspace / name).read_text(encoding="utf-8"))


def write(path: Path, event: str, commands: Sequence[str], **more: Any) -> None:
    """Add a group of commands for an event to a file."""
    data: dict[str, Any] = {"hooks": {}}
    if path.exists():
        data = json.loads(path.read_text(encoding="utf-8"))
    entries = [
        {"type": "command", "command": c, **{k: v for k, v in more.items() if k != "matcher"}}
        for c in commands
    ]
    group: dict[str, Any] = {"hooks": entries}
    if "matcher" in more:
        group["matcher"] = more["matcher"]
    data["hooks"].setdefault(event, []).append(group)
    path.write_text(json.dumps(data), encoding="utf-8")


def python(code: str) -> str:
    """A shell command that runs Python."""
    return f"{BARE_PYTHON} -c {shlex.quote(code)}"


def says(**data: Any) -> str:
    """A hook that prints a JSON object."""
    return f"echo {shlex.quote(json.dumps(data))}"


def decides(word: str, reason: str = "") -> str:
    """A hook that decides on a call."""
    own = {
        "hookEventName": EVENT,
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    }
    return says(hookSpecificOutput=own)


def keeps(name: str) -> str:
    """A hook that writes what it is told into a file of the workspace."""
    return f"cat > {name}"


def call(tool: str, operation: str, **arguments: Any) -> Step:
    """A tool call of a step."""
    return {"name": tool, "arguments": {"operation": operation, **arguments}}


def shell(command: str) -> Step:
    """A step that runs a command."""
    return {"calls": [call("terminal_operations", "run_command", command=command)]}


@dataclass
class Ran:
    """How a turn or a call ended, and what was told meanwhile."""

    events: list[Event]
    finished: TurnFinished | None = None
    executed: Executed | None = None
    messages: list[Any] = field(default_factory=list[Any])

    @property
    def decisions(self) -> list[Decision]:
        """Every decision, in order."""
        return [e.decision for e in self.events if isinstance(e, DecisionMade)]

    @property
    def warnings(self) -> list[str]:
        """What the person was warned of."""
        return [e.text for e in self.events if isinstance(e, Noticed)]

    @property
    def notes(self) -> list[str]:
        """What hooks told the model."""
        return [e.text for e in self.events if isinstance(e, Reminded) and e.name == "hooks"]

    @property
    def results(self) -> list[ToolFinished]:
        """How calls ended."""
        return [e for e in self.events if isinstance(e, ToolFinished)]


async def turn(runtime: Runtime, text: str = "go") -> Ran:
    """Run one turn of a new conversation."""
    heard = runtime.bus.subscribe()
    session = runtime.open_session()
    finished = await session.run(text)
    return Ran(heard.drain(), finished, messages=list(session.messages))


async def one_call(runtime: Runtime, called: str, /, **arguments: Any) -> Ran:
    """Make one call without a model."""
    heard = runtime.bus.subscribe()
    made = ToolCall(CallId(mint("call")), called, json.dumps(arguments))
    executed = await runtime.executor.execute(made, ConversationId("c1"))
    return Ran(heard.drain(), executed=executed)


async def touch(runtime: Runtime) -> Ran:
    """The call that most tests make: a command that leaves a file."""
    return await one_call(runtime, "terminal_operations.run_command", command="echo ran > made")


def gone(file: Path) -> bool:
    """Whether the process whose id stands in a file ends, be it reaped or not."""
    try:
        process = os.pidfd_open(int(file.read_text(encoding="utf-8")))
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], DEADLINE)[0])
    finally:
        os.close(process)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where everything of a test lies."""
    return tmp_path.resolve()


@pytest.fixture
async def place(folder: Path) -> AsyncIterator[Place]:
    """A place; its runtimes are closed at the end."""
    made = Place(folder)
    yield made
    for runtime in made.runtimes:
        await runtime.close()
