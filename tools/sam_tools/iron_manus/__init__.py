"""Iron Manus (seeds 000 and 001): JARVIS and its companions, for the profile ``iron-manus``."""

from sam_tools.iron_manus.computation import PythonTool
from sam_tools.iron_manus.phases.delegation import DelegationContext
from sam_tools.iron_manus.phases.folder import SessionFolders
from sam_tools.iron_manus.phases.graph import StateGraphs
from sam_tools.iron_manus.phases.health import Health
from sam_tools.iron_manus.phases.jarvis import JarvisTool
from sam_tools.iron_manus.phases.machine import PhaseMachine
from sam_tools.iron_manus.phases.state_tools import StateTools
from sam_tools.iron_manus.sources.apis import ApiTools, ApiTrials
from sam_tools.iron_manus.sources.fetch import Fetcher, ResponseStore
from sam_tools.iron_manus.sources.registry import ApiList
from sam_tools.iron_manus.sources.research import ResearchTools
from sam_tools.iron_manus.sources.synthesis import SynthesisWriter
from sam_tui.core.ids import ConversationId
from sam_tui.core.services import Services
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.executor import Gate


def build_iron_manus(services: Services) -> tuple[Tool, ...]:
    """JARVIS and its companions, in the order of the seeds."""
    lazy, clock = services.workflows, services.clock
    workflows = lazy.workflows()
    folders = SessionFolders(services.files, services.workspace)

    def gate(child: ConversationId, scope: tuple[str, str]) -> Gate:
        return lazy.recorder().gate(child, scope)

    context = DelegationContext(services.subagents, gate, lazy.flush, services.default_model)
    machine = PhaseMachine(
        workflows, folders, services.files, context, inquiries=services.inquiries, clock=clock
    )
    fetcher = Fetcher(services.online.web, clock)
    responses, tried = (
        ResponseStore(services.results, workflows),
        ApiTrials(services.remembered.notes, clock),
    )
    apis = ApiList(services.online.api_tables)
    writer = SynthesisWriter(services.subagents, services.default_model)
    search, validate, fetch = ApiTools(apis, fetcher, responses, tried).tools()
    synthesize, research = ResearchTools(
        apis, fetcher, responses, tried=tried, writer=writer
    ).tools()
    python = PythonTool(services.commands, folders, services.online.web, services.documents).tool()
    tools: list[Tool] = []
    health = Health(workflows, folders, lambda: tools, clock=clock)
    state, check = StateTools(
        StateGraphs(workflows, machine.sessions), machine.sessions, health
    ).tools()
    tools += [JarvisTool(machine).tool(), search, validate, fetch, synthesize, research, python]
    tools += [state, check]
    return tuple(tools)


__all__ = ["build_iron_manus"]
