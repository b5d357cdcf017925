import pytest

from sam_tui.core.display import Todos
from sam_tui.core.events import TodosChanged
from sam_tui.core.todos.item import Todo
from tests.todos.harness import Harness

ITEM = {"id": 1, "title": "Map the callers", "status": "not-started"}


@pytest.mark.requirement("todos:one-in-progress")
async def test_starting_an_item_sets_the_running_one_back_and_says_so(harness: Harness):
    await harness.stand({**ITEM, "status": "in-progress", "progress": 0.5}, (2, "not-started"))
    done = await harness.todos("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    assert done.finished.ok
    assert "Todo #2 (T2): status: not-started→in-progress" in done.finished.text
    assert (
        "Set back to not-started (only one can be in progress): Todo #1 (Map the callers)"
        in done.finished.text
    )
    assert "Notes" not in done.finished.text
    assert harness.statuses == {1: "not-started", 2: "in-progress"}
    assert harness.items[1].progress == 0.5


@pytest.mark.requirement("todos:one-in-progress")
async def test_of_two_started_by_one_batch_the_last_wins_and_the_other_is_told_as_failed(
    harness: Harness,
):
    await harness.stand((1, "not-started"), (2, "not-started"))
    done = await harness.todos(
        "update",
        todoUpdates=[{"id": 2, "status": "in-progress"}, {"id": 1, "status": "in-progress"}],
    )
    assert done.finished.text.startswith("1 successful, 1 failed\n")
    assert "Todo #2 (T2): not begun" in done.finished.text
    assert harness.statuses == {1: "in-progress", 2: "not-started"}


@pytest.mark.requirement("todos:one-in-progress")
async def test_moving_on_in_one_batch_demotes_nothing(harness: Harness):
    await harness.stand((1, "in-progress"), (2, "not-started"))
    done = await harness.todos(
        "update",
        todoUpdates=[
            {"id": 2, "status": "in-progress"},
            {"id": 1, "status": "completed", "progress": 1.0},
        ],
    )
    assert done.finished.text.startswith("2 successful\n")
    assert "Set back" not in done.finished.text
    assert harness.statuses == {1: "completed", 2: "in-progress"}


@pytest.mark.requirement("todos:one-in-progress")
async def test_a_write_prefers_what_it_starts_over_what_was_running(harness: Harness):
    await harness.stand((1, "in-progress"), (2, "not-started"), (3, "not-started"))
    done = await harness.todos(
        "write", todoList=[{**ITEM, "id": n, "status": "in-progress"} for n in (1, 2, 3)]
    )
    assert harness.statuses == {1: "not-started", 2: "in-progress", 3: "not-started"}
    assert "Set back to not-started (only one can be in progress): Todo #1" in done.finished.text
    assert "Left at not-started (only one can be in progress): Todo #3" in done.finished.text
    assert "NEW STATE: 0 completed, 1 in progress, 2 not started" in done.finished.text


@pytest.mark.requirement("todos:one-in-progress")
async def test_adding_an_item_in_progress_sets_the_running_one_back(harness: Harness):
    await harness.stand((1, "in-progress"))
    done = await harness.todos("add", newTodos=[{"title": "Now", "status": "in-progress"}])
    assert "Set back to not-started" in done.finished.text
    assert harness.statuses == {1: "not-started", 2: "in-progress"}


@pytest.mark.requirement("todos:unmet-warning")
async def test_starting_before_a_dependency_is_done_is_stored_and_warned_of_once(harness: Harness):
    await harness.stand((1, "not-started"), {**ITEM, "id": 2, "dependencies": [1]})
    done = await harness.todos("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    assert done.finished.ok
    assert "Todo 2 is in progress before what it depends on is completed: 1" in done.finished.text
    again = await harness.todos("update", todoUpdates=[{"id": 2, "progress": 0.2}])
    assert "before what it depends on" not in again.finished.text


@pytest.mark.requirement("todos:unmet-warning")
async def test_an_item_that_was_not_begun_after_all_is_not_warned_of(harness: Harness):
    await harness.stand(
        (1, "not-started"), {**ITEM, "id": 2, "dependencies": [1]}, (3, "not-started")
    )
    done = await harness.todos(
        "update",
        todoUpdates=[{"id": 2, "status": "in-progress"}, {"id": 3, "status": "in-progress"}],
    )
    assert "Notes" not in done.finished.text


@pytest.mark.requirement("todos:update")
async def test_update_tells_what_was_applied_what_failed_and_what_was_so_already(harness: Harness):
    await harness.stand((1, "in-progress"), (2, "not-started"), (3, "not-started"))
    done = await harness.todos(
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
        " dependencies, canRunParallel, parallelGroup, progress, blockedReason, subtasks,"
        " estimateMinutes, evidence\n"
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
async def test_an_update_that_applies_nothing_is_no_success(harness: Harness):
    await harness.stand((1, "not-started"))
    for updates in (
        [{"id": 2, "status": "completed"}],
        [{"id": 1, "status": "nope"}],
        [{"id": 1, "status": "not-started"}, {"id": 2, "status": "completed"}],
        [],
    ):
        assert not (await harness.todos("update", todoUpdates=updates)).finished.ok
    assert (
        await harness.todos("update", todoUpdates=[{"id": 1, "status": "not-started"}])
    ).finished.ok


@pytest.mark.requirement("todos:update")
async def test_an_update_of_an_empty_list_says_to_create_it_first(harness: Harness):
    done = await harness.todos("update", todoUpdates=[{"id": 1, "status": "completed"}])
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
    harness: Harness, wrong: dict[str, object], told: str
):
    await harness.stand({**ITEM, "dependencies": [2]}, (2, "not-started"))
    before = harness.items
    done = await harness.todos("update", todoUpdates=[{"id": 1, "title": "New"}, wrong])
    assert not done.finished.ok
    assert told in done.finished.text.replace("1 → 2 → 1", "2 → 1 → 2")
    assert harness.items == before


@pytest.mark.requirement("todos:update")
async def test_every_field_can_be_updated_and_each_is_reported(harness: Harness):
    await harness.stand((1, "not-started"), (2, "not-started"))
    done = await harness.todos(
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
    assert harness.items[2] == Todo(
        2, "B", "d", "blocked", "low", (1,), True, "g", 0.25, "no key", 1_000.0, 1_000.0
    )


@pytest.mark.requirement("todos:unblock")
async def test_the_reason_goes_when_an_item_is_unblocked(harness: Harness):
    await harness.stand({**ITEM, "status": "blocked", "blockedReason": "no key"})
    done = await harness.todos("update", todoUpdates=[{"id": 1, "status": "in-progress"}])
    assert "blockedReason: cleared" in done.finished.text
    assert harness.items[1].blocked_reason == ""
    again = await harness.todos("update", todoUpdates=[{"id": 1, "status": "blocked"}])
    assert not again.finished.ok


@pytest.mark.requirement("todos:unblock")
async def test_a_reason_alone_does_not_block_and_is_told_as_failed(harness: Harness):
    await harness.stand((1, "not-started"))
    done = await harness.todos("update", todoUpdates=[{"id": 1, "blockedReason": "no key"}])
    assert not done.finished.ok
    assert 'blockedReason goes with status "blocked"' in done.finished.text


@pytest.mark.requirement("todos:timestamps")
async def test_only_what_really_changed_gets_a_new_time(harness: Harness):
    await harness.stand((1, "not-started"), (2, "not-started"))
    harness.clock.time = 2_000.0
    await harness.stand((1, "not-started"), (2, "in-progress"), (3, "not-started"))
    await harness.todos("update", todoUpdates=[{"id": 1, "status": "not-started"}])
    times = {id_: (i.created_at, i.updated_at) for id_, i in harness.items.items()}
    assert times == {1: (1_000.0, 1_000.0), 2: (1_000.0, 2_000.0), 3: (2_000.0, 2_000.0)}


@pytest.mark.requirement("todos:report-stored")
async def test_the_report_the_display_the_data_and_the_event_are_what_is_stored(harness: Harness):
    await harness.stand((1, "in-progress"), (2, "not-started"))
    harness.events.drain()
    done = await harness.todos("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    stored = harness.board.items(harness.conversation)
    assert done.finished.display == (Todos(stored),)
    changed = [e for e in harness.events.drain() if isinstance(e, TodosChanged)]
    assert changed == [TodosChanged(harness.conversation, stored)]
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
async def test_a_redundant_update_changes_nothing_and_announces_nothing(harness: Harness):
    await harness.stand((1, "in-progress"))
    harness.events.drain()
    done = await harness.todos("update", todoUpdates=[{"id": 1, "status": "in-progress"}])
    assert done.finished.text.startswith("0 successful, 1 redundant")
    assert not [e for e in harness.events.drain() if isinstance(e, TodosChanged)]


@pytest.mark.requirement("todos:report-stored")
async def test_a_list_that_was_broken_before_can_be_repaired_step_by_step(harness: Harness):
    broken = [Todo(1, "a", dependencies=(8,)), Todo(2, "b", dependencies=(9,))]
    harness.board.replace(harness.conversation, broken)
    none: list[int] = []
    done = await harness.todos("update", todoUpdates=[{"id": 1, "dependencies": none}])
    assert done.finished.ok, done.finished.text
    assert "dependencies: none" in done.finished.text
    assert not (
        await harness.todos("update", todoUpdates=[{"id": 1, "dependencies": [7]}])
    ).finished.ok
