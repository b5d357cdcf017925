"""The log of decisions: what is asked of it is what comes back, and the seals say whether it is whole."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest

from sam_tui.adapters.storage import Storage
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.policy import DecisionEntry, DecisionFilter
from sam_tui.core.verdict import Decision

HERE, THERE = "/w", "/elsewhere"
ALLOWED = Decision(
    "file_operations.read_file", "allow", "rule", "inside-workspace", "it lies inside"
)
LOGGED: Sequence[tuple[str, Decision]] = (
    ("old", ALLOWED),
    ("old", replace(ALLOWED, outcome="deny", by="user", comment="Not THAT one", rule="r_1")),
    ("new", replace(ALLOWED, workspace=HERE, targets=("/w/Straße", "/w/100%"), asker="the helper")),
    (
        "new",
        replace(ALLOWED, operation="x.run", workspace=THERE, outcome="expired", scope="5 minutes"),
    ),
    (
        "b",
        replace(
            ALLOWED, operation="x.run", workspace=HERE, outcome="cancelled", reason='a "quote"\\!'
        ),
    ),
    ("b", replace(ALLOWED, workspace=HERE, by="hook", rule="rx1", elapsed=1.5)),
)


@pytest.fixture
def logged(storage: Storage) -> Storage:
    """A log of a conversation here from before entries said where, and of others."""
    storage.conversations.create(ConversationId("old"), HERE)
    storage.conversations.create(ConversationId("new"), THERE)
    for number, (conversation, decision) in enumerate(LOGGED, 1):
        storage.decisions.record(ConversationId(conversation), CallId(f"k{number}"), decision)
    return storage


@pytest.mark.requirement("headless:storage-audit")
@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (DecisionFilter(), [6, 5, 4, 3, 2, 1]),
        (DecisionFilter(workspace=HERE), [6, 5, 3, 2, 1]),
        (DecisionFilter(workspace=THERE), [4, 3]),
        (DecisionFilter(conversation="new"), [4, 3]),
        (DecisionFilter(refused=True), [5, 4, 2]),
        (DecisionFilter(workspace=HERE, conversation="b", refused=True), [5]),
        (DecisionFilter(text="x.run"), [5, 4]),
        (DecisionFilter(text="DENY that"), [2]),
        (DecisionFilter(text="straße"), [3]),
        (DecisionFilter(text="STRASSE"), []),
        (DecisionFilter(text="100%"), [3]),
        (DecisionFilter(text="1%0"), []),
        (DecisionFilter(text="r_1"), [2]),
        (DecisionFilter(text='"quote"\\!'), [5]),
        (DecisionFilter(text="helper"), [3]),
        (DecisionFilter(text="minutes x.run"), [4]),
        (DecisionFilter(text="hook"), [6]),
        (DecisionFilter(text="inside-workspace lies"), [4, 3, 1]),
        (DecisionFilter(text="elapsed"), []),
        (DecisionFilter(text="  "), [6, 5, 4, 3, 2, 1]),
    ],
)
def test_a_page_has_what_fits_newest_first(
    logged: Storage, wanted: DecisionFilter, numbers: list[int]
) -> None:
    log = logged.decisions

    def page(limit: int, before: int | None = None) -> list[int]:
        return [entry.number for entry in log.page(wanted, limit=limit, before=before)]

    assert page(99) == numbers
    assert (page(2), page(0)) == (numbers[:2], [])
    assert page(99, 4) == [number for number in numbers if number < 4]
    assert page(1, 0) == []


@pytest.mark.requirement("headless:storage-audit")
def test_words_that_few_entries_hold_are_looked_for_through_the_whole_log(storage: Storage) -> None:
    with storage.database.transaction() as connection:
        body = json.dumps(asdict(ALLOWED))
        rows = [(number, 0.0, "c", "k", body, "") for number in range(2, 1103)]
        connection.execute(
            "INSERT INTO decisions VALUES (1, 0, 'c', 'k', ?, '')",
            (json.dumps(asdict(replace(ALLOWED, comment="éa"))),),
        )
        connection.executemany("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?)", rows)
    for text in ("éa", "lies"):
        entries = storage.decisions.page(DecisionFilter(text=text), limit=1)
        assert [entry.number for entry in entries] == [1 if text == "éa" else 1102]
    assert [e.number for e in storage.decisions.all()] == [*range(1, 1103)]
    assert len(storage.decisions.page(DecisionFilter(), limit=700)) == 700


@pytest.mark.requirement("guard:simulator")
def test_the_past_of_an_operation_is_that_of_the_folder_newest_first(logged: Storage) -> None:
    past = logged.decisions.past

    def numbers(workspace: str, operation: str, limit: int = 9) -> list[int]:
        return [entry.number for entry in past(workspace, operation, limit=limit)]

    read = ALLOWED.operation
    assert numbers(HERE, read) == [6, 3, 2, 1]
    assert numbers(HERE, read, 2) == [6, 3]
    assert (numbers(HERE, read, 0), numbers("/x", read), numbers(HERE, "read_file")) == ([], [], [])
    assert (numbers(HERE, "x.run"), numbers(THERE, "x.run"), numbers(THERE, read)) == (
        [5],
        [4],
        [3],
    )


@pytest.mark.requirement("headless:storage-audit")
def test_each_entry_comes_back_equal_and_is_sealed_over_the_one_before(logged: Storage) -> None:
    entries = [*logged.decisions.all()]
    assert [(e.number, e.conversation, e.call, e.decision) for e in entries] == [
        (number, conversation, f"k{number}", decision)
        for number, (conversation, decision) in enumerate(LOGGED, 1)
    ]
    before = "0" * 64
    for row in logged.database.query("SELECT * FROM decisions ORDER BY number"):
        *entry, seal = row
        text = json.dumps([before, *entry], separators=(",", ":"))
        before = hashlib.sha256(text.encode()).hexdigest()
        assert seal == before
    assert [entry.seal for entry in entries][-1] == before
    assert [e.number for e in logged.decisions.all("b")] == [5, 6]
    assert [e.number for e in logged.decisions.entries(ConversationId("old"))] == [1, 2]
    assert logged.decisions.first_broken() is None


def broken(storage: Storage, statement: str) -> list[int | None]:
    """Where a log breaks that was changed behind its back: as a whole, and of its last 1, 2, 5, 6."""
    with storage.database.transaction() as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'decisions'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
    return [storage.decisions.first_broken(last=last) for last in (None, 1, 2, 5, 6)]


@pytest.mark.requirement("headless:storage-audit")
@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE decisions SET made_at = made_at + 1 WHERE number = 1", [1, None, None, None, 1]),
        ("UPDATE decisions SET chain = 'x' WHERE number = 1", [1, None, None, 2, 1]),
        ("UPDATE decisions SET call = 'x' WHERE number = 5", [5, None, 5, 5, 5]),
        ("DELETE FROM decisions WHERE number = 5", [5, 5, 5, 5, 5]),
        ("DELETE FROM decisions WHERE number = 6", [None, None, None, None, None]),
        ("DELETE FROM decisions WHERE number = 1", [1, None, None, 1, 1]),
        ("UPDATE decisions SET number = 9 WHERE number = 6", [6, 6, 6, 6, 6]),
        ("DELETE FROM decisions", [None, None, None, None, None]),
    ],
)
def test_a_log_that_was_changed_names_the_first_entry_that_is_not_as_it_was(
    logged: Storage, statement: str, found: list[int | None]
) -> None:
    assert broken(logged, statement) == found


@pytest.mark.requirement("headless:storage-audit")
def test_an_entry_of_a_newer_program_is_read_without_what_is_not_known(storage: Storage) -> None:
    with storage.database.transaction() as connection:
        body = json.dumps(asdict(ALLOWED) | {"mood": "fine"})
        connection.execute("INSERT INTO decisions VALUES (1, 2.5, 'c', 'k', ?, 's')", (body,))
    (entry,) = storage.decisions.entries(ConversationId("c"))
    assert entry == DecisionEntry(1, 2.5, ConversationId("c"), CallId("k"), ALLOWED, "s")
