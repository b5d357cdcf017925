"""A whole runtime over a workspace beside an outside folder, and the person who answers it."""

import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.assembly import Options, build
from sam_tui.core.events import DecisionMade
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.executor import Executed
from sam_tui.core.verdict import Decision
from tests.fakes.programs import silence_package_tools

ME = ConversationId("me")
YES = Approval("once")


@dataclass
class Harness:
    """A runtime, what its person was asked, and what was decided. Unanswered, everything is a no."""

    folder: Path
    answers: list[Answer] = field(default_factory=list[Answer])
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])
    always: Answer | None = None
    meanwhile: Callable[[], object] = lambda: None
    """What happens between a question and its answer."""
    _made: int = 0

    def open(self, **options: Any) -> None:
        """Build the runtime."""
        given = Options(
            str(self.folder / "ws"), str(self.folder / "data"), responder=self._respond, **options
        )
        places = {
            "HOME": str(self.folder / "home"),
            "SAM_TUI_CONFIG_DIR": str(self.folder / "settings"),
        }
        self.runtime: Runtime = build(given, places)
        self.events = self.runtime.bus.subscribe()

    def write_policy(self, text: str, *, project: bool = False) -> None:
        """Write the person's policy file, or the project's, which the person then trusts."""
        folder = self.folder / ("ws/.sam" if project else "settings")
        folder.mkdir(exist_ok=True)
        (folder / "policy.toml").write_text(text)
        if project:
            settings = self.folder / "settings"
            settings.mkdir(exist_ok=True)
            FileTrust(str(settings)).trust(str(self.folder / "ws"))

    @property
    def outside(self) -> Path:
        """The folder beside the workspace."""
        return self.folder / "out"

    def decisions(self) -> list[Decision]:
        """What was decided since it was last looked at, oldest first."""
        return [e.decision for e in self.events.drain() if isinstance(e, DecisionMade)]

    async def call(self, name: str, /, **arguments: Any) -> Executed:
        """One call of the agent."""
        self._made += 1
        call = ToolCall(CallId(f"call{self._made}"), name, json.dumps(arguments))
        return await self.runtime.executor.execute(call, ME)

    async def run(self, command: str, **more: Any) -> Executed:
        """One shell command of the agent."""
        return await self.call("terminal_operations.run_command", command=command, **more)

    def _respond(self, inquiry: Inquiry) -> Answer | None:
        assert isinstance(inquiry.request, ApprovalRequest)
        self.asked.append(inquiry.request)
        self.meanwhile()
        return self.answers.pop(0) if self.answers else self.always


@pytest.fixture
def folder() -> Iterator[Path]:
    """A workspace, an outside folder, data and home below a path short enough for sockets."""
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix="o")))
    for name in ("ws", "out", "data", "home"):
        (made / name).mkdir()
    (made / "out/victim").write_text("precious\n")
    yield made
    shutil.rmtree(made)


@pytest.fixture
def no_package_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that name no package source."""
    silence_package_tools(folder / "bin", monkeypatch)


@pytest.fixture
async def harness(folder: Path) -> AsyncIterator[Harness]:
    """A harness that is not open yet."""
    made = Harness(folder)
    yield made
    await made.runtime.close()
