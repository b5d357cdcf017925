"""The tools of the web, of documents and of images over real parts, called as the agent calls them."""

import itertools
import json
from pathlib import Path
from typing import Any

from sam_tools.document_operations import DocumentOperations
from sam_tools.image_generation import ImageGeneration
from sam_tools.web_operations import WebOperations
from sam_tui.adapters.documents import LocalDocuments
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.images import EndpointImages, ImageSettings
from sam_tui.adapters.storage import open_storage
from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.web.engines import DuckDuckGo
from sam_tui.adapters.web.serpapi import SerpApiClient
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import ToolProgressed
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.memory import MemoryHit
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.registry import Registry
from tests.fakes.web_server import WebServer


async def _resolve(host: str, port: int) -> list[str]:
    if host.endswith(".example"):
        return ["127.0.0.1"]
    raise OSError(host)


class Harness:
    """One conversation whose web is one loopback site; the site is its search engine as well.

    The site answers as ``h0.example`` to ``h19.example`` too.
    """

    def __init__(self, folder: Path, site: WebServer, *, image_model: str = "local") -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.conversation = ConversationId("c")
        self.bus, clock = Bus(), SystemClock()
        self.events = self.bus.subscribe()
        self.storage = open_storage(folder / "data")
        hosts = [f"h{number}.example" for number in range(20)]
        self.web = GuardedWeb(
            allowed=frozenset({site.origin, *(f"{host}:{site.port}" for host in hosts)}),
            resolver=_resolve,
        )
        documents, files = LocalDocuments(), LocalFiles()
        memories = self.storage.memories
        search = DuckDuckGo(self.web, site.url("/search"))
        serpapi = SerpApiClient(self.web, "s3cret", site.url("/serp"))
        images = EndpointImages(self.web, ImageSettings(site.url("/v1"), image_model, "k"))
        self.registry = Registry([
            WebOperations(self.web, search, documents, memories, serpapi=serpapi).tool(),
            DocumentOperations(documents, files, self.web, memories, self.storage.documents).tool(),
            ImageGeneration(images, files).tool(),
        ])
        workspace = Workspace.open(str(self.workspace))
        self.storage.conversations.create(self.conversation, workspace.root)
        guard = Guard(
            workspace,
            Policy("ask", True, ()),
            Grants(clock),
            Inquiries(self.bus, clock, attended=False),
        )
        self.executor = Executor(
            self.registry,
            CallSurroundings(guard, self.storage.results, self.storage.decisions, self.bus, clock),
        )
        self._ids = itertools.count()

    async def call(self, tool: str, **arguments: Any) -> Executed:
        """One call, under a fresh id."""
        call = ToolCall(CallId(f"call_{next(self._ids)}"), tool, json.dumps(arguments))
        return await self.executor.execute(call, self.conversation)

    async def done(self, tool: str, **arguments: Any) -> Executed:
        """One call that must succeed."""
        executed = await self.call(tool, **arguments)
        assert executed.finished.ok, executed.finished.text
        return executed

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        executed = await self.call(tool, **arguments)
        assert not executed.finished.ok, executed.finished.text
        return executed.finished.text

    def remembered(self, query: str) -> list[MemoryHit]:
        """What memory finds."""
        scope = self.storage.memories.scope_of(self.conversation)
        return list(self.storage.memories.search(scope, query, limit=20, threshold=0.0))

    @property
    def progress(self) -> str:
        """What the tools said while they ran."""
        return "".join(e.text for e in self.events.drain() if isinstance(e, ToolProgressed))
