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
from sam_tui.mcp_server.conversations import SamPrompts, SamResources
from sam_tui.mcp_server.library import Library, Prompts, Resources
from sam_tui.mcp_server.protocol import PAGE, ProtocolOffer, SamServer
from sam_tui.mcp_server.subscriptions import Subscriptions
from sam_tui.mcp_server.toolbox import GuardedToolbox, Toolbox, offered_names

Profile = Literal["sam", "iron-manus", "midex", "all"]

_SAM: Final = (
    "Tools of sam-tui over the workspace {root}. Prefer them to your own for files, search, commands,"
    " the web and todos there: paths are relative to it, and what needs an approval asks the person."
    " A result that was cut names an id for read_tool_result."
)
_MIDEX: Final = (
    "Workflows: read midex://workflow/available_workflows, begin one with workflow.start, do each step"
    " as its persona says, and hand in its output with workflow.next_step and its token, until"
    " workflow_state is completed. midex://workflow/current_step/{execId} has a fresh token at any time."
)
_IRON: Final = (
    "Iron Manus: call JARVIS with initial_objective, do the phase it names with the tools it allows,"
    " and hand it in with phase_completed and payload, until status is DONE."
)


@dataclass(frozen=True, slots=True)
class Service:
    """The service that the server offers."""

    profile: Profile = "sam"
    conversation: ConversationId | None = None
    """The conversation of the first client; None for a new one."""
    page: int = PAGE
    companions: tuple[str, ...] = ()
    """Tools of the runtime that belong to the profile iron-manus and are served only to its clients."""


@asynccontextmanager
async def opened(runtime: Runtime, calls: Calls, service: Service) -> AsyncGenerator[SamServer]:
    """A server over a runtime; calls and watches end with the block."""
    calls.connect(runtime.bus, runtime.inquiries)
    offer = _offer(runtime, service)
    subscriptions = Subscriptions(offer.library, runtime.bus)
    loop = asyncio.get_running_loop()
    watches = [loop.create_task(subscriptions.run(), name="mcp-subscriptions")]
    if service.profile != "sam":
        from sam_tui.mcp_server.subscriptions import StoreWatch

        watch = StoreWatch(runtime.workflows.workflows, runtime.bus)
        watches.append(loop.create_task(watch.run(subscriptions), name="mcp-store-watch"))
    try:
        yield SamServer(offer, calls, Clients(service.conversation), subscriptions)
    finally:
        for task in watches:
            task.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await calls.close()


def _offer(runtime: Runtime, service: Service) -> ProtocolOffer:
    boxes: list[Toolbox] = []
    sources: list[Resources] = []
    prompts: list[Prompts] = []
    words: list[str] = []
    offered = offered_names(runtime)
    match service.profile:
        case "sam":
            offered = [name for name in offered if name not in service.companions]
        case "iron-manus":
            offered = [name for name in offered if name in service.companions]
        case "midex":
            offered = []
        case "all":
            pass
    if offered:
        boxes.append(GuardedToolbox(runtime, offered))
    if service.profile in ("iron-manus", "all"):
        words.append(_IRON)
    if service.profile in ("sam", "all"):
        sources.append(SamResources(runtime))
        prompts.append(SamPrompts(runtime.prompts))
        words.append(_SAM.format(root=runtime.workspace.root))
    if service.profile in ("midex", "all"):
        from sam_tui.mcp_server.midex.claims import Claims
        from sam_tui.mcp_server.midex.resources import MidexResources
        from sam_tui.mcp_server.midex.tools import MidexToolbox

        claims = Claims(runtime.workflows)
        # First, because a name such as workflow.start is also an operation of our tool workflow.
        boxes.insert(0, MidexToolbox(runtime, claims, offered))
        shield = runtime.executor.shield
        sources.append(MidexResources(runtime.workflows.workflows, claims, shield))
        words.append(_MIDEX)
    library = Library(tuple(sources), tuple(prompts))
    return ProtocolOffer(tuple(boxes), library, "\n\n".join(words), service.page)
