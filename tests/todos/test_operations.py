import json
from typing import Any

import pytest

from sam_tui.core.display import Todos
from sam_tui.core.events import TodosChanged
from sam_tui.core.todos import Todo
from sam_tui.core.tooling.contract import Schedule
from tests.todos.desk import Desk

ITEM = {"id": 1, "title": "Map the callers", "status": "not-started"}


@pytest.mark.requirement("todos:add")
async def test_add_numbers_on_from_the_highest_id_and_keeps_what_is_there(desk: Desk):
    await desk.stand((7, "completed"), (3, "not-started"))
    done = await desk.todos(
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
    assert list(desk.items) == [7, 3, 8, 9]
    assert desk.items[9].priority == "high"


@pytest.mark.requirement("todos:add")
async def test_add_starts_a_list_and_takes_every_field_even_blocked(desk: Desk):
    done = await desk.todos(
        "add",
        newTodos=[
            {"title": "One", "id": 55},
            {"title": "Two", "status": "blocked", "blockedReason": "no key", "dependencies": [1]},
        ],
    )
    assert done.finished.ok
    assert desk.statuses == {1: "not-started", 2: "blocked"}
    assert desk.items[2].blocked_reason == "no key"
    assert desk.items[2].dependencies == (1,)


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
    desk: Desk, new: list[dict[str, object]], told: str
):
    done = await desk.todos("add", newTodos=new)
    assert not done.finished.ok
    assert told in done.finished.text
    assert desk.items == {}


@pytest.mark.requirement("todos:read")
async def test_read_shows_sections_in_order_sorted_by_id_with_what_each_item_carries(desk: Desk):
    await desk.stand(
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
    done = await desk.todos("read")
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
async def test_read_of_an_empty_list_and_of_a_finished_one_say_so(desk: Desk):
    empty = await desk.todos("read")
    assert empty.finished.ok
    assert empty.finished.text == "TODO LIST\n\nThe list is empty. Create it with write."
    await desk.stand((1, "completed"))
    text = (await desk.todos("read")).finished.text
    assert "1/1 completed (100.0%)" in text
    assert "All todos are completed." in text


@pytest.mark.requirement("todos:write")
async def test_write_reports_the_state_before_and_after(desk: Desk):
    await desk.stand((1, "completed"), (2, "not-started"))
    done = await desk.todos(
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
async def test_write_of_nothing_empties_a_list_without_completed_items(desk: Desk):
    await desk.stand((1, "in-progress"))
    done = await desk.todos("write", todoList=[])
    assert done.finished.ok
    assert done.finished.text.endswith("The list is empty now.")
    assert "All todos are completed" not in done.finished.text
    assert desk.items == {}


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
        ({"id": "x", "title": "a", "status": "completed"}, 'Item at index 1: id "x": '),
        ({"id": 4, "title": "a", "status": "completed", "progress": "half"}, '"half": '),
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
async def test_write_stores_nothing_when_an_item_is_wrong(desk: Desk, item: Any, told: str):
    await desk.stand((1, "not-started"))
    before = desk.items
    done = await desk.todos("write", todoList=[ITEM, item])
    assert not done.finished.ok
    assert told in done.finished.text
    assert desk.items == before


@pytest.mark.requirement("todos:write")
async def test_write_tells_all_wrong_items_at_once(desk: Desk):
    done = await desk.todos("write", todoList=[{"id": 1}, 5, {"id": 2, "title": "", "status": "?"}])
    assert "(3 problems)" in done.finished.text
    assert "Todo #1: title is missing; status is missing" in done.finished.text
    assert "Item at index 1" in done.finished.text
    assert "Todo #2: title is empty; status" in done.finished.text


@pytest.mark.requirement("todos:cycles")
async def test_a_cycle_through_write_is_refused_with_its_path(desk: Desk):
    done = await desk.todos(
        "write",
        todoList=[{**ITEM, "dependencies": [2]}, {**ITEM, "id": 2, "dependencies": [1]}],
    )
    assert not done.finished.ok
    assert "(2 problems)" in done.finished.text
    assert "1 → 2 → 1" in done.finished.text


@pytest.mark.requirement("todos:completed-protected")
async def test_a_write_that_leaves_out_completed_items_is_refused_and_lists_them(desk: Desk):
    await desk.stand((1, "completed"), (2, "completed"), (3, "not-started"))
    before = desk.items
    done = await desk.todos("write", todoList=[{**ITEM, "id": 2}])
    assert not done.finished.ok
    assert "Todo 1: T1" in done.finished.text
    assert "Todo 2" not in done.finished.text
    assert desk.items == before
    assert not (await desk.todos("write", todoList=[])).finished.ok


@pytest.mark.requirement("todos:completed-protected")
async def test_findings_are_told_before_lost_completed_items(desk: Desk):
    await desk.stand((1, "completed"))
    done = await desk.todos("write", todoList=[{**ITEM, "id": 2, "dependencies": [9]}])
    assert "depends on todo 9" in done.finished.text
    assert "cannot be deleted" not in done.finished.text


@pytest.mark.requirement("todos:completed-protected")
async def test_a_completed_item_may_be_reopened_and_renamed(desk: Desk):
    await desk.stand({**ITEM, "status": "completed", "progress": 1.0})
    done = await desk.todos(
        "update", todoUpdates=[{"id": 1, "status": "not-started", "title": "Again"}]
    )
    assert done.finished.ok
    assert (desk.items[1].status, desk.items[1].title) == ("not-started", "Again")
    assert desk.items[1].progress is None


@pytest.mark.requirement("todos:one-in-progress")
async def test_starting_an_item_sets_the_running_one_back_and_says_so(desk: Desk):
    await desk.stand({**ITEM, "status": "in-progress", "progress": 0.5}, (2, "not-started"))
    done = await desk.todos("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    assert done.finished.ok
    assert "Todo #2 (T2): status: not-started→in-progress" in done.finished.text
    assert (
        "Set back to not-started (only one can be in progress): Todo #1 (Map the callers)"
        in done.finished.text
    )
    assert "Notes" not in done.finished.text
    assert desk.statuses == {1: "not-started", 2: "in-progress"}
    assert desk.items[1].progress == 0.5


@pytest.mark.requirement("todos:one-in-progress")
async def test_of_two_started_by_one_batch_the_last_wins_and_the_other_is_told_as_failed(
    desk: Desk,
):
    await desk.stand((1, "not-started"), (2, "not-started"))
    done = await desk.todos(
        "update",
        todoUpdates=[{"id": 2, "status": "in-progress"}, {"id": 1, "status": "in-progress"}],
    )
    assert done.finished.text.startswith("1 successful, 1 failed\n")
    assert "Todo #2 (T2): not begun" in done.finished.text
    assert desk.statuses == {1: "in-progress", 2: "not-started"}


@pytest.mark.requirement("todos:one-in-progress")
async def test_moving_on_in_one_batch_demotes_nothing(desk: Desk):
    await desk.stand((1, "in-progress"), (2, "not-started"))
    done = await desk.todos(
        "update",
        todoUpdates=[
            {"id": 2, "status": "in-progress"},
            {"id": 1, "status": "completed", "progress": 1.0},
        ],
    )
    assert done.finished.text.startswith("2 successful\n")
    assert "Set back" not in done.finished.text
    assert desk.statuses == {1: "completed", 2: "in-progress"}


@pytest.mark.requirement("todos:one-in-progress")
async def test_a_write_prefers_what_it_starts_over_what_was_running(desk: Desk):
    await desk.stand((1, "in-progress"), (2, "not-started"), (3, "not-started"))
    done = await desk.todos(
        "write", todoList=[{**ITEM, "id": n, "status": "in-progress"} for n in (1, 2, 3)]
    )
    assert desk.statuses == {1: "not-started", 2: "in-progress", 3: "not-started"}
    assert "Set back to not-started (only one can be in progress): Todo #1" in done.finished.text
    assert "Left at not-started (only one can be in progress): Todo #3" in done.finished.text
    assert "NEW STATE: 0 completed, 1 in progress, 2 not started" in done.finished.text


@pytest.mark.requirement("todos:one-in-progress")
async def test_adding_an_item_in_progress_sets_the_running_one_back(desk: Desk):
    await desk.stand((1, "in-progress"))
    done = await desk.todos("add", newTodos=[{"title": "Now", "status": "in-progress"}])
    assert "Set back to not-started" in done.finished.text
    assert desk.statuses == {1: "not-started", 2: "in-progress"}


@pytest.mark.requirement("todos:unmet-warning")
async def test_starting_before_a_dependency_is_done_is_stored_and_warned_of_once(desk: Desk):
    await desk.stand((1, "not-started"), {**ITEM, "id": 2, "dependencies": [1]})
    done = await desk.todos("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    assert done.finished.ok
    assert "Todo 2 is in progress before what it depends on is completed: 1" in done.finished.text
    again = await desk.todos("update", todoUpdates=[{"id": 2, "progress": 0.2}])
    assert "before what it depends on" not in again.finished.text


@pytest.mark.requirement("todos:update")
async def test_update_tells_what_was_applied_what_failed_and_what_was_so_already(desk: Desk):
    await desk.stand((1, "in-progress"), (2, "not-started"), (3, "not-started"))
    done = await desk.todos(
        "update",
        todoUpdates=[
            {"id": 1, "status": "completed", "progress": 1.0},
            {"id": 2, "status": "not-started"},
            {"id": 3, "status": "finished"},
            {"id": 9, "status": "completed"},
            {"status": "completed"},
            {"id": 3, "priority": "hot"},
            {"id": 3},
        ],
    )
    assert done.finished.ok
    assert done.finished.text == (
        "1 successful, 5 failed, 1 redundant\n"
        "\n"
        "Applied:\n"
        "  Todo #1 (T1): status: in-progress→completed, progress: 100%\n"
        "\n"
        "Failed:\n"
        '  Todo #3: status "finished" is none of not-started, in-progress, completed, blocked\n'
        "  Todo #9: not in the list\n"
        "  Item at index 4: id is missing\n"
        '  Todo #3: priority "hot" is none of low, medium, high, critical\n'
        "  Todo #3: nothing to change was given; fields are title, description, status, priority,"
        " dependencies, canRunParallel, parallelGroup, progress, blockedReason\n"
        "\n"
        "Redundant:\n"
        "  Todo #2 (T2): already not-started, nothing new\n"
        "  An update that changes nothing can be left out.\n"
        "\n"
        "CURRENT STATUS: 1/3 completed (33.3%)\n"
        "  Not started: #2: T2, #3: T3\n"
        "  Completed: #1: T1"
    )


@pytest.mark.requirement("todos:update")
async def test_an_update_that_applies_nothing_is_no_success(desk: Desk):
    await desk.stand((1, "not-started"))
    for updates in (
        [{"id": 2, "status": "completed"}],
        [{"id": 1, "status": "nope"}],
        [{"id": 1, "status": "not-started"}, {"id": 2, "status": "completed"}],
        [],
    ):
        assert not (await desk.todos("update", todoUpdates=updates)).finished.ok
    assert (
        await desk.todos("update", todoUpdates=[{"id": 1, "status": "not-started"}])
    ).finished.ok


@pytest.mark.requirement("todos:update")
async def test_an_update_of_an_empty_list_says_to_create_it_first(desk: Desk):
    done = await desk.todos("update", todoUpdates=[{"id": 1, "status": "completed"}])
    assert not done.finished.ok
    assert "Create it with write" in done.finished.text


@pytest.mark.requirement("todos:update")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"id": 2, "status": "blocked"}, "Todo 2 is blocked but has no blockedReason"),
        ({"id": 2, "progress": 7}, "Todo 2 has progress 7"),
        ({"id": 2, "dependencies": [44]}, "Todo 2 depends on todo 44"),
        ({"id": 2, "dependencies": [1]}, "2 → 1 → 2"),
    ],
)
async def test_an_update_that_breaks_a_rule_rejects_the_whole_batch(
    desk: Desk, wrong: dict[str, object], told: str
):
    await desk.stand({**ITEM, "dependencies": [2]}, (2, "not-started"))
    before = desk.items
    done = await desk.todos("update", todoUpdates=[{"id": 1, "title": "New"}, wrong])
    assert not done.finished.ok
    assert told in done.finished.text.replace("1 → 2 → 1", "2 → 1 → 2")
    assert desk.items == before


@pytest.mark.requirement("todos:update")
async def test_every_field_can_be_updated_and_each_is_reported(desk: Desk):
    await desk.stand((1, "not-started"), (2, "not-started"))
    done = await desk.todos(
        "update",
        todoUpdates=[
            {
                "id": 2,
                "title": "B",
                "description": "d",
                "status": "blocked",
                "priority": "low",
                "dependencies": [1],
                "canRunParallel": True,
                "parallelGroup": "g",
                "progress": 0.25,
                "blockedReason": "no key",
            }
        ],
    )
    assert (
        "Todo #2 (B): status: not-started→blocked, progress: 25%, title: was T2,"
        " priority: medium→low, dependencies: 1, blockedReason: no key, description changed,"
        " canRunParallel changed, parallelGroup changed"
    ) in done.finished.text
    assert desk.items[2] == Todo(
        2, "B", "d", "blocked", "low", (1,), True, "g", 0.25, "no key", 1_000.0, 1_000.0
    )


@pytest.mark.requirement("todos:unblock")
async def test_the_reason_goes_when_an_item_is_unblocked(desk: Desk):
    await desk.stand({**ITEM, "status": "blocked", "blockedReason": "no key"})
    done = await desk.todos("update", todoUpdates=[{"id": 1, "status": "in-progress"}])
    assert "blockedReason: cleared" in done.finished.text
    assert desk.items[1].blocked_reason == ""
    again = await desk.todos("update", todoUpdates=[{"id": 1, "status": "blocked"}])
    assert not again.finished.ok


@pytest.mark.requirement("todos:unblock")
async def test_a_reason_alone_does_not_block_and_is_told_as_failed(desk: Desk):
    await desk.stand((1, "not-started"))
    done = await desk.todos("update", todoUpdates=[{"id": 1, "blockedReason": "no key"}])
    assert not done.finished.ok
    assert 'blockedReason goes with status "blocked"' in done.finished.text


@pytest.mark.requirement("todos:forms")
@pytest.mark.parametrize("progress", [0.65, "0.65", "65%", " 65 % "])
async def test_progress_may_be_a_number_or_text(desk: Desk, progress: object):
    await desk.stand({**ITEM, "status": "in-progress", "progress": progress})
    assert desk.items[1].progress == 0.65
    await desk.todos("update", todoUpdates=[{"id": 1, "progress": 1}])
    assert desk.items[1].progress == 1.0
    await desk.todos("update", todoUpdates=[{"id": 1, "progress": progress}])
    assert desk.items[1].progress == 0.65


@pytest.mark.requirement("todos:forms")
async def test_lists_may_come_as_json_text_and_names_in_snake_case(desk: Desk):
    item = {
        **ITEM,
        "id": "1",
        "status": "IN_PROGRESS",
        "dependencies": "[]",
        "blocked_reason": None,
        "can_run_parallel": "true",
        "unknown": 1,
    }
    done = await desk.todos("write", todoList=json.dumps([item]))
    assert done.finished.ok, done.finished.text
    assert desk.items[1].status == "in-progress"
    assert desk.items[1].can_run_parallel
    done = await desk.todos("add", newTodos=[json.dumps({"title": 5})])
    assert desk.items[2].title == "5"
    done = await desk.todos("update", todoUpdates='[{"id": 1, "status": "completed"}]')
    assert done.finished.ok


@pytest.mark.requirement("todos:usage")
@pytest.mark.parametrize(
    ("operation", "parameter"),
    [("write", "todoList"), ("update", "todoUpdates"), ("add", "newTodos")],
)
@pytest.mark.parametrize("wrong", ["1. do it", {"id": 1}, 5, None])
async def test_a_wrong_container_is_told_with_a_correct_call(
    desk: Desk, operation: str, parameter: str, wrong: object
):
    await desk.stand((1, "not-started"))
    before = desk.items
    for arguments in ({parameter: wrong}, {}):
        done = await desk.todos(operation, **arguments)
        assert not done.finished.ok
        assert f'"operation": "{operation}", "{parameter}": [{{' in done.finished.text
    assert desk.items == before


@pytest.mark.requirement("todos:usage")
async def test_an_unknown_operation_is_told_with_those_there_are(desk: Desk):
    done = await desk.todos("delete")
    assert not done.finished.ok
    assert "read, write, update, add" in done.finished.text


@pytest.mark.requirement("todos:timestamps")
async def test_only_what_really_changed_gets_a_new_time(desk: Desk):
    await desk.stand((1, "not-started"), (2, "not-started"))
    desk.clock.time = 2_000.0
    await desk.stand((1, "not-started"), (2, "in-progress"), (3, "not-started"))
    await desk.todos("update", todoUpdates=[{"id": 1, "status": "not-started"}])
    times = {id_: (i.created_at, i.updated_at) for id_, i in desk.items.items()}
    assert times == {1: (1_000.0, 1_000.0), 2: (1_000.0, 2_000.0), 3: (2_000.0, 2_000.0)}


@pytest.mark.requirement("todos:report-stored")
async def test_the_report_the_display_the_data_and_the_event_are_what_is_stored(desk: Desk):
    await desk.stand((1, "in-progress"), (2, "not-started"))
    desk.events.drain()
    done = await desk.todos("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    stored = desk.board.items(desk.conversation)
    assert done.finished.display == (Todos(stored),)
    changed = [e for e in desk.events.drain() if isinstance(e, TodosChanged)]
    assert changed == [TodosChanged(desk.conversation, stored)]
    assert done.data == {
        "conversationId": "c",
        "totalTodos": 2,
        "completedTodos": 0,
        "inProgressTodos": 1,
        "notStartedTodos": 1,
        "blockedTodos": 0,
        "completionRate": 0.0,
    }


@pytest.mark.requirement("todos:report-stored")
async def test_a_redundant_update_changes_nothing_and_announces_nothing(desk: Desk):
    await desk.stand((1, "in-progress"))
    desk.events.drain()
    done = await desk.todos("update", todoUpdates=[{"id": 1, "status": "in-progress"}])
    assert done.finished.text.startswith("0 successful, 1 redundant")
    assert not [e for e in desk.events.drain() if isinstance(e, TodosChanged)]


@pytest.mark.requirement("todos:report-stored")
async def test_a_list_that_was_broken_before_can_be_repaired_step_by_step(desk: Desk):
    broken = [Todo(1, "a", dependencies=(8,)), Todo(2, "b", dependencies=(9,))]
    desk.board.replace(desk.conversation, broken)
    done = await desk.todos("update", todoUpdates=[{"id": 1, "dependencies": []}])
    assert done.finished.ok, done.finished.text
    assert "dependencies: none" in done.finished.text
    assert not (
        await desk.todos("update", todoUpdates=[{"id": 1, "dependencies": [7]}])
    ).finished.ok


@pytest.mark.requirement("todos:hostile-titles")
async def test_titles_are_stored_as_one_visible_line(desk: Desk):
    await desk.stand({**ITEM, "title": "a\nb\x1b[2J\u202e", "description": "c\ud800\nd"})
    assert desk.items[1].title == "a b[2J"
    assert desk.items[1].description == "c\nd"
    text = (await desk.todos("read")).finished.text
    assert "\x1b" not in text
    assert "→ c d" in text


@pytest.mark.requirement("todos:conversations")
async def test_each_conversation_has_its_own_list(desk: Desk):
    await desk.stand((1, "completed"))
    desk.conversation = type(desk.conversation)("other")
    desk.storage.conversations.create(desk.conversation, "/ws")
    assert (await desk.todos("read")).finished.text.endswith("Create it with write.")
    assert (await desk.todos("write", todoList=[])).finished.ok


@pytest.mark.requirement("todos:summaries")
@pytest.mark.parametrize(
    ("operation", "arguments", "summary"),
    [
        ("read", {}, "Reading todo list"),
        ("write", {"todoList": [ITEM]}, "Creating todo list (1 task)"),
        ("write", {"todoList": [ITEM, {**ITEM, "id": 2}]}, "Creating todo list (2 tasks)"),
        ("update", {"todoUpdates": [{"id": 1, "status": "in-progress"}]}, "Starting: todo #1"),
        (
            "update",
            {"todoUpdates": [{"id": 1, "status": "completed", "title": "x" * 50}]},
            f"Completed: {'x' * 34}…",
        ),
        (
            "update",
            {"todoUpdates": [{"id": 1, "status": "blocked"}]},
            "Updating todo #1: blocked",
        ),
        ("update", {"todoUpdates": [{"id": 1, "progress": 1}]}, "Updating todo #1"),
        ("update", {"todoUpdates": [{"id": 1, "status": "?"}]}, "Updating todo #1"),
        ("update", {"todoUpdates": [{}]}, "Updating 1 todo"),
        ("update", {"todoUpdates": [{"id": 1}, {"id": 2}]}, "Updating 2 todos"),
        ("add", {"newTodos": [{"title": "Write\nit"}]}, "Adding task: Write it"),
        ("add", {"newTodos": [{"title": "a"}, {"title": "b"}]}, "Adding 2 new tasks"),
        ("add", {"newTodos": ["?"]}, "Adding 1 new task"),
    ],
)
async def test_the_card_says_what_the_call_does(
    desk: Desk, operation: str, arguments: dict[str, object], summary: str
):
    assert (await desk.todos(operation, **arguments)).finished.summary == summary


@pytest.mark.requirement("todos:schema")
def test_the_schema_names_the_seeds_fields_in_order_and_every_operation_is_serial(desk: Desk):
    tool = desk.registry.resolve("todo_operations").tool
    assert [o.name for o in tool.operations] == ["read", "write", "update", "add"]
    assert {o.schedule for o in tool.operations} == {Schedule.SERIAL}
    function: Any = next(
        s["function"] for s in desk.registry.schemas if s["function"]["name"] == "todo_operations"
    )
    properties = function["parameters"]["properties"]
    fields = ["title", "description", "status", "priority", "dependencies"]
    fields += ["canRunParallel", "parallelGroup", "progress", "blockedReason"]
    assert list(properties) == ["operation", "todoList", "todoUpdates", "newTodos"]
    assert list(properties["todoList"]["items"]["properties"]) == ["id", *fields]
    assert list(properties["todoUpdates"]["items"]["properties"]) == ["id", *fields]
    assert list(properties["newTodos"]["items"]["properties"]) == fields
    assert properties["todoList"]["items"]["required"] == ["id", "title", "status"]
    assert properties["todoUpdates"]["items"]["required"] == ["id"]
    assert properties["newTodos"]["items"]["required"] == ["title"]
    assert "$ref" not in json.dumps(function)
    assert "anyOf" not in json.dumps(function)
