"""Todos, large results and the audit log."""

import sqlite3
from pathlib import Path

import pytest

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.storage.decisions import _seal  # pyright: ignore[reportPrivateUsage]
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.policy import DecisionFilter
from sam_tui.core.todos.item import Todo
from sam_tui.core.verdict import Decision

C = ConversationId("c1")
TODOS = (
    Todo(1, "First", "why", "completed", "high", (), True, "g", 1.0, "", 10.0, 20.0),
    Todo(2, "Second", dependencies=(1,), blocked_reason="waits"),
)
DECISION = Decision("file_operations.create_file", "deny", "user", "write-outside", "outside", "/x")


@pytest.mark.requirement("headless:storage-roundtrip")
def test_a_todo_list_comes_back_equal_and_a_new_one_replaces_it(
    storage: Storage, data_dir: Path
) -> None:
    assert storage.todos.load(C) == ()
    storage.todos.save(C, TODOS)
    again = open_storage(data_dir)
    assert again.todos.load(C) == TODOS
    again.close()
    storage.todos.save(C, TODOS[:1])
    assert storage.todos.load(C) == TODOS[:1]


@pytest.mark.requirement("headless:storage-corrupt-row")
def test_an_unreadable_todo_costs_that_item_only(storage: Storage) -> None:
    storage.todos.save(C, TODOS)
    with storage.database.transaction() as connection:
        connection.execute('UPDATE todos SET items = replace(items, \'"id":1\', \'"id":"?"\')')
    assert storage.todos.load(C) == TODOS[1:]


@pytest.mark.requirement("headless:storage-roundtrip")
def test_a_large_result_is_whole_and_belongs_to_its_conversation(storage: Storage) -> None:
    text = "".join(f"line {n} é\x00\n" for n in range(100_000))
    storage.results.save(C, CallId("call_1"), text)
    storage.results.save(C, CallId("../../etc/passwd"), "a key, never a path")

    assert storage.results.load(C, CallId("call_1")) == text
    assert storage.results.load(ConversationId("other"), CallId("call_1")) is None
    assert storage.results.calls(C) == ["call_1", "../../etc/passwd"]


@pytest.mark.requirement("headless:storage-audit")
def test_decisions_are_kept_in_order_and_cannot_be_changed(
    storage: Storage, data_dir: Path
) -> None:
    storage.decisions.record(C, CallId("a"), DECISION)
    storage.decisions.record(C, CallId("b"), DECISION)
    entries = storage.decisions.entries(C)
    assert [(e.number, e.call, e.decision) for e in entries] == [
        (1, "a", DECISION),
        (2, "b", DECISION),
    ]

    for statement in ("UPDATE decisions SET call = 'z'", "DELETE FROM decisions"):
        with (
            pytest.raises(StorageError, match="only ever added"),
            storage.database.transaction() as c,
        ):
            c.execute(statement)
    assert storage.decisions.first_broken() is None


@pytest.mark.requirement("headless:storage-audit")
def test_decisions_are_read_in_pages_newest_first(storage: Storage) -> None:
    for number in range(1, 6):
        storage.decisions.record(C, CallId(str(number)), DECISION)
    every = DecisionFilter()
    pages = [storage.decisions.page(every, limit=2, before=n) for n in (None, 4, 2, 1)]
    assert [[e.number for e in page] for page in pages] == [[5, 4], [3, 2], [1], []]


@pytest.mark.requirement("headless:storage-audit")
def test_an_altered_or_missing_decision_is_found(storage: Storage, data_dir: Path) -> None:
    for name in "abc":
        storage.decisions.record(C, CallId(name), DECISION)
    connection = sqlite3.connect(data_dir / "sam.db")
    with connection:
        connection.execute("DROP TRIGGER decisions_stay")
        connection.execute(
            "UPDATE decisions SET decision = replace(decision, 'deny', 'allow') WHERE number = 2"
        )
    assert storage.decisions.first_broken() == 2
    with connection:
        connection.execute("DROP TRIGGER decisions_remain")
        connection.execute("DELETE FROM decisions WHERE number = 1")
    connection.close()
    assert storage.decisions.first_broken() == 1


@pytest.mark.requirement("headless:storage-audit")
def test_a_missing_decision_is_found_where_those_behind_it_were_sealed_anew(
    storage: Storage, data_dir: Path
) -> None:
    for name in "abc":
        storage.decisions.record(C, CallId(name), DECISION)
    (*_, before), _, (*last, _) = storage.decisions._rows("", ())  # pyright: ignore[reportPrivateUsage]
    connection = sqlite3.connect(data_dir / "sam.db")
    with connection:
        for trigger in ("decisions_stay", "decisions_remain"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("DELETE FROM decisions WHERE number = 2")
        connection.execute(
            "UPDATE decisions SET chain = ? WHERE number = 3", (_seal(before, *last),)
        )
    connection.close()
    assert storage.decisions.first_broken() == 2


@pytest.mark.requirement("headless:storage-audit")
def test_the_end_of_the_log_is_checked_for_itself(storage: Storage, data_dir: Path) -> None:
    for name in "abcdef":
        storage.decisions.record(C, CallId(name), DECISION)
    assert [storage.decisions.first_broken(last=last) for last in (1, 3, 6, 99)] == [None] * 4
    connection = sqlite3.connect(data_dir / "sam.db")
    with connection:
        connection.execute("DROP TRIGGER decisions_stay")
        connection.execute("UPDATE decisions SET call = 'z' WHERE number = 3")
    assert [storage.decisions.first_broken(last=last) for last in (1, 3, 4, 99)] == [
        None,
        None,
        3,
        3,
    ]
    with connection:
        connection.execute("DROP TRIGGER decisions_remain")
        connection.execute("DELETE FROM decisions WHERE number = 5")
    connection.close()
    assert [storage.decisions.first_broken(last=last) for last in (1, 3)] == [5, 3]
