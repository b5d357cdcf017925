"""Whatever is called in whatever order: no illegal state, no tool outside its gate, nothing lost."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.core.workflow.gate import allows
from tests.ironmanus.harness import PHASES, Harness

LEGAL = {
    "INIT": {"QUERY"},
    "QUERY": {"ENHANCE"},
    "ENHANCE": {"KNOWLEDGE"},
    "KNOWLEDGE": {"PLAN"},
    "PLAN": {"EXECUTE"},
    "EXECUTE": {"EXECUTE", "VERIFY"},
    "VERIFY": {"EXECUTE", "PLAN", "DONE"},
    "DONE": set[str](),
}
"""Seed 000's transitions."""
TODOS = [
    {"content": "a", "priority": "low"},
    {"content": "b", "priority": "high"},
    {"content": "c"},
]
PAYLOADS: list[tuple[str, dict[str, Any]]] = [
    *PHASES,
    ("PLAN", {"plan_created": True, "todos_with_metaprompts": TODOS}),
    ("PLAN", {"plan_created": True, "todos_with_metaprompts": TODOS[:1]}),
    ("EXECUTE", {"execution_success": True, "handoff": "a report that is long enough to be one."}),
    ("EXECUTE", {"execution_success": True, "current_task_index": 7}),
    ("EXECUTE", {"execution_success": False}),
    ("VERIFY", {"verification_passed": True}),
    ("VERIFY", {"verification_passed": False}),
    ("VERIFY", {"current_phase": "DONE"}),
]
LOOKS: list[tuple[str, dict[str, Any]]] = [("LOOK", {}), ("READ", {})]
MOVES = st.sampled_from([*PAYLOADS, *LOOKS, *LOOKS])


async def play(harness: Harness, moves: list[tuple[str, dict[str, Any]]]) -> None:
    """Make the moves and check what must hold after each."""
    await harness.begin()
    for phase, payload in moves:
        before = harness.workflows.records.phase("c")
        if phase == "READ":
            executed = await harness.call("file_operations", operation="list_dir", path=".")
            tools = before.tools if before else None
            free = before is None or (
                before.state == "running" and allows(tools, "file_operations.list_dir")
            )
            assert executed.finished.ok == free, executed.finished.text
            continue
        more = {} if phase == "LOOK" else {"phase_completed": phase, "payload": payload}
        answer = await harness.answer("JARVIS", session_id="s", **more)
        if answer["status"] == "ERROR":
            assert answer["error"]["code"] in (
                "phase_mismatch", "payload_invalid", "evidence_missing", "session_waits",
            )  # fmt: skip
            continue
        passed = await harness.answer("IronManusStateGraph", action="read_graph", session_id="s")
        moved = [
            (r["from"].rpartition("_")[2], r["to"].rpartition("_")[2])
            for r in passed["relations"]
            if r["relationType"] == "transitions_to"
        ]
        assert all(after in LEGAL[came] for came, after in moved), moved
        told = answer["payload"]
        assert 0.3 <= told["reasoning_effectiveness"] <= 1.0
        assert 0 <= told["rollbacks_left"] <= 4
        if answer["status"] == "DONE":
            assert told["completion_percentage"] >= 95
            assert all(t["status"] == "completed" for t in told["current_todos"] if t["critical"])


@pytest.mark.requirement("ironmanus:properties")
@settings(max_examples=15)
@given(st.lists(MOVES, max_size=25))
def test_no_sequence_of_calls_reaches_an_illegal_state(
    moves: list[tuple[str, dict[str, Any]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Path(folder))
        try:
            asyncio.run(play(harness, moves))
        finally:
            harness.close()


@pytest.mark.requirement("ironmanus:properties")
@settings(max_examples=8)
@given(
    st.lists(
        st.fixed_dictionaries({
            "content": st.text(
                st.characters(codec="utf-8", exclude_characters="("), min_size=1
            ).filter(str.strip),
            "priority": st.sampled_from(["low", "medium", "high"]),
            "id": st.text("abc:#-_ ", min_size=1, max_size=8).filter(str.strip),
        }),
        min_size=1,
        max_size=6,
        unique_by=lambda todo: todo["id"].strip(),
    )
)
def test_todos_come_back_from_the_store_as_they_were_planned(todos: list[dict[str, str]]) -> None:
    async def run(folder: Path) -> None:
        harness = Harness(folder)
        await harness.plan(todos)
        harness.close()
        harness = Harness(folder)
        told = (await harness.jarvis("other", session_id="s"))["payload"]["current_todos"]
        assert [(t["id"], t["priority"]) for t in told] == [
            (t["id"].strip(), t["priority"]) for t in todos
        ]
        assert [t["status"] for t in told] == ["in_progress", *["pending"] * (len(todos) - 1)]
        harness.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
