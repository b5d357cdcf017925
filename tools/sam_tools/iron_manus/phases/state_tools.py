"""IronManusStateGraph and HealthCheck: a session as a graph, and whether the machine works."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sam_tools.iron_manus.phases.folder import FOLDER
from sam_tools.iron_manus.phases.graph import StateGraphs
from sam_tools.iron_manus.phases.health import Health
from sam_tools.iron_manus.phases.sessions import ManusSession, ManusSessions
from sam_tools.iron_manus.results import INLINE, answer, refused
from sam_tui.core.accesses import Write
from sam_tui.core.errors import InvalidArguments
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single
from sam_tui.core.workflow.views import WorkflowRefused

_MOST = 200
_Text = Field(min_length=1, max_length=2000)


class HealthRequest(Arguments):
    """Arguments of HealthCheck."""

    detailed: bool = False


Item = dict[str, object]


class GraphRequest(Arguments):
    """Arguments of IronManusStateGraph; which ones count depends on the action."""

    action: Literal[
        "create_entities", "create_transitions", "add_observations", "delete_entities",
        "delete_observations", "delete_transitions", "read_graph", "search_nodes", "open_nodes",
        "initialize_session", "record_phase_transition", "record_task_creation",
        "update_task_status",
    ]  # fmt: skip
    session_id: str = Field(min_length=1)
    entities: list[Item] = Field(
        default_factory=list[Item], description="{name, entityType, observations}"
    )
    transitions: list[Item] = Field(
        default_factory=list[Item], description="{from, to, relationType}"
    )
    observations: list[Item] = Field(
        default_factory=list[Item], description="{entityName, contents}"
    )
    deletions: list[Item] = Field(
        default_factory=list[Item], description="{entityName, observations}"
    )
    names: list[str] = Field(default_factory=list[str], description="of entities")
    query: str = ""
    objective: str = ""
    role: str = ""
    from_phase: str = ""
    to_phase: str = ""
    task_id: str = ""
    content: str = ""
    status: str = ""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Entity(_Part):
    name: str = Field(min_length=1, max_length=200)
    entityType: str = Field(default="task", min_length=1, max_length=60)
    observations: list[str] = Field(default_factory=list[str], max_length=_MOST)


class _Transition(_Part):
    source: str = Field(alias="from", min_length=1, max_length=200)
    target: str = Field(alias="to", min_length=1, max_length=200)
    relationType: str = Field(default="tracks", min_length=1, max_length=60)


class _Observations(_Part):
    entityName: str = _Text
    contents: list[str] = Field(default_factory=list[str], max_length=_MOST)


class _Deletion(_Part):
    entityName: str = _Text
    observations: list[str] = Field(default_factory=list[str], max_length=_MOST)


class _Change(_Part):
    """A change in its recorded form."""

    entities: list[_Entity] = Field(default_factory=list[_Entity], max_length=_MOST)
    relations: list[_Transition] = Field(default_factory=list[_Transition], max_length=_MOST)
    observations: list[_Observations] = Field(default_factory=list[_Observations], max_length=_MOST)
    dropped_observations: list[_Deletion] = Field(default_factory=list[_Deletion], max_length=_MOST)
    dropped_relations: list[_Transition] = Field(
        default_factory=list[_Transition], max_length=_MOST
    )
    dropped_entities: list[str] = Field(default_factory=list[str], max_length=_MOST)


class StateTools:
    """The two tools."""

    def __init__(self, graphs: StateGraphs, sessions: ManusSessions, health: Health) -> None:
        self._graphs = graphs
        self._sessions = sessions
        self._health = health

    def tools(self) -> tuple[Tool, ...]:
        """The tools, ready to register."""
        graph = Operation(
            "IronManusStateGraph",
            "read a session as a graph, and note to it",
            GraphRequest,
            self._graph,
            lambda a: f"State graph: {a.action}",
            inline_limit=INLINE,
        )
        health = Operation(
            "HealthCheck",
            "check that everything works",
            HealthRequest,
            self._check,
            lambda _: "Checking health",
            lambda _: (Write(FOLDER, "session_workspace"),),
            inline_limit=INLINE,
        )
        return (
            single(
                graph,
                "A session of JARVIS as a graph: its phases, role and todos as the engine keeps them,"
                " and entities of your own beside them.",
            ),
            single(health, "Whether the phase machine, its store, files and tools work."),
        )

    async def _graph(self, arguments: GraphRequest, context: ToolContext) -> ToolResult:
        try:
            return answer(self._done(arguments, context))
        except WorkflowRefused as refusal:
            return refused(refusal)

    def _done(self, request: GraphRequest, context: ToolContext) -> dict[str, Any]:
        session = request.session_id
        match request.action:
            case "read_graph":
                graph = self._graphs.read(session).as_object()
                return graph | {"metrics": self._graphs.metrics(session)}
            case "search_nodes":
                return self._graphs.read(session).search(request.query).as_object()
            case "open_nodes":
                return self._graphs.read(session).only(request.names).as_object()
            case "initialize_session":
                opened = self._sessions.begin(
                    session, request.objective.strip(), request.role, context.conversation
                )
                return self._graphs.read(opened.id).as_object()
            case "record_phase_transition" | "record_task_creation" | "update_task_status":
                return self._recorded(request, self._sessions.find(session))
            case _:
                return self._graphs.note(session, _change(request)).as_object()

    def _recorded(self, request: GraphRequest, session: ManusSession) -> dict[str, object]:
        """Confirm a transition or status that the engine recorded; refuse one that it did not record."""
        if request.action == "record_phase_transition":
            transition = (request.from_phase.upper(), request.to_phase.upper())
            so = transition in self._sessions.transitions(session.id)
            what = f"the transition from {transition[0]} to {transition[1]}"
        else:
            todo = next((t for t in session.todos if t.id == request.task_id), None)
            so = todo is not None
            what = f"the todo {request.task_id!r}"
            if todo is not None and request.action == "update_task_status":
                status = {"in_progress": "running"}.get(request.status, request.status)
                so, what = (
                    status == todo.status,
                    f"the status {request.status!r} of {request.task_id!r}",
                )
        if not so:
            raise WorkflowRefused(
                "engine_owned",
                f"The engine has not recorded {what}, and takes it from nobody.",
                hint="Phases and todos move by JARVIS alone.",
                session_id=session.id,
                action=request.action,
            )
        return {"recorded": True, "message": f"The engine had recorded {what} itself."}

    async def _check(self, arguments: HealthRequest, context: ToolContext) -> ToolResult:
        report = self._health.report(detailed=arguments.detailed)
        return answer(report, ok=report["status"] == "healthy")


def _change(request: GraphRequest) -> dict[str, object]:
    """Return the change of an action. Raises ``InvalidArguments``."""
    match request.action:
        case "create_entities":
            fields: dict[str, object] = {"entities": request.entities}
        case "create_transitions":
            fields = {"relations": request.transitions}
        case "add_observations":
            fields = {"observations": request.observations}
        case "delete_entities":
            fields = {"dropped_entities": request.names}
        case "delete_observations":
            fields = {"dropped_observations": request.deletions}
        case _:
            fields = {"dropped_relations": request.transitions}
    if not next(iter(fields.values())):
        raise InvalidArguments(f"{request.action}: nothing is given.")
    try:
        change = _Change.model_validate(fields)
    except ValidationError as error:
        raise InvalidArguments(f"{request.action}: {'; '.join(faults_of(error)[:5])}") from None
    return change.model_dump(by_alias=True, exclude_defaults=True) | _names(change)


def _names(change: _Change) -> dict[str, object]:
    """Return the parts of a change as they are stored: entities with all fields, defaults included."""
    whole = {"entities": [entity.model_dump() for entity in change.entities]}
    related = [r.model_dump(by_alias=True) for r in change.relations]
    dropped = [r.model_dump(by_alias=True) for r in change.dropped_relations]
    names: dict[str, object] = {**whole, "relations": related, "dropped_relations": dropped}
    return {name: value for name, value in names.items() if value}
