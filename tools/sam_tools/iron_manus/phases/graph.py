"""A session as a graph of entities and relations: those of the store, and those that callers noted.

Sessions, phases, roles and todos are read from the store each time, so they are never out of date, and
callers cannot write them. A caller's notes are events of the execution, applied in order: every change is
one transaction, and none is rewritten.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sam_tools.iron_manus.phases.sessions import ManusSession, ManusSessions, grade
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused

NOTED = "graph_noted"
_MOST = 5000
"""The most notes of a session that are read."""
_COMPLEX = 3
"""A session is complex once it works on a todo with a greater index (the metric of seed 000)."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A node. ``owned`` ones come from the store."""

    name: str
    type: str
    observations: tuple[str, ...]
    owned: bool = False

    def as_object(self) -> dict[str, Any]:
        """In the seed's words."""
        return {
            "name": self.name, "entityType": self.type, "observations": list(self.observations),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge."""

    source: str
    target: str
    type: str

    def as_object(self) -> dict[str, Any]:
        """In the seed's words."""
        return {"from": self.source, "to": self.target, "relationType": self.type}


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities by name, in order, and relations, each once."""

    entities: Mapping[str, Entity]
    relations: tuple[Relation, ...]

    def as_object(self) -> dict[str, Any]:
        """``{entities, relations}``."""
        return {
            "entities": [entity.as_object() for entity in self.entities.values()],
            "relations": [relation.as_object() for relation in self.relations],
        }

    def only(self, names: Iterable[str]) -> "Graph":
        """The named entities, and the relations between them."""
        chosen = set(names)
        entities = {n: e for n, e in self.entities.items() if n in chosen}
        relations = tuple(
            r for r in self.relations if r.source in entities and r.target in entities
        )
        return Graph(entities, relations)

    def search(self, query: str) -> "Graph":
        """Return the entities that have a text in name, type or an observation, in any case."""
        needle = query.casefold()
        return self.only(
            entity.name
            for entity in self.entities.values()
            if any(needle in t.casefold() for t in (entity.name, entity.type, *entity.observations))
        )


class StateGraphs:
    """The graphs of all sessions."""

    def __init__(self, workflows: Workflows, sessions: ManusSessions) -> None:
        self._workflows = workflows
        self._sessions = sessions

    def read(self, session_id: str) -> Graph:
        """The graph of a session. Raises ``WorkflowRefused``."""
        session = self._sessions.find(session_id)
        owned = self._owned(session)
        query = EventQuery(session_id, type=NOTED, limit=_MOST)
        notes = [row.data for row in self._workflows.records.reader.events(query)]
        return folded(owned, notes)

    def note(self, session_id: str, change: Mapping[str, Any]) -> Graph:
        """Note a change. Raises ``WorkflowRefused`` (``engine_owned``, ``entity_unknown`` ...)."""
        graph = self.read(session_id)
        require_possible(graph, change)
        query = EventQuery(session_id, type=NOTED, limit=_MOST)
        if len(self._workflows.records.reader.events(query)) >= _MOST:
            raise WorkflowRefused("graph_full", f"A session keeps at most {_MOST} notes.")
        self._workflows.notes.add_note(session_id, NOTED, change)
        return self.read(session_id)

    def metrics(self, session_id: str) -> dict[str, Any]:
        """Figures about a session (seed 000): real transitions and derived effectiveness."""
        session = self._sessions.find(session_id)
        task = session.ticket.task if session.ticket else None
        started, last = session.view.created_at, self._sessions.last_activity(session_id)
        return {
            "session_id": session_id,
            "detected_role": session.role,
            "current_phase": session.phase,
            "phase_transitions": len(self._sessions.transitions(session_id)),
            "reasoning_effectiveness": session.view.effectiveness,
            "performance_grade": grade(session.view.effectiveness),
            "cognitive_enhancement_active": session.view.effectiveness > 0.7,
            "task_complexity_handled": "complex" if task and task.position > _COMPLEX else "simple",
            "session_duration_minutes": round(max(0.0, last - started) / 60, 2),
        }

    def _owned(self, session: ManusSession) -> Graph:
        entities: dict[str, Entity] = {}
        relations: dict[Relation, None] = {}

        def add(name: str, type_: str, *observations: str) -> str:
            entities[name] = Entity(name, type_, observations, owned=True)
            return name

        root = add(
            session.id,
            "session",
            f"current_phase: {session.phase}",
            f"objective: {session.objective}",
            f"detected_role: {session.role}",
            f"reasoning_effectiveness: {session.view.effectiveness}",
            f"state: {session.view.state}",
        )
        role = add(f"{session.id}_role_{session.role}", "role", *session.role_reasons)
        relations[Relation(root, role, "uses")] = None
        passed = self._sessions.transitions(session.id)
        for phase in dict.fromkeys(phase for pair in passed for phase in pair):
            entered = sum(after == phase for _, after in passed)
            name = add(f"{session.id}_phase_{phase}", "phase", f"entered: {entered}")
            relations[Relation(root, name, "contains")] = None
        for before, after in passed:
            source, target = (f"{session.id}_phase_{p}" for p in (before, after))
            relations[Relation(source, target, "transitions_to")] = None
        for todo in session.todos:
            name = add(
                f"{session.id}_task_{todo.id}",
                "task",
                f"content: {todo.title}",
                f"status: {todo.status}",
                f"priority: {todo.payload.get('priority', 'medium')}",
                f"type: {todo.payload.get('type', 'DirectExecution')}",
            )
            relations[Relation(root, name, "contains")] = None
            if todo.payload.get("role"):
                other = f"{session.id}_role_{todo.payload['role']}"
                entities.setdefault(other, Entity(other, "role", (), owned=True))
                relations[Relation(name, other, "spawns")] = None
        return Graph(entities, tuple(relations))


def folded(owned: Graph, notes: Sequence[Mapping[str, Any]]) -> Graph:
    """The store's graph with every noted change applied in order; a note does not replace an entity."""
    additions: dict[str, Entity] = {}
    relations: dict[Relation, None] = {}
    for note in notes:
        for entry in note.get("entities", ()):
            name = entry["name"]
            if name not in additions and name not in owned.entities:
                additions[name] = Entity(name, entry["entityType"], tuple(entry["observations"]))
        for entry in note.get("relations", ()):
            relations[Relation(entry["from"], entry["to"], entry["relationType"])] = None
        for entry in note.get("observations", ()):
            entity = additions.get(entry["entityName"])
            if entity is not None:
                both = dict.fromkeys([*entity.observations, *entry["contents"]])
                additions[entity.name] = Entity(entity.name, entity.type, tuple(both))
        _drop(note, additions, relations)
    entities = {**owned.entities, **additions}
    valid = [r for r in relations if r.source in entities and r.target in entities]
    return Graph(entities, tuple(dict.fromkeys([*owned.relations, *valid])))


def _drop(
    note: Mapping[str, Any], additions: dict[str, Entity], relations: dict[Relation, None]
) -> None:
    for entry in note.get("dropped_observations", ()):
        entity = additions.get(entry["entityName"])
        if entity is not None:
            left = tuple(o for o in entity.observations if o not in entry["observations"])
            additions[entity.name] = Entity(entity.name, entity.type, left)
    for entry in note.get("dropped_relations", ()):
        relations.pop(Relation(entry["from"], entry["to"], entry["relationType"]), None)
    for name in note.get("dropped_entities", ()):
        if additions.pop(name, None) is not None:
            for relation in [r for r in relations if name in (r.source, r.target)]:
                del relations[relation]


def require_possible(graph: Graph, change: Mapping[str, Any]) -> None:
    """Raise ``WorkflowRefused`` for a change of the store's own parts, or of a missing one."""
    named = [
        *change.get("dropped_entities", ()),
        *(entry["entityName"] for entry in change.get("observations", ())),
        *(entry["entityName"] for entry in change.get("dropped_observations", ())),
    ]
    coming = {entry["name"] for entry in change.get("entities", ())}
    ends = [e for g in change.get("relations", ()) for e in (g["from"], g["to"])]
    for name in [*named, *ends]:
        if name not in graph.entities and name not in coming:
            raise WorkflowRefused("entity_unknown", f"There is no entity {name!r}.")
    for name in named:
        if graph.entities[name].owned:
            raise WorkflowRefused(
                "engine_owned",
                f"{name} is kept by the engine itself.",
                hint="Note an entity of your own, and relate it.",
                entity=name,
            )
    owned = set(graph.only(n for n, e in graph.entities.items() if e.owned).relations)
    for entry in change.get("dropped_relations", ()):
        if Relation(entry["from"], entry["to"], entry["relationType"]) in owned:
            raise WorkflowRefused("engine_owned", "That relation is kept by the engine itself.")
