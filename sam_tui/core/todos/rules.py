"""The rules of a todo list: seed 004, Validation Rules, and ``spec/sam.md`` 4.2 and C13 to C15."""

import math
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sam_tui.core.todos.item import Todo, completed_ids, open_subtasks, unmet_dependencies

MAX_ID = 2**53 - 1
"""JSON readers lose digits of larger numbers."""
MAX_TITLE = 300
"""The most characters of a title; the seed asks for three to seven words."""
MAX_SUBTASKS = 20
MAX_EVIDENCE = 10
MAX_EVIDENCE_LENGTH = 200
"""The most characters of one entry, which names a call, a file or a command."""
_PATH_SHOWN = 12

Rule = Literal[
    "invalid-id",
    "duplicate-id",
    "title",
    "missing-dependency",
    "self-dependency",
    "cycle",
    "blocked-without-reason",
    "progress-range",
    "subtasks",
    "estimate",
    "evidence",
    "progress-status",
    "open-subtasks",
    "unmet-dependency",
]


@dataclass(frozen=True, slots=True)
class TodoFinding:
    """One thing wrong with one item. A warning is reported; an error keeps the list from being stored."""

    rule: Rule
    todo: int
    text: str
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Settled:
    """A list with at most one item in progress, and the ids that were set back for it, in order."""

    items: tuple[Todo, ...]
    demoted: tuple[int, ...]


def validate(items: Sequence[Todo]) -> list[TodoFinding]:
    """Return all errors and warnings of a list, in list order within each rule."""
    ids = Counter(item.id for item in items)
    findings = [
        TodoFinding(
            "duplicate-id", id_, f"Todo {id_} is in the list {count} times; ids must be unique"
        )
        for id_, count in ids.items()
        if count > 1
    ]
    for item in items:
        findings += _about_one(item)
        findings += _about_parts(item)
        findings += _about_dependencies(item, ids)
    findings += _about_cycles(items)
    return findings + _warnings(items)


def dependency_cycles(items: Sequence[Todo]) -> list[tuple[int, ...]]:
    """The groups of items that depend on each other, each sorted, in order of their smallest id.

    These are the strongly connected components with more than one member (Tarjan 1972, without
    recursion), so what merely leads into a cycle is not in it. Time is linear in items and
    dependencies. An item that depends on itself alone is no group: it has a finding of its own.
    """
    graph = _graph(items)
    return sorted(tuple(sorted(group)) for group in _strongly_connected(graph) if len(group) > 1)


def settle(items: Sequence[Todo], *, started: Sequence[int] = ()) -> Settled:
    """Keep one item in progress: the one started last, by ``started`` (ids, oldest first).

    Where none of those is in progress, the one changed last stays; of equals, the first in the list.
    The others become not-started and keep the progress they had.
    """
    running = [item for item in items if item.status == "in-progress"]
    if len(running) < 2:
        return Settled(tuple(items), ())
    winner = _last_started(running, started)
    demoted = tuple(item.id for item in running if item.id != winner)
    settled = tuple(replace(i, status="not-started") if i.id in demoted else i for i in items)
    return Settled(settled, demoted)


def _last_started(running: Sequence[Todo], started: Sequence[int]) -> int:
    ids = {item.id for item in running}
    newest = max(running, key=lambda item: item.updated_at).id
    return next((id_ for id_ in reversed(started) if id_ in ids), newest)


def consistent(item: Todo) -> Todo:
    """Return the item with fields that fit its status: reported progress of a completed one is 1, and
    only a blocked one has a reason."""
    progress = item.progress
    if item.status == "completed" and progress is not None:
        progress = 1.0
    reason = item.blocked_reason if item.status == "blocked" else ""
    return replace(item, progress=progress, blocked_reason=reason)


def lost_completed(before: Sequence[Todo], after: Sequence[Todo]) -> list[Todo]:
    """The completed items of ``before`` whose id ``after`` no longer has."""
    ids = {item.id for item in after}
    return [item for item in before if item.status == "completed" and item.id not in ids]


def stamped(before: Sequence[Todo], after: Sequence[Todo], *, now: float) -> tuple[Todo, ...]:
    """Return ``after`` with times: the old ``created_at``, ``updated_at`` new for changed items only."""
    old = {item.id: item for item in before}
    return tuple(_stamped_one(old.get(item.id), item, now) for item in after)


def _stamped_one(old: Todo | None, item: Todo, now: float) -> Todo:
    if old is None:
        return replace(item, created_at=now, updated_at=now)
    aged = replace(item, created_at=old.created_at, updated_at=old.updated_at)
    return aged if aged == old else replace(aged, updated_at=now)


def _about_one(item: Todo) -> list[TodoFinding]:
    findings: list[TodoFinding] = []
    if not 0 < item.id <= MAX_ID:
        findings.append(
            TodoFinding("invalid-id", item.id, f"Todo {item.id}: ids are whole numbers from 1 on")
        )
    if not item.title.strip():
        findings.append(TodoFinding("title", item.id, f"Todo {item.id} has an empty title"))
    elif len(item.title) > MAX_TITLE:
        findings.append(
            TodoFinding(
                "title",
                item.id,
                f"Todo {item.id} has a title of {len(item.title)} characters; at most {MAX_TITLE},"
                " the rest belongs into the description",
            )
        )
    if item.status == "blocked" and not item.blocked_reason.strip():
        findings.append(
            TodoFinding(
                "blocked-without-reason",
                item.id,
                f"Todo {item.id} is blocked but has no blockedReason",
            )
        )
    # Written so that NaN, which compares false with everything, is outside too.
    if item.progress is not None and not 0.0 <= item.progress <= 1.0:
        findings.append(
            TodoFinding(
                "progress-range",
                item.id,
                f"Todo {item.id} has progress {item.progress:g}; it goes from 0 to 1",
            )
        )
    return findings


def _about_parts(item: Todo) -> list[TodoFinding]:
    """Subtasks, estimate and evidence."""
    texts: list[tuple[Rule, str]] = [("subtasks", text) for text in _subtask_faults(item)]
    estimate = item.estimate_minutes
    if estimate is not None and not (math.isfinite(estimate) and estimate > 0):
        texts.append(("estimate", f"has estimateMinutes {estimate:g}; it is a number above 0"))
    if len(item.evidence) > MAX_EVIDENCE:
        texts.append((
            "evidence",
            f"has {len(item.evidence)} entries of evidence; at most {MAX_EVIDENCE}",
        ))
    if any(len(entry) > MAX_EVIDENCE_LENGTH for entry in item.evidence):
        texts.append((
            "evidence",
            f"has an entry of evidence over {MAX_EVIDENCE_LENGTH} characters; name a call id, a"
            " file or a command",
        ))
    return [TodoFinding(rule, item.id, f"Todo {item.id} {text}") for rule, text in texts]


def _subtask_faults(item: Todo) -> Iterator[str]:
    if len(item.subtasks) > MAX_SUBTASKS:
        yield f"has {len(item.subtasks)} subtasks; at most {MAX_SUBTASKS}"
    for id_, count in Counter(part.id for part in item.subtasks).items():
        if count > 1:
            yield f"has {count} subtasks with id {id_}; ids must be unique"
        if not 0 < id_ <= MAX_ID:
            yield f"has subtask {id_}; ids are whole numbers from 1 on"
    for part in item.subtasks:
        if not 0 < len(part.title.strip()) <= MAX_TITLE:
            yield f"has subtask {part.id} whose title is empty or over {MAX_TITLE} characters"


def _about_dependencies(item: Todo, ids: Collection[int]) -> list[TodoFinding]:
    findings = [
        TodoFinding(
            "missing-dependency",
            item.id,
            f"Todo {item.id} depends on todo {other}, which is not in the list",
        )
        for other in dict.fromkeys(item.dependencies)
        if other not in ids
    ]
    if item.id in item.dependencies:
        findings.append(
            TodoFinding("self-dependency", item.id, f"Todo {item.id} depends on itself")
        )
    return findings


def _about_cycles(items: Sequence[Todo]) -> list[TodoFinding]:
    graph = _graph(items)
    findings: list[TodoFinding] = []
    for group in dependency_cycles(items):
        first, *others = group
        path = _cycle_through(first, graph, frozenset(group))
        findings.append(
            TodoFinding(
                "cycle", first, f"Todo {first} depends on itself in a cycle: {_shown(path)}"
            )
        )
        # The path is reported once: with every member, the text would grow with the square of the cycle.
        findings += [
            TodoFinding(
                "cycle", id_, f"Todo {id_} is part of the same dependency cycle as todo {first}"
            )
            for id_ in others
        ]
    return findings


def _warnings(items: Sequence[Todo]) -> list[TodoFinding]:
    findings: list[TodoFinding] = []
    done = completed_ids(items)
    for item in items:
        unmet = unmet_dependencies(item, done) if item.status == "in-progress" else ()
        if unmet:
            waits = ", ".join(str(id_) for id_ in unmet)
            text = f"Todo {item.id} is in progress before what it depends on is completed: {waits}"
            findings.append(TodoFinding("unmet-dependency", item.id, text, "warning"))
        left = open_subtasks(item) if item.status == "completed" else ()
        if left:
            names = ", ".join(f"{item.id}.{part.id}" for part in left)
            text = f"Todo {item.id} is completed with open subtasks: {names}"
            findings.append(TodoFinding("open-subtasks", item.id, text, "warning"))
        odd = _odd_progress(item)
        if odd:
            findings.append(TodoFinding("progress-status", item.id, odd, "warning"))
    return findings


def _odd_progress(item: Todo) -> str:
    if item.progress is None or not 0.0 <= item.progress <= 1.0:
        return ""
    if item.status == "completed" and item.progress < 1.0:
        return f"Todo {item.id} is completed: its progress of {item.progress:.0%} counts as 100%"
    if item.status == "not-started" and item.progress > 0.0:
        return f"Todo {item.id} is not started but has progress {item.progress:.0%}"
    return ""


def _graph(items: Sequence[Todo]) -> dict[int, tuple[int, ...]]:
    """Return the dependencies of each item within the list; of a duplicate id the first item counts."""
    ids = {item.id for item in items}
    graph: dict[int, tuple[int, ...]] = {}
    for item in items:
        graph.setdefault(item.id, tuple(d for d in item.dependencies if d in ids))
    return graph


class _Search:
    """The state of one search for strongly connected components."""

    def __init__(self, graph: Mapping[int, tuple[int, ...]]) -> None:
        self.graph = graph
        self.order: dict[int, int] = {}
        self.low: dict[int, int] = {}
        self.open: list[int] = []
        self.waiting: set[int] = set()
        self.groups: list[list[int]] = []

    def enter(self, node: int) -> tuple[int, list[int]]:
        """Number a node; returns it with the neighbours still to look at."""
        self.order[node] = self.low[node] = len(self.order)
        self.open.append(node)
        self.waiting.add(node)
        return node, list(reversed(self.graph[node]))

    def leave(self, node: int) -> None:
        """All below a node was seen: when nothing leads above it, it heads a component."""
        if self.low[node] != self.order[node]:
            return
        group: list[int] = []
        while not group or group[-1] != node:
            group.append(self.open.pop())
            self.waiting.discard(group[-1])
        self.groups.append(group)

    def explore(self, root: int) -> None:
        """Search depth first from one node, with an explicit stack: a chain may be longer than Python's."""
        stack = [self.enter(root)]
        while stack:
            node, waiting = stack[-1]
            if waiting:
                other = waiting.pop()
                if other not in self.order:
                    stack.append(self.enter(other))
                elif other in self.waiting:
                    self.low[node] = min(self.low[node], self.order[other])
                continue
            stack.pop()
            self.leave(node)
            if stack:
                above = stack[-1][0]
                self.low[above] = min(self.low[above], self.low[node])


def _strongly_connected(graph: Mapping[int, tuple[int, ...]]) -> list[list[int]]:
    search = _Search(graph)
    for node in graph:
        if node not in search.order:
            search.explore(node)
    return search.groups


def _cycle_through(
    start: int, graph: Mapping[int, tuple[int, ...]], group: Collection[int]
) -> list[int]:
    """A shortest way from ``start`` back to it inside its component, both ends included."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in graph[node]:
            if other == start and node != start:
                path = [start, node]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if other in group and other != start and other not in came_from:
                came_from[other] = node
                queue.append(other)
    raise AssertionError("a strongly connected group has a way back to each member")


def _shown(path: Sequence[int]) -> str:
    names = [str(id_) for id_ in path]
    if len(names) > _PATH_SHOWN:
        left_out = len(names) - _PATH_SHOWN
        names[_PATH_SHOWN - 2 : -1] = [f"({left_out + 1} more)"]
    return " → ".join(names)
