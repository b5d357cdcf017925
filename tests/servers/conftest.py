"""A runtime over an empty workspace, files that name servers, and a person who answers."""

import json
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.servers import ServerReport
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.executor import Executed

if TYPE_CHECKING:
    from tests.servers.login_house import LoginHouse
    from tests.servers.login_server import LoginSite

SECONDS = 50.0
RAW = Path(__file__).with_name("raw_server.py")
Server = Mapping[str, Any]


def raw(behaviour: str = "plain", **more: Any) -> dict[str, Any]:
    """How a file names the raw server."""
    return {"command": sys.executable, "args": ["-I", "-S", str(RAW), behaviour], **more}


@dataclass
class Person:
    """Answers approvals with ``choice`` and questions with ``replies``, and keeps what was asked."""

    choice: Approval = field(default_factory=lambda: Approval("once"))
    replies: list[str] = field(default_factory=list[str])
    asked: list[Inquiry] = field(default_factory=list[Inquiry])

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        """Answer at once."""
        self.asked.append(inquiry)
        if isinstance(inquiry.request, ApprovalRequest):
            return self.choice
        return Reply(self.replies.pop(0)) if self.replies else None

    @property
    def approvals(self) -> list[ApprovalRequest]:
        """The approvals that were asked for, in order."""
        return [i.request for i in self.asked if isinstance(i.request, ApprovalRequest)]


@dataclass
class Open:
    """An open runtime with a conversation in it."""

    runtime: Runtime
    conversation: ConversationId

    async def arrive(self) -> list[str]:
        """What happens before a message is answered; the names of servers' tools that are offered."""
        self.runtime.servers.begin()
        assert await self.runtime.servers.settled(SECONDS)
        await self.runtime.servers.arrive(self.conversation)
        return [name for name in self.runtime.registry.names if name.startswith("mcp__")]

    async def call(self, name: str, /, **arguments: Any) -> Executed:
        """One call on the path that every call takes."""
        call = ToolCall(CallId("call"), name, json.dumps(arguments))
        return await self.runtime.executor.execute(call, self.conversation)

    async def text(self, name: str, /, **arguments: Any) -> str:
        """What the model would read."""
        return (await self.call(name, **arguments)).finished.text

    @property
    def reports(self) -> dict[str, ServerReport]:
        """How the servers stand, by name."""
        return {report.name: report for report in self.runtime.servers.reports()}

    def schema(self, name: str) -> dict[str, Any]:
        """What the model is told of a tool."""
        told = [s["function"] for s in self.runtime.registry.schemas]
        return next(function for function in told if function["name"] == name)


@dataclass
class House:
    """A workspace, settings, and runtimes over them."""

    folder: Path
    person: Person = field(default_factory=Person)

    @property
    def workspace(self) -> Path:
        """Where the agent works."""
        return self.folder / "ws"

    @property
    def settings(self) -> Path:
        """The folder of settings."""
        return self.folder / "cfg"

    def user(self, **servers: Server) -> Path:
        """The person's own file."""
        return _written(self.settings / "mcp.json", {"mcpServers": servers})

    def project(self, **servers: Server) -> Path:
        """The project's file."""
        return _written(self.workspace / ".mcp.json", {"mcpServers": servers})

    def policy(self, text: str) -> None:
        """The person's policy."""
        (self.settings / "policy.toml").write_text(text, encoding="utf-8")

    @asynccontextmanager
    async def open(
        self, *, environ: Mapping[str, str] | None = None, **options: Any
    ) -> AsyncGenerator[Open]:
        """A runtime, closed in the end."""
        settings = {
            "HOME": str(self.folder),
            "SAM_TUI_CONFIG_DIR": str(self.settings),
            **(environ or {}),
        }
        wanted: dict[str, Any] = {"responder": self.person, **options}
        runtime = build(Options(str(self.workspace), str(self.folder / "data"), **wanted), settings)
        try:
            yield Open(runtime, runtime.open_session().conversation)
        finally:
            await runtime.close()


def _written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Nothing but the folders."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "cfg").mkdir(mode=0o700)
    return House(tmp_path)


@pytest.fixture
def site() -> "Generator[LoginSite]":
    """A server that requires a login."""
    from tests.servers.login_server import login_site

    with login_site() as made:
        yield made


@pytest.fixture
def login_house(house: House, site: "LoginSite") -> "LoginHouse":
    """A house whose file names that server."""
    from tests.servers.login_house import LoginHouse

    login_house = LoginHouse(house.folder, site=site)
    login_house.name_server()
    return login_house


@pytest.fixture
async def logged_in(login_house: "LoginHouse") -> "LoginHouse":
    """A house whose person has logged in at the server."""
    await login_house.log_in()
    return login_house
