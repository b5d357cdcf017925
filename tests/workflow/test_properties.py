"""No sequence of calls reaches an illegal state, uses a token twice, or passes a closed gate."""

import itertools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sam_tui.core.workflow.definitions.graph import ancestors, cycle, dependents, unreachable
from sam_tui.core.workflow.execution.case import ENDED, NEXT
from sam_tui.core.workflow.gate import GROUPS, UNGATED, allows, conversation_gate, entries
from sam_tui.core.workflow.views import VERBS, Advanced, WorkflowRefused
from tests.workflow.bench import Bench

FLOW = """
    policy: {parallel: 3, rollbacks: 2, on_exhausted: ask}
    steps:
      - {id: a, prompt: a, tools: [read], attempts: 2}
      - {id: b, prompt: b, needs: [a], tools: [], each: "@{outputs.a.items}", attempts: 1}
      - {id: c, prompt: c, needs: [a], tools: [edit], on_fail: "rollback:a"}
      - {id: p, kind: plan, prompt: p, needs: [a], tools: [plan], child_tools: [read]}
      - {id: d, prompt: d, needs: [b, c, p], tools: [run], on_fail: ask,
         guards: [{tasks: b, threshold: 50}]}
"""
OUTPUT: dict[str, Any] = {
    "summary": "s",
    "items": ["x", "y"],
    "steps": [
        {"id": "q", "prompt": "q", "tools": ["read"]},
        {"id": "r", "prompt": "r", "tools": [], "needs": ["q"]},
    ],
}
KEYS = (
    "file_operations.read_file",
    "file_operations.create_file",
    "terminal_operations.run_command",
)


@pytest.mark.requirement("workflow:properties")
class Executions(RuleBasedStateMachine):
    """Every verb in any order, with good, old and foreign tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="workflow-"))
        self.bench = Bench(self.folder)
        self.bench.define(FLOW)
        self.tokens: list[str] = []
        self.used: set[str] = set()
        self.seen: dict[str, str] = {}
        done = self.bench.workflows.start("flow", conversation="chat")
        self.execution = done.execution_id
        self.keep(done)

    def teardown(self) -> None:
        """Remove the folder."""
        self.bench.close()
        shutil.rmtree(self.folder)

    def keep(self, done: Advanced) -> None:
        """Remember the tokens of what was opened."""
        self.tokens += [ticket.token for ticket in done.opened]

    def attempt(self, verb: Any, *arguments: Any) -> None:
        """A verb that may be refused."""
        try:
            if verb in VERBS:
                done = self.bench.workflows.steer(VERBS[verb].name, self.execution, *arguments)
            else:
                done = getattr(self.bench.workflows, verb)(self.execution, *arguments)
            self.keep(done)
        except WorkflowRefused:
            pass

    @rule(pick=st.integers(min_value=0), success=st.booleans())
    def advance(self, pick: int, success: bool) -> None:
        """Use any token that was ever given out."""
        token = self.tokens[pick % len(self.tokens)]
        try:
            done = self.bench.workflows.advance(token, OUTPUT | {"success": success})
        except WorkflowRefused:
            return
        assert token not in self.used
        self.used.add(token)
        self.keep(done)

    @rule()
    def ask_for_tokens(self) -> None:
        """Fresh tokens for what is open."""
        self.tokens += [t.token for t in self.bench.workflows.tickets(self.execution)]

    @rule(step=st.sampled_from(["a", "b", "c", "d", "p", "p/q", "p/r", "z"]), ok=st.booleans())
    def submit(self, step: str, ok: bool) -> None:
        """Hand in for a step that may not be open."""
        self.attempt("submit", step, OUTPUT | {"success": ok})

    @rule(step=st.sampled_from(["a", "b", "c", "d", "p", "p/q"]))
    def fail(self, step: str) -> None:
        """Fail a step."""
        self.attempt("fail_step", step, "broken")

    @rule(step=st.sampled_from(["", "a", "b", "c", "d", "p"]))
    def retry(self, step: str) -> None:
        """Open a step again."""
        self.attempt("retry", step)

    @rule(choice=st.sampled_from(["retry", "accept", "abort", "rollback:a", "nonsense"]))
    def decide(self, choice: str) -> None:
        """Answer a question."""
        self.attempt("decide", choice)

    @rule(verb=st.sampled_from(["pause", "resume"]))
    def move(self, verb: str) -> None:
        """Change the state."""
        self.attempt(verb)

    @precondition(lambda self: len(self.used) > 6)
    @rule()
    def abandon(self) -> None:
        """End it for good, late enough that something happens before."""
        self.attempt("abandon")

    @rule()
    def replan(self) -> None:
        """Another plan."""
        self.attempt("replan", "p", OUTPUT["steps"][:1])

    @invariant()
    def states_follow_the_table(self) -> None:
        """Each change that an event tells of is one the table has."""
        state = "idle"
        for event in self.bench.told:
            if event.type == "workflow_state_transition":
                data = json.loads(event.data_json)
                assert data["from"] == state
                assert data["to"] in NEXT[state]  # pyright: ignore[reportArgumentType] # a state
                state = data["to"]
        assert self.bench.workflows.records.execution(self.execution).state == state

    @invariant()
    def open_attempts_and_running_steps_agree(self) -> None:
        """What runs has one open attempt, what is over has none."""
        reader, view = (
            self.bench.store.reader,
            self.bench.workflows.records.execution(self.execution),
        )
        open_ = [a.step for a in reader.attempts(self.execution, status="open")]
        assert len(open_) == len(set(open_))
        statuses = self.bench.steps(self.execution)
        if view.state in ENDED:
            assert open_ == []
        assert all(statuses[step] == "running" for step in open_)
        if view.state == "running":
            assert set(open_) == {s for s, status in statuses.items() if status == "running"}
            assert open_
        for step in self.bench.workflows.records.steps(self.execution):
            if step.status in ("running", "completed") and not step.error:
                pending = [n for n in step.needs if statuses.get(n) in ("pending", "failed")]
                assert not pending, (step.id, pending)

    @invariant()
    def each_token_was_spent_at_most_once(self) -> None:
        """Validations are as many as tokens that worked."""
        validated = [e for e in self.bench.told if e.type == "token_validated"]
        assert len(validated) <= len(self.used)

    @invariant()
    def the_gate_follows_the_open_steps(self) -> None:
        """A call passes only if an open step of a running execution allows it."""
        gate = conversation_gate(lambda: self.bench.workflows.records.phase("chat"))
        view = self.bench.workflows.records.execution(self.execution)
        if view.state in ENDED or view.state == "idle":
            return
        tickets = self.bench.workflows.tickets(self.execution, mint=False)
        for key in KEYS:
            allowed = any(allows(ticket.spec.allowed, key) for ticket in tickets)
            assert (gate(key) == "") == allowed
        assert gate("workflow.advance") == ""


Executions.TestCase.settings = settings(max_examples=20, stateful_step_count=30)
TestExecutions = Executions.TestCase
TestExecutions.pytestmark = [pytest.mark.requirement("workflow:properties")]  # pyright: ignore[reportAttributeAccessIssue] # pytest's own attribute

NODES = "abcdefg"
GRAPHS = st.dictionaries(
    st.sampled_from(NODES), st.lists(st.sampled_from(NODES), unique=True, max_size=3)
)


@pytest.mark.requirement("workflow:properties")
@given(GRAPHS)
def test_a_graph_can_be_worked_through_unless_it_has_a_circle_or_a_gap(
    graph: dict[str, list[str]],
) -> None:
    stuck = unreachable(graph)
    gaps = [n for needs in graph.values() for n in needs if n not in graph]
    assert bool(stuck) == bool(cycle(graph) or gaps)
    circle = cycle(graph)
    if circle:
        assert circle[0] == circle[-1]
        assert all(b in graph[a] for a, b in itertools.pairwise(circle))
        return
    for step in graph:
        assert step not in ancestors(step, graph)
        assert all(step in ancestors(other, graph) for other in dependents(step, graph))


@pytest.mark.requirement("workflow:properties")
@given(
    st.lists(st.sampled_from([*GROUPS, "voice", "voice.speak", "x.*"]), max_size=5),
    st.sampled_from([*KEYS, "voice.speak", "voice.shout", "x.y", "workflow.status"]),
)
def test_a_gate_opens_for_nothing_that_no_entry_names(tools: list[str], key: str) -> None:
    tool = key.partition(".")[0]
    named = {e.removesuffix(".*") for e in entries(tools)}
    assert allows(tools, key) == (tool in UNGATED or bool(named & {key, tool}))
