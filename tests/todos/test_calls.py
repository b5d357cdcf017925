import json
from typing import Any

import pytest

from sam_tui.core.tooling.contract import Schedule
from tests.todos.harness import Harness

ITEM = {"id": 1, "title": "Map the callers", "status": "not-started"}


@pytest.mark.requirement("todos:forms")
@pytest.mark.parametrize("progress", [0.65, "0.65", "65%", " 65 % "])
async def test_progress_may_be_a_number_or_text(harness: Harness, progress: object):
    await harness.stand({**ITEM, "status": "in-progress", "progress": progress})
    assert harness.items[1].progress == 0.65
    await harness.todos("update", todoUpdates=[{"id": 1, "progress": 1}])
    assert harness.items[1].progress == 1.0
    await harness.todos("update", todoUpdates=[{"id": 1, "progress": progress}])
    assert harness.items[1].progress == 0.65


@pytest.mark.requirement("todos:forms")
async def test_lists_may_come_as_json_text_and_names_in_snake_case(harness: Harness):
    item = {
        **ITEM,
        "id": "1",
        "status": "IN_PROGRESS",
        "dependencies": "[]",
        "blocked_reason": None,
        "can_run_parallel": "true",
        "unknown": 1,
    }
    done = await harness.todos("write", todoList=json.dumps([item]))
    assert done.finished.ok, done.finished.text
    assert harness.items[1].status == "in-progress"
    assert harness.items[1].can_run_parallel
    done = await harness.todos("add", newTodos=[json.dumps({"title": 5})])
    assert harness.items[2].title == "5"
    done = await harness.todos("update", todoUpdates='[{"id": 1, "status": "completed"}]')
    assert done.finished.ok


@pytest.mark.requirement("todos:usage")
@pytest.mark.parametrize(
    ("operation", "parameter"),
    [("write", "todoList"), ("update", "todoUpdates"), ("add", "newTodos")],
)
@pytest.mark.parametrize("wrong", ["1. do it", {"id": 1}, 5, None])
async def test_a_wrong_container_is_told_with_a_correct_call(
    harness: Harness, operation: str, parameter: str, wrong: object
):
    await harness.stand((1, "not-started"))
    before = harness.items
    for arguments in ({parameter: wrong}, {}):
        done = await harness.todos(operation, **arguments)
        assert not done.finished.ok
        assert f'"operation": "{operation}", "{parameter}": [{{' in done.finished.text
    assert harness.items == before


@pytest.mark.requirement("todos:usage")
async def test_an_unknown_operation_is_told_with_those_there_are(harness: Harness):
    done = await harness.todos("delete")
    assert not done.finished.ok
    assert "read, write, update, add" in done.finished.text


CARDS: list[tuple[str, dict[str, Any], str]] = [
    ("read", {}, "Reading todo list"),
    ("write", {"todoList": [ITEM]}, "Creating todo list (1 task)"),
    ("write", {"todoList": [ITEM, {**ITEM, "id": 2}]}, "Creating todo list (2 tasks)"),
    ("update", {"todoUpdates": [{"id": 1, "status": "in-progress"}]}, "Starting: todo #1"),
    (
        "update",
        {"todoUpdates": [{"id": 1, "status": "completed", "title": "x" * 50}]},
        f"Completed: {'x' * 34}…",
    ),
    ("update", {"todoUpdates": [{"id": 1, "status": "blocked"}]}, "Updating todo #1: blocked"),
    ("update", {"todoUpdates": [{"id": 1, "progress": 1}]}, "Updating todo #1"),
    ("update", {"todoUpdates": [{"id": 1, "status": "?"}]}, "Updating todo #1"),
    ("update", {"todoUpdates": [{}]}, "Updating 1 todo"),
    ("update", {"todoUpdates": [{"id": 1}, {"id": 2}]}, "Updating 2 todos"),
    ("add", {"newTodos": [{"title": "Write\nit"}]}, "Adding task: Write it"),
    ("add", {"newTodos": [{"title": "a"}, {"title": "b"}]}, "Adding 2 new tasks"),
    ("add", {"newTodos": ["?"]}, "Adding 1 new task"),
]


@pytest.mark.requirement("todos:summaries")
@pytest.mark.parametrize(("operation", "arguments", "summary"), CARDS)
async def test_the_card_says_what_the_call_does(
    harness: Harness, operation: str, arguments: dict[str, Any], summary: str
):
    assert (await harness.todos(operation, **arguments)).finished.summary == summary


@pytest.mark.requirement("todos:schema")
def test_the_schema_names_the_seeds_fields_in_order_and_every_operation_is_serial(harness: Harness):
    tool = harness.registry.resolve("todo_operations").tool
    assert [o.name for o in tool.operations] == ["read", "write", "update", "add"]
    assert {o.schedule for o in tool.operations} == {Schedule.SERIAL}
    function: Any = next(
        s["function"]
        for s in harness.registry.schemas
        if s["function"]["name"] == "todo_operations"
    )
    properties = function["parameters"]["properties"]
    fields = ["title", "description", "status", "priority", "dependencies"]
    fields += ["canRunParallel", "parallelGroup", "progress", "blockedReason"]
    fields += ["subtasks", "estimateMinutes", "evidence"]
    assert list(properties) == ["operation", "todoList", "todoUpdates", "newTodos"]
    assert list(properties["todoList"]["items"]["properties"]) == ["id", *fields]
    assert list(properties["todoUpdates"]["items"]["properties"]) == ["id", *fields]
    assert list(properties["newTodos"]["items"]["properties"]) == fields
    assert properties["todoList"]["items"]["required"] == ["id", "title", "status"]
    assert properties["todoUpdates"]["items"]["required"] == ["id"]
    assert properties["newTodos"]["items"]["required"] == ["title"]
    assert len(json.dumps(function, separators=(",", ":")).encode()) < 2_694 + 600
    assert "$ref" not in json.dumps(function)
    assert "anyOf" not in json.dumps(function)
