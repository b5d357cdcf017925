"""Subtasks one level deep, estimates, and the evidence that proves an item."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.ids import ConversationId
from sam_tui.core.todos.item import Subtask, Todo
from sam_tui.core.todos.rules import validate
from tests.todos.harness import Harness

ITEM = {"id": 1, "title": "Map the callers", "status": "not-started"}
PARTS = [
    {"id": 1, "title": "Read", "status": "completed"},
    {"id": 2, "title": "Draw", "status": "not-started"},
]
WHOLE = {**ITEM, "subtasks": PARTS, "estimateMinutes": 90, "evidence": ["call_7", "src/a.py"]}


@pytest.mark.requirement("todos:subtasks", "todos:estimates", "todos:evidence")
@pytest.mark.parametrize("operation", ["write", "update", "add"])
async def test_every_operation_takes_subtasks_estimate_and_evidence(
    harness: Harness, operation: str
):
    fields = {name: WHOLE[name] for name in ("subtasks", "estimateMinutes", "evidence")}
    if operation == "update":
        await harness.stand((1, "not-started"))
    name = {"write": "todoList", "update": "todoUpdates", "add": "newTodos"}[operation]
    done = await harness.todos(operation, **{name: [{**ITEM, **fields}]})
    assert done.finished.ok, done.finished.text
    item = harness.items[1]
    assert item.subtasks == (Subtask(1, "Read", "completed"), Subtask(2, "Draw"))
    assert item.estimate_minutes == 90
    assert item.evidence == ("call_7", "src/a.py")


@pytest.mark.requirement("todos:subtasks", "todos:estimates", "todos:evidence")
async def test_read_shows_them_indented_under_their_item(harness: Harness):
    await harness.stand(
        WHOLE,
        {**ITEM, "id": 2, "status": "completed", "evidence": ["make test"], "estimateMinutes": 5},
        {**ITEM, "id": 3, "estimateMinutes": 30},
    )
    text = (await harness.todos("read")).finished.text
    assert "Progress: 1/3 completed (33.3%)\nEstimated time left: 2 h\n" in text
    assert (
        "  1. Map the callers [Estimate: 1 h 30 min]\n"
        "     [x] 1.1 Read\n"
        "     [ ] 1.2 Draw\n"
        "     evidence: call_7\n"
        "     evidence: src/a.py\n"
        "  3. Map the callers [Estimate: 30 min]\n"
    ) in text
    assert "  ✓ 2. Map the callers\n     evidence: make test\n" in text


@pytest.mark.requirement("todos:parts-kept")
async def test_a_write_that_leaves_them_out_keeps_them(harness: Harness):
    await harness.stand(WHOLE)
    await harness.stand({**ITEM, "title": "Map", "status": "in-progress"}, {**ITEM, "id": 2})
    item = harness.items[1]
    assert (item.title, item.status) == ("Map", "in-progress")
    assert len(item.subtasks) == 2
    assert (item.estimate_minutes, item.evidence) == (90, ("call_7", "src/a.py"))
    assert harness.items[2].subtasks == ()


@pytest.mark.requirement("todos:parts-kept")
async def test_a_write_that_gives_them_replaces_them(harness: Harness):
    await harness.stand(WHOLE)
    await harness.stand({
        **ITEM,
        "subtasks": [{"id": 2, "status": "completed"}],
        "evidence": [],
        "estimateMinutes": 0,
    })
    item = harness.items[1]
    assert item.subtasks == (Subtask(2, "Draw", "completed"),)
    assert (item.estimate_minutes, item.evidence) == (None, ())


@pytest.mark.requirement("todos:subtasks")
async def test_update_changes_subtasks_by_id_and_appends_what_has_none(harness: Harness):
    await harness.stand(WHOLE)
    change = [{"id": 2, "status": "completed"}, {"title": "Show"}, "Tell"]
    done = await harness.todos("update", todoUpdates=[{"id": 1, "subtasks": change}])
    assert "subtasks: 2/4 completed" in done.finished.text
    assert harness.items[1].subtasks == (
        Subtask(1, "Read", "completed"),
        Subtask(2, "Draw", "completed"),
        Subtask(3, "Show"),
        Subtask(4, "Tell"),
    )
    none: list[object] = []
    await harness.todos("update", todoUpdates=[{"id": 1, "subtasks": none}])
    assert harness.items[1].subtasks == ()


@pytest.mark.requirement("todos:subtasks")
async def test_completing_an_item_with_open_subtasks_is_stored_and_warned_of_once(harness: Harness):
    await harness.stand(WHOLE)
    done = await harness.todos("update", todoUpdates=[{"id": 1, "status": "completed"}])
    assert done.finished.ok
    assert "Todo 1 is completed with open subtasks: 1.2" in done.finished.text
    again = await harness.todos("update", todoUpdates=[{"id": 1, "description": "x"}])
    assert "open subtasks" not in again.finished.text


@pytest.mark.requirement("todos:subtasks", "todos:estimates", "todos:evidence")
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"subtasks": [{"title": "a", "subtasks": [{"title": "b"}]}]}, "they go one level deep"),
        ({"subtasks": [{"id": 2, "title": "a"}, {"id": 2, "title": "b"}]}, "2 subtasks with id 2"),
        ({"subtasks": [{"id": 0, "title": "a"}]}, "has subtask 0; ids are whole numbers"),
        ({"subtasks": [{"title": " "}]}, "subtasks[0].title is empty"),
        ({"subtasks": [{"status": "completed"}]}, "subtask 1 whose title is empty"),
        (
            {"subtasks": [{"title": "a", "status": "begun"}]},
            'subtasks[0].status "begun" is none of',
        ),
        ({"subtasks": [{"title": str(n)} for n in range(21)]}, "has 21 subtasks; at most 20"),
        ({"subtasks": 5}, 'subtasks "5"'),
        ({"estimateMinutes": -1}, "estimateMinutes -1; it is a number above 0"),
        ({"estimateMinutes": True}, "estimateMinutes must be a number"),
        ({"evidence": [str(n) for n in range(11)]}, "has 11 entries of evidence; at most 10"),
        ({"evidence": ["x" * 201]}, "an entry of evidence over 200 characters"),
        ({"evidence": {"a": 1}}, "evidence "),
    ],
)
async def test_what_breaks_their_rules_is_told_and_nothing_is_stored(
    harness: Harness, fields: dict[str, Any], told: str
):
    done = await harness.todos("write", todoList=[{**ITEM, **fields}])
    assert not done.finished.ok
    assert told in done.finished.text
    assert harness.items == {}


@pytest.mark.requirement("todos:estimates")
@pytest.mark.parametrize("estimate", [math.nan, math.inf, 0.0])
def test_an_estimate_is_a_finite_number_above_zero(estimate: float):
    assert [f.rule for f in validate([Todo(1, "a", estimate_minutes=estimate)])] == ["estimate"]


@pytest.mark.requirement("todos:evidence", "todos:hostile-titles")
async def test_evidence_and_subtask_titles_are_single_visible_lines(harness: Harness):
    await harness.stand({
        **ITEM,
        "evidence": ["a\n\x1b[2Jb\u202e", " ", "a [2Jb", "c"],
        "subtasks": json.dumps([{"title": "one\ntwo\u202e"}]),
    })
    assert harness.items[1].evidence == ("a [2Jb", "c")
    assert harness.items[1].subtasks == (Subtask(1, "one two"),)


@pytest.mark.requirement("todos:parts-stored")
def test_they_outlive_the_process_and_rows_of_an_older_program_still_load(tmp_path: Path):
    here, old = ConversationId("c"), ConversationId("old")
    item = Todo(1, "a", subtasks=(Subtask(1, "b", "completed"),), estimate_minutes=2.5)
    storage = open_storage(tmp_path)
    storage.todos.save(here, [item])
    with storage.database.transaction() as connection:
        row = json.dumps([{"id": 4, "title": "as it was", "status": "blocked"}])
        connection.execute(
            "INSERT INTO todos (conversation, items, updated_at) VALUES (?, ?, 0)", (old, row)
        )
    storage.close()
    storage = open_storage(tmp_path)
    assert storage.todos.load(here) == (item,)
    assert storage.todos.load(old) == (Todo(4, "as it was", status="blocked"),)
    storage.close()
