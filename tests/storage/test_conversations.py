"""Conversations survive what happens to programs and files."""

import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.storage.conversations import UNREADABLE
from sam_tui.adapters.storage.plain_text import TITLE_LENGTH, storable, title_of
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    unanswered,
)
from sam_tui.core.usage import Usage

C = ConversationId("c1")
CALL = CallId("call_1")
TALK: list[Message] = [
    UserMessage("Read it"),
    ReminderMessage("todo_list", "Nothing open."),
    AssistantMessage("Reading.", "hm", (ToolCall(CALL, "read", '{"a": 1}'),), {"k": [1, "x"]}),
    ToolMessage(CALL, "read", "line\n\x00é", ok=True),
    AssistantMessage("Done."),
]


def damage(data_dir: Path, sql: str) -> None:
    connection = sqlite3.connect(data_dir / "sam.db")
    with connection:
        connection.execute(sql)
    connection.close()


@pytest.mark.requirement("headless:storage-roundtrip")
def test_what_was_appended_comes_back_equal_in_another_connection(
    storage: Storage, data_dir: Path
) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, TALK[:2])
    storage.conversations.append(C, TALK[2:])

    again = open_storage(data_dir)
    assert again.conversations.messages(C) == TALK
    record = again.conversations.find(C)
    again.close()

    assert record is not None
    assert (record.workspace, record.title, record.messages) == ("/w", "Read it", 5)


@pytest.mark.requirement("headless:storage-roundtrip")
def test_creating_a_conversation_twice_keeps_the_first(storage: Storage) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, TALK)
    storage.conversations.create(C, "/elsewhere")

    record = storage.conversations.find(C)
    assert record is not None
    assert (record.workspace, record.messages) == ("/w", 5)


@pytest.mark.requirement("headless:continue")
def test_the_latest_of_a_workspace_is_the_one_used_last_that_has_messages(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, workspace in (("a", "/w"), ("b", "/w"), ("c", "/x"), ("empty", "/w")):
        storage.conversations.create(ConversationId(name), workspace)
    for name in ("a", "b", "c", "a"):
        storage.conversations.append(ConversationId(name), [UserMessage(name)])

    latest = storage.conversations.latest("/w")
    assert latest is not None and latest.id == "a"
    assert storage.conversations.latest("/nowhere") is None
    assert [r.id for r in storage.conversations.recent(None, 10)] == ["a", "c", "b"]
    assert [r.id for r in storage.conversations.recent("/w", 1)] == ["a"]
    asked = [(p.text, p.position) for p in storage.conversations.prompts("/w", 2)]
    monkeypatch.setattr(time, "time", lambda: 86_400.0)  # the machine's clock is set back
    storage.conversations.append(ConversationId("b"), [UserMessage("b")])
    latest = storage.conversations.latest("/w")
    assert latest is not None and (latest.id, latest.updated_at) == ("b", 86_400.0)
    assert asked == [("b", 1), ("a", 2)]
    assert {p.workspace for p in storage.conversations.prompts(None, 9)} == {"/w", "/x"}


@pytest.mark.requirement("headless:storage-roundtrip")
def test_usage_adds_up_and_an_unknown_cost_changes_no_known_one(storage: Storage) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.add_usage(C, Usage(10, 4, 3, 2, 1, None))
    before = storage.conversations.find(C)
    storage.conversations.add_usage(C, Usage(10, 4, 3, 2, 1, 0.25))
    storage.conversations.add_usage(C, Usage(1))
    after = storage.conversations.find(C)

    assert before is not None and before.usage.cost is None
    assert after is not None and after.usage == Usage(21, 8, 6, 4, 2, 0.25)


@pytest.mark.requirement("headless:storage-errors")
def test_adding_to_an_unknown_conversation_is_an_error_and_adds_nothing(storage: Storage) -> None:
    with pytest.raises(StorageError, match="no conversation c1"):
        storage.conversations.append(C, TALK)
    assert storage.conversations.messages(C) == []


@pytest.mark.requirement("headless:storage-corrupt-row")
@pytest.mark.parametrize("position", [1, 2, 3, 4, 5])
def test_one_unreadable_message_costs_that_message_only(
    storage: Storage, data_dir: Path, position: int
) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, TALK)
    damage(data_dir, f"UPDATE messages SET body = '{{\"kind' WHERE position = {position}")

    read = storage.conversations.messages(C)

    marker = read[position - 1]
    assert isinstance(marker, ReminderMessage | ToolMessage)
    assert marker.text == UNREADABLE
    assert not (isinstance(marker, ToolMessage) and marker.ok)  # what came of it is not known
    lost = {3: 2}.get(position, 1)
    assert [m for m in read if m in TALK] == TALK[: position - 1] + TALK[position - 1 + lost :]
    assert unanswered(read) == []


@pytest.mark.requirement("headless:storage-corrupt-row")
def test_a_result_whose_row_is_gone_is_replaced_in_its_place(
    storage: Storage, data_dir: Path
) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, TALK)
    damage(data_dir, "DELETE FROM messages WHERE position = 4")

    assert storage.conversations.messages(C)[3] == ToolMessage(CALL, "read", UNREADABLE, ok=False)


@pytest.mark.requirement("headless:storage-corrupt-row")
def test_calls_at_the_very_end_stay_unanswered_for_the_session_to_close(storage: Storage) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, TALK[:3])
    assert [call.id for call in unanswered(storage.conversations.messages(C))] == [CALL]


@pytest.mark.requirement("headless:storage-roundtrip")
def test_half_an_emoji_from_a_model_is_stored_with_a_replacement(storage: Storage) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, [AssistantMessage("a\ud800b", opaque={"x": ["\udfff"]})])
    assert storage.conversations.messages(C) == [
        AssistantMessage("a\ufffdb", opaque={"x": ["\ufffd"]})
    ]


@pytest.mark.requirement("headless:storage-roundtrip")
@given(st.text())
def test_storable_text_is_always_utf_8_and_leaves_good_text_alone(text: str) -> None:
    assert storable(text) == text
    broken = f"{text}\ud83d"
    storable(broken).encode()


@pytest.mark.requirement("headless:storage-title")
@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("Fix the bug\nplease", "Fix the bug"),
        ("\n  \n\tsecond   line ", "second line"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07x", "red x"),
        ("safe \u202etxt.exe\u2066", "safe txt.exe"),
        ("x" * 61, "x" * 59 + "…"),
        ("\x00\x07", ""),
    ],
)
def test_a_title_is_the_first_line_with_words_made_harmless(typed: str, title: str) -> None:
    assert title_of(typed) == title
    assert len(title_of(typed)) <= TITLE_LENGTH
