"""Seed 003's resources under ``midex://``: the workflows, and the state of each execution."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

import mcp_types as types

from sam_tui.core.events import Event, WorkflowMoved
from sam_tui.core.ports.workflows import EventQuery, FindingQuery
from sam_tui.core.redaction.shield import Shield
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused
from sam_tui.mcp_server.clients import Client
from sam_tui.mcp_server.json_text import plain_json, sendable
from sam_tui.mcp_server.library import NotFound
from sam_tui.mcp_server.midex import forms as forms
from sam_tui.mcp_server.midex.claims import Claims

JSON: Final = "application/json"
WORKFLOW: Final = "midex://workflow"
_LISTED = 50
_NO_NEWS: Final = frozenset({"token_generated", "step_claimed"})
"""Changes that a read of ``current_step`` makes itself; notifying of them would cause endless reads."""
_OF_EXECUTION = ("current_step", "workflow_status", "step_history")


@dataclass(frozen=True, slots=True)
class ResourceAddress:
    """A URI taken apart: ``midex://area/kind/part/part?query``, each part decoded."""

    area: str
    kind: str
    parts: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        path = "/".join(quote(part, safe="") for part in (self.kind, *self.parts))
        query = "&".join(f"{k}={quote(v, safe='')}" for k, v in sorted(self.query.items()))
        return f"midex://{self.area}/{path}" + (f"?{query}" if query else "")


def address(uri: str) -> ResourceAddress | None:
    """Return the parts of a ``midex://`` URI, or None for any other text."""
    match = re.fullmatch(r"midex://([^/?#]+)/([^?#]*)(?:\?([^#]*))?", uri, re.IGNORECASE)
    if match is None or len(uri) > 4000:
        return None
    kind, *parts = [unquote(part) for part in match[2].rstrip("/").split("/")]
    pairs = [pair.partition("=") for pair in (match[3] or "").split("&") if pair]
    query = {unquote(name): unquote(value) for name, _, value in pairs}
    return ResourceAddress(match[1].lower(), kind, tuple(parts), query)


def artifact_uri(artifact: str) -> str:
    """Return the address at which the text of an artifact is read."""
    return str(ResourceAddress("workflow", "artifact", (artifact,)))


_TEMPLATES: Final = (
    ("workflow_details", "workflow_details/{name}", "One workflow: its text, phases and parameters."),
    ("current_step", "current_step/{execId}",
     "The step to do now: persona, instructions and a fresh token. Read this first."),
    ("workflow_status", "workflow_status/{execId}", "State, progress and totals of an execution."),
    ("step_history", "step_history/{execId}", "Every attempt at every step, with its output."),
    ("workflow_artifacts", "workflow_artifacts/{execId}", "What the steps left behind, without text."),
    ("workflow_artifacts_of_step", "workflow_artifacts/{execId}/{step}", "The same, of one step."),
    ("artifact", "artifact/{artifactId}{?offset,length}", "The text of an artifact, or a range of it."),
    ("telemetry_of_execution", "telemetry/{execId}{?event_type,limit}", "Events of one execution."),
)  # fmt: skip


class MidexResources:
    """The resources over the workflows of one data folder."""

    scheme = "midex"
    templates: tuple[types.ResourceTemplate, ...] = (
        *(
            types.ResourceTemplate(
                name=name,
                uri_template=f"{WORKFLOW}/{path}",
                description=about,
                mime_type="text/plain" if name == "artifact" else JSON,
            )
            for name, path, about in _TEMPLATES
        ),
        types.ResourceTemplate(
            name="telemetry_query",
            uri_template=f"{WORKFLOW}/telemetry{{?event_type,limit}}",
            description="Events, the newest first; limit 1 to 1000, 100 unless given.",
            mime_type=JSON,
        ),
        types.ResourceTemplate(
            name="project_findings",
            uri_template="midex://knowledge/project/{id}",
            description="What was learnt about a project, and what holds everywhere.",
            mime_type=JSON,
        ),
    )

    def __init__(self, workflows: Callable[[], Workflows], claims: Claims, shield: Shield) -> None:
        self._open = workflows
        self._claims = claims
        self._shield = shield

    @property
    def _workflows(self) -> Workflows:
        return self._open()

    def listed(self, client: Client) -> Sequence[types.Resource]:
        """Return the resources without an id, every workflow, and the executions that are not over."""
        resources = [
            _resource(f"{WORKFLOW}/available_workflows", "available_workflows",
                      "Every workflow that can be started."),
            _resource(f"{WORKFLOW}/telemetry", "telemetry", "What happened, the newest first."),
            _resource("midex://knowledge/global", "global_findings", "What holds everywhere."),
        ]  # fmt: skip
        for view in self._workflows.catalog.views():
            uri = str(ResourceAddress("workflow", "workflow_details", (view.name,)))
            resources.append(
                _resource(uri, f"workflow_details {view.name}", view.definition.description)
            )
        for run in self._workflows.records.executions(limit=_LISTED):
            if run.state in ("idle", "running", "paused"):
                resources += [
                    _resource(
                        str(ResourceAddress("workflow", kind, (run.id,))),
                        f"{kind} {run.id}",
                        f"{run.workflow}, {run.state}, {run.progress}",
                    )
                    for kind in _OF_EXECUTION
                ]
        return resources

    async def read(self, uri: str, client: Client) -> types.TextResourceContents:
        """The content of a resource. Raises ``NotFound``."""
        at = address(uri)
        if at is None:
            raise NotFound(f"There is no resource {uri}")
        self._shield.refresh()
        try:
            if (at.area, at.kind) == ("workflow", "artifact") and len(at.parts) == 1:
                return self._artifact(uri, at)
            value = self._value(at, client)
        except WorkflowRefused as refusal:
            raise NotFound(str(refusal), refusal.as_object()) from None
        # Known secrets alone: what only looks like one may be a step's token.
        masked = self._shield.without_known(plain_json({"value": value})["value"])
        text = sendable(json.dumps(masked, ensure_ascii=False, indent=2))
        return types.TextResourceContents(uri=uri, mime_type=JSON, text=text)

    def _value(self, at: ResourceAddress, client: Client) -> object:
        match (at.area, at.kind, at.parts):
            case ("workflow", "available_workflows", ()):
                return [forms.workflow_form(view) for view in self._workflows.catalog.views()]
            case ("workflow", "workflow_details", (name,)):
                return forms.details_form(self._workflows.catalog.view(name))
            case ("workflow", "current_step", (execution,)):
                return self._current(execution, client)
            case ("workflow", "workflow_status", (execution,)):
                return forms.status_form(self._workflows.records.execution(execution))
            case ("workflow", "step_history", (execution,)):
                self._workflows.records.execution(execution)
                return [forms.attempt_form(a) for a in self._workflows.records.history(execution)]
            case ("workflow", "workflow_artifacts", (execution, *step)) if len(step) <= 1:
                self._workflows.records.execution(execution)
                rows = self._workflows.records.artifacts(execution, "".join(step))
                return [forms.artifact_form(row, artifact_uri(row.id)) for row in rows]
            case ("workflow", "telemetry", (*execution,)) if len(execution) <= 1:
                return self._telemetry("".join(execution), at.query)
            case ("knowledge", kind, parts):
                return self._findings(kind, parts)
            case _:
                raise NotFound(f"There is no resource {at}")

    def _current(self, execution: str, client: Client) -> dict[str, object]:
        view = self._workflows.records.execution(execution)
        tickets = self._workflows.tickets(execution)
        self._claims.take(tickets[:1], client, reads=True)
        return forms.current_step_form(view, tickets)

    def _telemetry(self, execution: str, query: Mapping[str, str]) -> list[dict[str, object]]:
        if execution:
            self._workflows.records.execution(execution)
        limit = query.get("limit", "100")
        if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:6]) <= 1000:
            raise NotFound("limit is a number from 1 to 1000", {"limit": limit})
        selection = EventQuery(
            execution, type=query.get("event_type", ""), limit=int(limit), newest=True
        )
        return [forms.event_form(row) for row in self._workflows.records.reader.events(selection)]

    def _findings(self, kind: str, parts: tuple[str, ...]) -> dict[str, object]:
        def active(scope: str, project: str = "") -> list[dict[str, object]]:
            query = FindingQuery(scope=scope, project=project, status="active", limit=1000)
            return [
                forms.finding_form(row) for row in self._workflows.records.reader.findings(query)
            ]

        match (kind, parts):
            case ("global", ()):
                return {"findings": active("global")}
            case ("project", (project,)):
                findings = [*active("project", project), *active("system")]
                return {"project": {"id": project}, "findings": findings}
            case _:
                raise NotFound(f"There is no resource midex://knowledge/{kind}")

    def _artifact(self, uri: str, at: ResourceAddress) -> types.TextResourceContents:
        numbers = [
            at.query.get(name, default) for name, default in (("offset", "0"), ("length", ""))
        ]
        if not all(n.isascii() and (n.isdigit() or not n) and len(n) < 12 for n in numbers):
            raise NotFound("offset and length are numbers of characters", dict(at.query))
        offset, length = (int(n or 1 << 40) for n in numbers)
        chunk = self._workflows.records.read_artifact(at.parts[0], offset, length)
        meta = {"start": chunk.start, "end": chunk.end, "total": chunk.total}
        return types.TextResourceContents(
            uri=uri,
            mime_type="text/plain",
            text=sendable(self._shield.without_known(chunk.text)),
            _meta={"sam-tui/range": meta},
        )

    def completions(
        self, template: str, argument: str, earlier: Mapping[str, str]
    ) -> Sequence[str]:
        """Workflow names, execution ids, steps and artifacts."""
        match argument:
            case "name":
                return [view.name for view in self._workflows.catalog.views()]
            case "execId":
                return [view.id for view in self._workflows.records.executions(limit=1000)]
            case "step" | "artifactId" if execution := earlier.get("execId", ""):
                try:
                    if argument == "step":
                        return [step.id for step in self._workflows.records.steps(execution)]
                    return [row.id for row in self._workflows.records.artifacts(execution)]
                except WorkflowRefused:
                    return []
            case _:
                return []

    def touched(self, event: Event, client: Client) -> Sequence[str]:
        """The resources that a change of an execution affects."""
        if not isinstance(event, WorkflowMoved):
            return ()
        execution = event.execution
        if not execution:
            return [str(at) for at in self._with_findings(event.change, event.step)]
        changed = [
            ResourceAddress("workflow", "telemetry"),
            ResourceAddress("workflow", "telemetry", (execution,)),
        ]
        if event.change not in _NO_NEWS:
            changed += [ResourceAddress("workflow", kind, (execution,)) for kind in _OF_EXECUTION]
        if event.change.startswith("artifact"):
            changed.append(ResourceAddress("workflow", "workflow_artifacts", (execution,)))
            changed.append(
                ResourceAddress("workflow", "workflow_artifacts", (execution, event.step))
            )
        return [str(at) for at in changed]

    def _with_findings(self, scope: str, project: str) -> list[ResourceAddress]:
        """The resources with findings of a scope; those of the system are in every project's."""
        if scope == "global":
            return [ResourceAddress("knowledge", "global")]
        every = {name for _, name in self._workflows.records.reader.finding_marks() if name}
        projects = [project] if scope == "project" else sorted(every)
        return [ResourceAddress("knowledge", "project", (name,)) for name in projects]

    def canonical(self, uri: str) -> str:
        """One spelling for each resource; a query makes no other resource of telemetry."""
        at = address(uri)
        if at is None:
            return uri
        return str(ResourceAddress(at.area, at.kind, at.parts) if at.kind == "telemetry" else at)


def _resource(uri: str, name: str, about: str) -> types.Resource:
    return types.Resource(uri=uri, name=name, description=about, mime_type=JSON)
