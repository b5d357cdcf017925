"""All tools of the profile, made together: they share sessions, folders and the way to the web."""

from sam_tools.iron_manus.apis import ApiTools, Tried
from sam_tools.iron_manus.fetching import Fetcher, Keeper
from sam_tools.iron_manus.jarvis import JarvisTool
from sam_tools.iron_manus.python import PythonTool
from sam_tools.iron_manus.research import ResearchTools
from sam_tools.iron_manus.state import StateTools
from sam_tui.core.ids import ConversationId
from sam_tui.core.ironmanus.delegation import DelegationCrew
from sam_tui.core.ironmanus.folder import SessionFolders
from sam_tui.core.ironmanus.graph import StateGraphs
from sam_tui.core.ironmanus.health import Health
from sam_tui.core.ironmanus.machine import PhaseMachine
from sam_tui.core.ironmanus.writing import SynthesisWriter
from sam_tui.core.services import Services
from sam_tui.core.tooling.contract import Tool
from sam_tui.core.tooling.executor import Gate


def build_iron_manus(services: Services) -> tuple[Tool, ...]:
    """JARVIS and its companions, in the order of the seeds."""
    entrance, clock = services.workflows, services.clock
    workflows = entrance.workflows()
    folders = SessionFolders(services.files, services.workspace)

    def gate(child: ConversationId, scope: tuple[str, str]) -> Gate:
        return entrance.witness().gate(child, scope)

    crew = DelegationCrew(services.subagents, gate, entrance.flush, services.default_model)
    machine = PhaseMachine(
        workflows, folders, services.files, crew, inquiries=services.inquiries, clock=clock
    )
    fetcher = Fetcher(services.online.web, clock)
    keeper, tried = Keeper(services.results, workflows), Tried(services.remembered.notes, clock)
    writer = SynthesisWriter(services.subagents, services.default_model)
    search, validate, fetch = ApiTools(fetcher, keeper, tried).tools()
    synthesize, research = ResearchTools(fetcher, keeper, tried, writer).tools()
    python = PythonTool(services.commands, folders, services.online.web, services.documents).tool()
    tools: list[Tool] = []
    health = Health(workflows, folders, lambda: tools, clock=clock)
    state, check = StateTools(
        StateGraphs(workflows, machine.sessions), machine.sessions, health
    ).tools()
    tools += [JarvisTool(machine).tool(), search, validate, fetch, synthesize, research, python]
    tools += [state, check]
    return tuple(tools)
