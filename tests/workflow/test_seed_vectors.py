"""The documents' own vectors (spec D1, D6 and the runs of A2), played against the bundled phases."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.ports.workflows import EventQuery, FindingQuery
from sam_tui.core.workflow.views import Advanced, WorkflowRefused
from tests.workflow.bench import Bench, code_of, opened

BEFORE: list[tuple[str, dict[str, Any]]] = [
    ("query", {"interpreted_goal": "g"}),
    ("enhance", {"enhanced_goal": "g+"}),
    ("knowledge", {"knowledge_gathered": "k"}),
]
GOLDEN: dict[str, tuple[list[str], list[bool], bool, str, int | None]] = {
    "one critical task, done": (["high"], [True], True, "", None),
    "one critical task, failed": (["high"], [False], True, "plan", None),
    "three tasks, all done": (["high", "low", "low"], [True] * 3, True, "", None),
    "three tasks, one failed": (["low"] * 3, [True, False, True], True, "execute", 2),
    "no task": ([], [], True, "", None),
    "five tasks, three done": (["low"] * 5, [True] * 3 + [False] * 2, True, "execute", 4),
    "five tasks, four done": (["low"] * 5, [True] * 4 + [False], True, "execute", 3),
    "five tasks, two done": (["low"] * 5, [True] * 2 + [False] * 3, True, "plan", None),
    "two tasks done, not confirmed": (["low"] * 2, [True] * 2, False, "execute", 0),
    "19 of 20 done": (["low"] * 20, [True] * 19 + [False], True, "", None),
    "18 of 20 done": (["low"] * 20, [True] * 18 + [False] * 2, True, "execute", 18),
    "19 of 20 done, a critical among them": (
        ["high"] + ["low"] * 19, [True] * 19 + [False], True, "execute", 19,
    ),
}  # fmt: skip
"""Priorities, how each task ended, the claim, and then the step that is open and its item.

Where the original counted what its caller said, the store's own count decides (E1, rows 3 and 4); a
claim that does not fit the count leads back to the same item, whatever the band (E1, row 5).
"""
MIDEX = """
    phases:
      - {phase: design, agent: architect, description: design it}
      - {phase: implement, agent: implementer, description: do it, dependsOn: [design]}
      - {phase: review, agent: reviewer, description: look at it, dependsOn: [implement]}
"""


@pytest.fixture
def phased(tmp_path: Path) -> Iterator[Bench]:
    """A bench with the package's own definitions."""
    bench = Bench(tmp_path, package=True)
    yield bench
    bench.close()


def planned(bench: Bench, priorities: list[str]) -> Advanced:
    """The phases up to a plan with a task of each priority."""
    done = bench.workflows.start("phased", {"objective": "x"})
    for _, payload in BEFORE:
        done = bench.workflows.advance(done.opened[0].token, payload)
    tasks = [{"title": f"t{n}", "priority": p} for n, p in enumerate(priorities)]
    return bench.workflows.advance(done.opened[0].token, {"tasks": tasks})


def worked(bench: Bench, done: Advanced, item: int, success: bool) -> Advanced:
    """Do an item, or fail it as often as it is tried."""
    while (task := done.opened[0].task) is not None and task.position == item:
        token = done.opened[0].token
        done = bench.workflows.advance(token, {"summary": "s", "success": success})
    return done


@pytest.mark.requirement("workflow:vectors")
@pytest.mark.parametrize("name", GOLDEN)
def test_the_runs_of_the_original_end_where_its_bands_say(phased: Bench, name: str) -> None:
    priorities, outcomes, claimed, step, item = GOLDEN[name]
    done = planned(phased, priorities)
    for index, success in enumerate(outcomes):
        done = worked(phased, done, index, success)
    assert opened(done) == ["verify"]
    done = phased.workflows.advance(done.opened[0].token, {"verification_passed": claimed})
    assert (opened(done), done.state) == (([step], "running") if step else ([], "completed"))
    task = done.opened[0].task if step else None
    assert (task.position if task else None) == item


@pytest.mark.requirement("workflow:vectors")
def test_no_payload_writes_what_the_engine_owns(phased: Bench) -> None:
    done = planned(phased, ["high", "low"])
    shadow = {
        "summary": "s",
        "success": True,
        "session_id": "other",
        "execution_id": "other",
        "state": "completed",
        "current_task_index": 7,
        "current_todos": [],
        "reasoning_effectiveness": 1.0,
        "tools": ["*"],
    }
    execution = done.execution_id
    try:
        done = phased.workflows.advance(done.opened[0].token, shadow)
    except WorkflowRefused as refusal:
        assert refusal.code == "output_invalid"
        return
    view = phased.workflows.records.execution(execution)
    assert (done.execution_id, view.state, view.effectiveness) == (execution, "running", 0.8)
    task = done.opened[0].task
    assert task is not None
    assert (done.opened[0].step, task.position, done.opened[0].spec.allowed != ("*",)) == (
        "execute", 1, True,
    )  # fmt: skip


@pytest.mark.requirement("workflow:vectors")
def test_transitions_are_counted_where_they_happened_and_not_by_calls(phased: Bench) -> None:
    done = planned(phased, ["low"])
    execution, token = done.execution_id, done.opened[0].token
    began = phased.types(execution).count("step_started")
    for _ in range(3):
        with pytest.raises(WorkflowRefused) as refused:
            phased.workflows.submit(execution, "verify", {"verification_passed": True})
        assert code_of(refused) == "phase_mismatch"
    assert phased.types(execution).count("step_started") == began
    phased.workflows.advance(token, {"summary": "s", "success": True})
    assert phased.types(execution).count("step_started") == began + 1


@pytest.mark.requirement("workflow:vectors")
def test_low_effectiveness_locks_nobody_in(phased: Bench) -> None:
    done = planned(phased, ["low"])
    execution = done.execution_id
    for _ in range(4):
        done = worked(phased, done, 0, False)
        assert opened(done) == ["verify"]
        done = phased.workflows.advance(done.opened[0].token, {"verification_passed": False})
        assert opened(done) == ["plan"]
        done = phased.workflows.advance(done.opened[0].token, {"tasks": [{"title": "again"}]})
    assert phased.workflows.records.execution(execution).effectiveness < 0.7
    done = phased.workflows.advance(done.opened[0].token, {"summary": "s", "success": True})
    done = phased.workflows.advance(done.opened[0].token, {"verification_passed": True})
    assert done.state == "completed"


@pytest.mark.requirement("workflow:vectors")
def test_a_rollback_is_still_known_after_the_program_ended(phased: Bench) -> None:
    done = planned(phased, ["high", "low"])
    execution = done.execution_id
    done = phased.workflows.advance(done.opened[0].token, {"summary": "s", "success": True})
    before = [
        (t.title, t.status, t.critical) for t in phased.workflows.records.steps(execution)[4].tasks
    ]
    done = worked(phased, done, 1, False)
    done = phased.workflows.advance(done.opened[0].token, {"verification_passed": False})
    assert done.outcome == "rolled_back"
    state = phased.steps(execution)
    phased.close()
    again = Bench(phased.folder, package=True)
    try:
        size = again.store.path.stat().st_size
        assert before == [("t0", "completed", True), ("t1", "running", False)]
        assert again.steps(execution) == state
        assert again.workflows.records.execution(execution).current == tuple(opened(done))
        for _ in range(20):
            again.workflows.records.execution(execution)
        assert again.store.path.stat().st_size == size
    finally:
        again.close()


@pytest.mark.requirement("workflow:vectors")
@pytest.mark.parametrize("upto", range(4))
def test_midex_s_phases_leave_the_rows_and_events_of_its_tests(bench: Bench, upto: int) -> None:
    for name in ("architect", "implementer", "reviewer"):
        bench.persona(name)
    done = bench.begin(MIDEX)
    execution, tokens = done.execution_id, set[str]()
    phases = [("design", "architect"), ("implement", "implementer"), ("review", "reviewer")]
    for phase, agent in phases[:upto]:
        ticket = done.opened[0]
        assert (ticket.step, ticket.persona, ticket.token in tokens) == (phase, agent, False)
        tokens.add(ticket.token)
        finding = {"title": "t", "content": phase}
        output = {"summary": phase, "suggested_findings": [finding]}
        done = bench.workflows.advance(ticket.token, output)
    expected = ["completed"] * upto + ["running"] * (upto < 3) + ["pending"] * (2 - upto)
    assert list(bench.steps(execution).values()) == expected
    assert (done.state, bench.workflows.records.execution(execution).progress) == (
        "running" if upto < 3 else "completed",
        f"{upto}/3",
    )
    types = bench.types(execution)
    assert {"workflow_created", "workflow_started", "token_generated"} <= set(types)
    found = bench.workflows.records.reader.findings(FindingQuery(execution, review="suggested"))
    assert sorted(row.content for row in found) == sorted(phase for phase, _ in phases[:upto])


@pytest.mark.requirement("workflow:vectors")
def test_what_was_refused_is_told_though_its_transaction_was_taken_back(bench: Bench) -> None:
    done = bench.begin("steps: [{id: a, prompt: a}]")
    before = len(bench.types(done.execution_id))
    with pytest.raises(WorkflowRefused):
        bench.workflows.submit(done.execution_id, "nothing", {"summary": "s"})
    events = bench.workflows.records.reader.events(EventQuery(done.execution_id, limit=1000))
    assert [e.type for e in events][before:] == ["refused"]
    assert json.loads(events[-1].data_json)["code"] in ("phase_mismatch", "step_unknown")
    assert [e.seq for e in events] == sorted({e.seq for e in events})
