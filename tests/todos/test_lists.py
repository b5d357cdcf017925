from typing import Any

import pytest

from tests.todos.harness import Harness

ITEM = {"id": 1, "title": "Map the callers", "status": "not-started"}


@pytest.mark.requirement("todos:add")
async def test_add_numbers_on_from_the_highest_id_and_keeps_what_is_there(harness: Harness):
    await harness.stand((7, "completed"), (3, "not-started"))
    done = await harness.todos(
        "add", newTodos=[{"title": "One"}, {"title": "Two", "priority": "high"}]
    )
    assert done.finished.text == (
        "Added 2 todos.\n"
        "  + #8: One\n"
        "  + #9: Two\n"
        "\n"
        "CURRENT STATUS: 1 completed, 0 in progress, 3 not started, 0 blocked\n"
        "  Not started: #3: T3, #8: One, #9: Two\n"
        "  Completed: #7: T7"
    )
    assert list(harness.items) == [7, 3, 8, 9]
    assert harness.items[9].priority == "high"


@pytest.mark.requirement("todos:add")
async def test_add_starts_a_list_and_takes_every_field_even_blocked(harness: Harness):
    done = await harness.todos(
        "add",
        newTodos=[
            {"title": "One", "id": 55},
            {"title": "Two", "status": "blocked", "blockedReason": "no key", "dependencies": [1]},
        ],
    )
    assert done.finished.ok
    assert harness.statuses == {1: "not-started", 2: "blocked"}
    assert harness.items[2].blocked_reason == "no key"
    assert harness.items[2].dependencies == (1,)


@pytest.mark.requirement("todos:add")
@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([{"title": "ok"}, {"title": "  "}], "Item at index 1: title is empty"),
        (
            [{"title": "a", "status": "begun"}],
            'index 0: status "begun" is none of not-started, in-',
        ),
        ([{"title": "a", "status": "blocked"}], "Todo 1 is blocked but has no blockedReason"),
        ([], "newTodos is empty"),
    ],
)
async def test_add_stores_nothing_when_an_item_is_wrong(
    harness: Harness, new: list[dict[str, object]], told: str
):
    done = await harness.todos("add", newTodos=new)
    assert not done.finished.ok
    assert told in done.finished.text
    assert harness.items == {}


@pytest.mark.requirement("todos:read")
async def test_read_shows_sections_in_order_sorted_by_id_with_what_each_item_carries(
    harness: Harness,
):
    await harness.stand(
        {**ITEM, "id": 9, "title": "Later", "dependencies": [4]},
        {**ITEM, "id": 4, "title": "Wait", "status": "blocked", "blockedReason": "no key"},
        {
            **ITEM,
            "id": 2,
            "title": "Build",
            "status": "in-progress",
            "description": "the\nwhole of it",
            "priority": "critical",
            "progress": 0.6,
            "dependencies": [4, 1],
        },
        {**ITEM, "id": 8, "title": "Soon", "canRunParallel": True, "parallelGroup": "g"},
        {**ITEM, "status": "completed", "description": "hidden", "priority": "high"},
    )
    done = await harness.todos("read")
    assert done.finished.text == (
        "TODO LIST\n"
        "\n"
        "Progress: 1/5 completed (20.0%)\n"
        "\n"
        "IN PROGRESS:\n"
        "  2. Build [Priority: critical] (60% complete)\n"
        "     → the whole of it\n"
        "     WARNING: begun before #4\n"
        "\n"
        "BLOCKED:\n"
        "  4. Wait\n"
        "     blocked: no key\n"
        "\n"
        "NOT STARTED:\n"
        "  8. Soon [Parallel: g]\n"
        "  9. Later\n"
        "     after #4\n"
        "\n"
        "COMPLETED:\n"
        "  ✓ 1. Map the callers\n"
        "\n"
        "Last updated: 1970-01-01 00:16 UTC"
    )


@pytest.mark.requirement("todos:read")
async def test_read_of_an_empty_list_and_of_a_finished_one_say_so(harness: Harness):
    empty = await harness.todos("read")
    assert empty.finished.ok
    assert empty.finished.text == "TODO LIST\n\nThe list is empty. Create it with write."
    await harness.stand((1, "completed"))
    text = (await harness.todos("read")).finished.text
    assert "1/1 completed (100.0%)" in text
    assert "All todos are completed." in text


@pytest.mark.requirement("todos:write")
async def test_write_reports_the_state_before_and_after(harness: Harness):
    await harness.stand((1, "completed"), (2, "not-started"))
    done = await harness.todos(
        "write",
        todoList=[
            {**ITEM, "status": "completed"},
            {**ITEM, "id": 2, "title": "Build", "status": "in-progress"},
            {**ITEM, "id": 3, "title": "Ship", "status": "blocked", "blockedReason": "no key"},
        ],
    )
    assert done.finished.text == (
        "Stored 3 todos.\n"
        "\n"
        "PREVIOUS STATE: 1 completed, 0 in progress, 1 not started, 0 blocked\n"
        "NEW STATE: 1 completed, 1 in progress, 0 not started, 1 blocked\n"
        "\n"
        "CURRENT STATUS:\n"
        "  In progress: #2: Build\n"
        "  Blocked: #3: Ship\n"
        "  Completed: #1: Map the callers\n"
        "\n"
        "0 not started."
    )


@pytest.mark.requirement("todos:write")
async def test_write_of_nothing_empties_a_list_without_completed_items(harness: Harness):
    await harness.stand((1, "in-progress"))
    done = await harness.todos("write", todoList=[])
    assert done.finished.ok
    assert done.finished.text.endswith("The list is empty now.")
    assert "All todos are completed" not in done.finished.text
    assert harness.items == {}


@pytest.mark.requirement("todos:write")
@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"title": "a", "status": "completed"}, "Item at index 1: id is missing"),
        ({"id": 4, "status": "completed"}, "Todo #4: title is missing"),
        ({"id": 4, "title": " \t ", "status": "completed"}, "Todo #4: title is empty"),
        ({"id": 4, "title": "a"}, "Todo #4: status is missing"),
        (
            {"id": 4, "title": "a", "status": "done"},
            'Todo #4: status "done" is none of not-started, in-progress, completed, blocked',
        ),
        (
            {"id": 4, "title": "a", "status": "completed", "priority": "urgent"},
            'Todo #4: priority "urgent" is none of low, medium, high, critical',
        ),
        ({"id": True, "title": "a", "status": "completed"}, "Item at index 1: id must be a number"),
        (
            {"id": "x", "title": "a", "status": "completed"},
            'index 1: id "x" must be a whole number',
        ),
        (
            {"id": 4, "title": "a", "status": "completed", "progress": "half"},
            '"half" must be a number',
        ),
        ("just text", "Item at index 1: is not an object"),
        ({"id": 4, "title": "x" * 400, "status": "completed"}, "title has 400 characters"),
        ({"id": 1, "title": "a", "status": "not-started"}, "Todo 1 is in the list 2 times"),
        ({"id": 0, "title": "a", "status": "not-started"}, "Todo 0: ids are whole numbers"),
        (
            {"id": 4, "title": "a", "status": "blocked"},
            "Todo 4 is blocked but has no blockedReason",
        ),
        ({"id": 4, "title": "a", "status": "in-progress", "progress": 1.5}, "has progress 1.5"),
        ({"id": 4, "title": "a", "status": "in-progress", "progress": 1e999}, "has progress inf"),
        (
            {"id": 4, "title": "a", "status": "not-started", "dependencies": [4, 10]},
            "Todo 4 depends on todo 10, which is not in the list\n  - Todo 4 depends on itself",
        ),
    ],
)
async def test_write_stores_nothing_when_an_item_is_wrong(harness: Harness, item: Any, told: str):
    await harness.stand((1, "not-started"))
    before = harness.items
    done = await harness.todos("write", todoList=[ITEM, item])
    assert not done.finished.ok
    assert told in done.finished.text
    assert harness.items == before


@pytest.mark.requirement("todos:write")
async def test_write_tells_all_wrong_items_at_once(harness: Harness):
    done = await harness.todos(
        "write", todoList=[{"id": 1}, 5, {"id": 2, "title": "", "status": "?"}]
    )
    assert "(3 problems)" in done.finished.text
    assert "Todo #1: title is missing; status is missing" in done.finished.text
    assert "Item at index 1" in done.finished.text
    assert "Todo #2: title is empty; status" in done.finished.text


@pytest.mark.requirement("todos:cycles")
async def test_a_cycle_through_write_is_refused_with_its_path(harness: Harness):
    done = await harness.todos(
        "write",
        todoList=[{**ITEM, "dependencies": [2]}, {**ITEM, "id": 2, "dependencies": [1]}],
    )
    assert not done.finished.ok
    assert "(2 problems)" in done.finished.text
    assert "1 → 2 → 1" in done.finished.text


@pytest.mark.requirement("todos:completed-protected")
async def test_a_write_that_leaves_out_completed_items_is_refused_and_lists_them(harness: Harness):
    await harness.stand((1, "completed"), (2, "completed"), (3, "not-started"))
    before = harness.items
    done = await harness.todos("write", todoList=[{**ITEM, "id": 2}])
    assert not done.finished.ok
    assert "Todo 1: T1" in done.finished.text
    assert "Todo 2" not in done.finished.text
    assert harness.items == before
    assert not (await harness.todos("write", todoList=[])).finished.ok


@pytest.mark.requirement("todos:completed-protected")
async def test_findings_are_told_before_lost_completed_items(harness: Harness):
    await harness.stand((1, "completed"))
    done = await harness.todos("write", todoList=[{**ITEM, "id": 2, "dependencies": [9]}])
    assert "depends on todo 9" in done.finished.text
    assert "cannot be deleted" not in done.finished.text


@pytest.mark.requirement("todos:completed-protected")
async def test_a_completed_item_may_be_reopened_and_renamed(harness: Harness):
    await harness.stand({**ITEM, "status": "completed", "progress": 1.0})
    done = await harness.todos(
        "update", todoUpdates=[{"id": 1, "status": "not-started", "title": "Again"}]
    )
    assert done.finished.ok
    assert (harness.items[1].status, harness.items[1].title) == ("not-started", "Again")
    assert harness.items[1].progress is None


@pytest.mark.requirement("todos:hostile-titles")
async def test_titles_are_stored_as_one_visible_line(harness: Harness):
    await harness.stand({**ITEM, "title": "a\nb\x1b[2J\u202e", "description": "c\ud800\nd"})
    assert harness.items[1].title == "a b[2J"
    assert harness.items[1].description == "c\nd"
    text = (await harness.todos("read")).finished.text
    assert "\x1b" not in text
    assert "→ c d" in text


@pytest.mark.requirement("todos:conversations")
async def test_each_conversation_has_its_own_list(harness: Harness):
    await harness.stand((1, "completed"))
    harness.conversation = type(harness.conversation)("other")
    harness.storage.conversations.create(harness.conversation, "/ws")
    assert (await harness.todos("read")).finished.text.endswith("Create it with write.")
    assert (await harness.todos("write", todoList=[])).finished.ok
