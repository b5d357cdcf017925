"""The state graph and the health check: what the store says, and what really works."""

import os
import resource
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ironmanus.harness import PHASES, Harness
from tests.ironmanus.test_machine import low


async def graph(harness: Harness, action: str, **more: Any) -> Any:
    """One call of the graph."""
    return await harness.answer("IronManusStateGraph", action=action, session_id="s", **more)


def names(found: Any) -> list[str]:
    """The entities of an answer."""
    return [entity["name"] for entity in found["entities"]]


@pytest.mark.requirement("ironmanus:graph")
async def test_the_engine_s_part_follows_the_session(harness: Harness) -> None:
    await harness.plan([{"id": "a:1", "content": "one: two", "priority": "high"}, *low(1)])
    found = await graph(harness, "read_graph")
    assert names(found)[0] == "s"
    task = next(e for e in found["entities"] if e["name"] == "s_task_a:1")
    assert task["observations"] == [
        "content: one: two", "status: running", "priority: high", "type: DirectExecution",
    ]  # fmt: skip
    moved = [
        (r["from"], r["to"]) for r in found["relations"] if r["relationType"] == "transitions_to"
    ]
    assert moved[0] == ("s_phase_INIT", "s_phase_QUERY")
    assert moved[-1] == ("s_phase_PLAN", "s_phase_EXECUTE")
    assert found["metrics"] == {
        "session_id": "s", "detected_role": "coder", "current_phase": "EXECUTE",
        "phase_transitions": 5, "reasoning_effectiveness": 0.8, "performance_grade": "GOOD",
        "cognitive_enhancement_active": True, "task_complexity_handled": "simple",
        "session_duration_minutes": 0.0,
    }  # fmt: skip


@pytest.mark.requirement("ironmanus:graph")
async def test_a_rollback_is_recorded_and_survives(harness: Harness) -> None:
    await harness.plan(low(2))
    await harness.execute(False)
    await harness.execute(False)
    assert (await harness.verify())["next_phase"] == "PLAN"
    found = await graph(harness, "read_graph")
    edge = {"from": "s_phase_VERIFY", "to": "s_phase_PLAN", "relationType": "transitions_to"}
    assert edge in found["relations"]
    assert found["metrics"]["phase_transitions"] == 7
    assert found["metrics"]["cognitive_enhancement_active"] is False


@pytest.mark.requirement("ironmanus:graph")
async def test_notes_are_kept_beside_it_and_found(harness: Harness) -> None:
    await harness.begin()
    entity = {"name": "api", "entityType": "api", "observations": ["answers: slowly"]}
    await graph(harness, "create_entities", entities=[entity])
    again = {**entity, "observations": ["changed"]}
    found = await graph(harness, "create_entities", entities=[again])
    assert [e for e in found["entities"] if e["name"] == "api"] == [entity]
    edge = {"from": "s", "to": "api", "relationType": "uses"}
    found = await graph(harness, "create_transitions", transitions=[edge, edge])
    assert found["relations"].count(edge) == 1
    await graph(
        harness, "add_observations", observations=[{"entityName": "api", "contents": ["b", "b"]}]
    )
    found = await graph(harness, "search_nodes", query="SLOWLY")
    assert names(found) == ["api"]
    assert found["entities"][0]["observations"] == ["answers: slowly", "b"]
    deletion = {"entityName": "api", "observations": ["b"]}
    await graph(harness, "delete_observations", deletions=[deletion])
    found = await graph(harness, "open_nodes", names=["api", "s"])
    assert (sorted(names(found)), found["relations"]) == (["api", "s"], [edge])
    await graph(harness, "delete_transitions", transitions=[edge])
    assert (await graph(harness, "open_nodes", names=["api", "s"]))["relations"] == []
    found = await graph(harness, "delete_entities", names=["api"])
    assert "api" not in names(found)


@pytest.mark.requirement("ironmanus:graph-owned")
async def test_what_the_engine_keeps_can_be_written_by_nobody(harness: Harness) -> None:
    await harness.plan(low(1))
    refused = [
        ("delete_entities", {"names": ["s"]}),
        ("add_observations", {"observations": [{"entityName": "s", "contents": ["current_phase: DONE"]}]}),
        ("record_phase_transition", {"from_phase": "EXECUTE", "to_phase": "DONE"}),
        ("update_task_status", {"task_id": "1", "status": "completed"}),
        ("record_task_creation", {"task_id": "9", "content": "x"}),
    ]  # fmt: skip
    for action, more in refused:
        assert (await graph(harness, action, **more))["error"]["code"] == "engine_owned", action
    edge = {"from": "s", "to": "s_task_1", "relationType": "contains"}
    lost = await graph(harness, "delete_transitions", transitions=[edge])
    assert lost["error"]["code"] == "engine_owned"
    ghost = {"from": "s", "to": "ghost", "relationType": "uses"}
    assert (await graph(harness, "create_transitions", transitions=[ghost]))["error"]["code"] == (
        "entity_unknown"
    )
    so = await graph(harness, "record_phase_transition", from_phase="PLAN", to_phase="EXECUTE")
    assert so["recorded"] is True
    assert (await graph(harness, "update_task_status", task_id="1", status="in_progress"))[
        "recorded"
    ]
    other = await harness.answer("IronManusStateGraph", action="read_graph", session_id="unheard")
    assert other["error"]["code"] == "session_unknown"


@pytest.mark.requirement("ironmanus:graph")
async def test_a_session_can_be_begun_from_here(harness: Harness) -> None:
    found = await graph(harness, "initialize_session", objective="plan it")
    assert "s_role_planner" in names(found)
    assert (await harness.done(*PHASES[0]))["next_phase"] == "ENHANCE"


@pytest.mark.requirement("ironmanus:health")
async def test_health_touches_the_real_things(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    had_at_most(monkeypatch, 500)
    await harness.begin()
    found = await harness.answer("HealthCheck", detailed=True)
    assert found["status"] == "healthy"
    assert {name: check["status"] for name, check in found["checks"].items()} == dict.fromkeys(
        ["configuration", "toolRegistry", "storage", "workspace", "memory", "process"], "pass"
    )
    assert found["tools"] == [tool.name for tool in harness.tools]
    assert found["sessions"] == {"running": 1}
    assert str(os.getpid()) in found["checks"]["process"]["message"]
    assert not (harness.folder / "iron-manus-sessions" / ".check").exists()


def had_at_most(monkeypatch: pytest.MonkeyPatch, mebibytes: int) -> None:
    """Let the system say that this process has had so much memory: what ran before in it counts, too."""
    unit = 1 if sys.platform == "darwin" else 1024
    usage = SimpleNamespace(ru_maxrss=mebibytes * 1024 * 1024 // unit)

    def measured(_: int) -> SimpleNamespace:
        return usage

    monkeypatch.setattr(resource, "getrusage", measured)


@pytest.mark.requirement("ironmanus:health")
@pytest.mark.parametrize(
    ("mebibytes", "status", "whole"),
    [(512, "pass", "healthy"), (513, "warn", "healthy"), (1025, "fail", "unhealthy")],
)
async def test_memory_that_grows_is_a_warning_and_then_a_fault(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, mebibytes: int, status: str, whole: str
) -> None:
    had_at_most(monkeypatch, mebibytes)
    found = (await harness.call("HealthCheck")).data
    memory = found["checks"]["memory"]
    assert (memory["status"], found["status"]) == (status, whole)
    assert memory["message"] == f"at most {mebibytes} MiB so far"


@pytest.mark.requirement("ironmanus:health")
async def test_what_does_not_work_is_unhealthy(harness: Harness) -> None:
    (harness.folder / "iron-manus-sessions").write_text("in the way", "utf-8")
    executed = await harness.call("HealthCheck")
    assert not executed.finished.ok
    assert '"status": "unhealthy"' in executed.finished.text
    found = executed.data["checks"]
    assert (found["storage"]["status"], found["workspace"]["status"]) == ("pass", "fail")
    assert found["workspace"]["message"]
