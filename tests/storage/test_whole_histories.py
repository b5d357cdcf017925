"""All that is stored of a conversation comes back as it was, in another program, too."""

from contextlib import closing
from pathlib import Path

import pytest

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.storage.conversations import UNREADABLE
from sam_tui.core.display import Text
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.memory import ArchivedChunk
from sam_tui.core.ports.storage import CallDisplay, UserPrompt

C, D = ConversationId("c"), ConversationId("d")
CALL = CallId("k")
SHOWN = CallDisplay(CALL, 1.5, (Text("it rises"),), "You allowed it", False)
TIMELINE: list[tuple[float, Message]] = [
    (1.5, ReminderMessage("todo_list", "Nothing open.")),
    (2.5, UserMessage("\n")),
    (3.5, UserMessage("Open the gates\nnow")),
    (4.5, AssistantMessage("", "", (ToolCall(CALL, "tide", "{}"),))),
    (5.5, ToolMessage(CALL, "tide", "it rises", ok=False)),
    (6.5, UserMessage("Close them")),
]
MESSAGES = [message for _, message in TIMELINE]


@pytest.fixture
def whole(storage: Storage) -> Storage:
    """Storage in which one conversation was put whole."""
    storage.conversations.create(C, "/w")
    storage.conversations.add_whole(C, TIMELINE, [SHOWN])
    return storage


@pytest.mark.requirement("headless:storage-roundtrip")
def test_a_history_that_is_put_whole_has_its_times_its_title_and_what_was_shown(
    whole: Storage, data_dir: Path
) -> None:
    with closing(open_storage(data_dir)) as another:
        for storage in (whole, another):
            store = storage.conversations
            record = store.find(C)
            assert record is not None
            assert (record.title, record.messages, record.archived) == ("Open the gates", 6, False)
            assert store.messages(C) == store.everything(C) == MESSAGES
            assert store.timeline(C) == TIMELINE
            assert store.moments(C) == [at for at, _ in TIMELINE]
            assert store.positions(C) == [1, 2, 3, 4, 5, 6]
            assert store.call_displays(C) == {CALL: SHOWN}
            assert store.user_prompts(C) == [
                UserPrompt(2, 2.5, "\n"),
                UserPrompt(3, 3.5, "Open the gates\nnow"),
                UserPrompt(6, 6.5, "Close them"),
            ]
            assert (store.timeline(D), store.user_prompts(D), store.find(D)) == ([], [], None)


@pytest.mark.requirement("headless:storage-roundtrip")
def test_a_history_is_seen_as_it_was_after_each_shortening_and_up_to_each_message(
    whole: Storage, data_dir: Path
) -> None:
    store = whole.conversations
    summary = ReminderMessage("thread_summary", "gates")
    chunk = ArchivedChunk(C, 1, 1.5, 2.5, "", (), (("user", "\n"),))
    store.shorten(C, dropped=2, opening=[summary], archived=[chunk])
    assert whole.archive.last_number(C) == 1
    views = {
        (0, 2): MESSAGES[:2],
        (0, 6): MESSAGES,
        (1, 1): [],
        (1, 2): [summary],
        (1, 3): [summary, MESSAGES[2]],
        (1, 9): [summary, *MESSAGES[2:]],
        (7, 9): MESSAGES,
    }
    seen = {place: store.messages_at(C, *place) for place in views}
    assert seen == views
    assert store.messages(C) == views[1, 9]
    with closing(open_storage(data_dir)) as another:  # which reads the shortened part first
        assert another.conversations.messages(C) == views[1, 9]
        assert another.conversations.everything(C) == MESSAGES
        assert another.conversations.messages(C) == views[1, 9]
        store.append(C, [AssistantMessage("Closed.")])
        assert another.conversations.messages(C) == [*views[1, 9], AssistantMessage("Closed.")]
        assert another.conversations.everything(D) == []
    later = ReminderMessage("thread_summary", "closed")
    store.shorten(C, dropped=5, opening=[later])
    assert store.messages(C) == [later, AssistantMessage("Closed.")]
    assert store.restore_dropped(C)
    assert store.messages(C) == [*views[1, 9], AssistantMessage("Closed.")]
    store.shorten(C, dropped=0, opening=[later])  # what was too long had nothing to leave
    assert store.messages(C) == [later, *views[1, 9], AssistantMessage("Closed.")]
    undone = [store.restore_dropped(C), store.restore_dropped(C), store.restore_dropped(C)]
    assert undone == [True, True, False]
    store.shorten(C, dropped=0, opening=[later])
    assert store.messages(C) == [later, *MESSAGES, AssistantMessage("Closed.")]
    assert store.restore_dropped(C)
    assert store.messages(C) == [*MESSAGES, AssistantMessage("Closed.")]
    assert whole.archive.last_number(C) == 0


@pytest.mark.requirement("headless:storage-corrupt-row")
@pytest.mark.parametrize("body", ["not json", '[{"kind": "nothing"}]'])
def test_an_opening_that_cannot_be_read_is_a_note_and_the_rest_is_there(
    whole: Storage, body: str
) -> None:
    whole.conversations.shorten(C, dropped=2, opening=[ReminderMessage("thread_summary", "gates")])
    with whole.database.transaction() as connection:
        connection.execute("UPDATE compactions SET opening = ?", (body,))
    note = ReminderMessage("storage", UNREADABLE)
    assert whole.conversations.messages(C) == [note, *MESSAGES[2:]]


@pytest.mark.requirement("headless:storage-corrupt-row")
def test_calls_and_results_without_each_other_are_mended_where_they_stand(storage: Storage) -> None:
    store = storage.conversations
    store.create(C, "/w")
    calls = (ToolCall(CALL, "tide", "{}"), ToolCall(CallId("l"), "moon", "{}"))
    lost = ToolMessage(CallId("l"), "moon", UNREADABLE, ok=False)
    result = ToolMessage(CALL, "tide", "it rises", ok=True)
    stored: list[Message] = [
        result,
        UserMessage("Look"),
        AssistantMessage("", "", calls),
        result,
        result,
        ReminderMessage("echo", "later"),
        UserMessage("And?"),
        result,
        AssistantMessage("Nothing."),
        AssistantMessage("", "", calls),
    ]
    store.append(C, stored)
    assert store.messages(C) == [
        UserMessage("Look"),
        AssistantMessage("", "", calls),
        result,
        ReminderMessage("echo", "later"),
        lost,
        UserMessage("And?"),
        AssistantMessage("Nothing."),
        AssistantMessage("", "", calls),
    ]


@pytest.mark.requirement("headless:storage-roundtrip")
def test_prompts_that_wait_and_pins_are_kept_in_order_and_by_themselves(
    storage: Storage, data_dir: Path
) -> None:
    for conversation in (C, D):
        storage.conversations.create(conversation, "/w")
    storage.conversations.keep_queued(C, ["b", "a", "é\ud800"])
    storage.conversations.keep_pins(C, ["pin"])
    with closing(open_storage(data_dir)) as another:
        store = another.conversations
        assert (store.queued(C), store.pins(C)) == (["b", "a", "é\ufffd"], ["pin"])
        assert (store.queued(D), store.pins(D), store.queued(ConversationId("x"))) == ([], [], [])
        assert [record.id for record in store.recent("/w", 9)] == [C]  # it waits to be sent
    raw = storage.database.query("SELECT queued FROM conversations WHERE id = 'c'")[0][0]
    assert raw == '["b","a","é\ufffd"]'
    storage.conversations.keep_queued(C, [])
    assert storage.conversations.recent("/w", 9) == []


@pytest.mark.requirement("headless:storage-roundtrip")
def test_conversations_of_subagents_are_found_by_their_parent_alone(storage: Storage) -> None:
    store = storage.conversations
    store.create(C, "/w")
    for name in ("d", "e"):
        store.create(ConversationId(name), "/w", parent=C)
        store.append(ConversationId(name), [UserMessage(name)])
    assert [record.id for record in store.children(C)] == ["d", "e"]
    assert (store.children(D), store.latest("/w"), store.prompts("/w", 9)) == ([], None, [])
    store.append(C, [])
    assert store.recent(None, 9) == []
    store.append(C, [UserMessage("first")])
    store.append(C, [UserMessage("second")])
    record = store.find(C)
    assert record is not None
    assert (record.title, record.messages) == ("first", 2)
    assert [prompt.text for prompt in store.prompts(None, 9)] == ["first", "second"]


@pytest.mark.requirement("headless:continue")
def test_prompts_are_looked_for_in_the_twenty_conversations_that_were_used_last(
    storage: Storage,
) -> None:
    for number in range(22):
        storage.conversations.create(ConversationId(f"c{number:02}"), "/w")
        storage.conversations.append(ConversationId(f"c{number:02}"), [UserMessage(f"{number}")])
    prompts = storage.conversations.prompts("/w", 99)
    assert [prompt.text for prompt in prompts] == [f"{number}" for number in range(2, 22)]
    assert [prompt.text for prompt in storage.conversations.prompts(None, 1)] == ["21"]
