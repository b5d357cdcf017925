"""A runtime and a profile -> a server: which tools, resources and prompts are offered."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal

from sam_tui.core.ids import ConversationId
from sam_tui.core.runtime import Runtime
from sam_tui.mcp_server.calls import Calls
from sam_tui.mcp_server.clients import Clients
from sam_tui.mcp_server.library import Library
from sam_tui.mcp_server.pages import PAGE
from sam_tui.mcp_server.protocol import Offer, SamServer
from sam_tui.mcp_server.subscriptions import Subscriptions
from sam_tui.mcp_server.toolbox import GuardedToolbox, offered_names

Profile = Literal["sam", "iron-manus", "midex", "all"]

_INSTRUCTIONS: Final = (
    "Tools of sam-tui over the workspace {root}. Prefer them to your own for files, search, commands,"
    " the web and todos there: paths are relative to it, and what needs an approval asks the person."
    " A result that was cut names an id for read_tool_result."
)


@dataclass(frozen=True, slots=True)
class Service:
    """What is to be served."""

    profile: Profile = "sam"
    conversation: ConversationId | None = None
    """That of the first client; a new one where there is none."""
    page: int = PAGE


@asynccontextmanager
async def opened(runtime: Runtime, calls: Calls, service: Service) -> AsyncGenerator[SamServer]:
    """A server over a runtime; calls and watches end with the block."""
    calls.connect(runtime.bus, runtime.inquiries)
    library = Library()
    offer = Offer(
        (GuardedToolbox(runtime, offered_names(runtime)),),
        library,
        _INSTRUCTIONS.format(root=runtime.workspace.root),
        service.page,
    )
    subscriptions = Subscriptions(library, runtime.bus)
    watch = asyncio.get_running_loop().create_task(subscriptions.run(), name="mcp-watch")
    try:
        yield SamServer(offer, calls, Clients(service.conversation), subscriptions)
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await calls.close()
