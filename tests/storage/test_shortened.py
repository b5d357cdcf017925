"""A compacted conversation on disk: the model's view is short, and nothing is deleted."""

import pytest

from sam_tui.adapters.storage import Storage
from sam_tui.core.agent.compaction import compact
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage, Message, ReminderMessage, UserMessage

C = ConversationId("c")


def talk(storage: Storage, turns: int) -> list[Message]:
    messages: list[Message] = []
    for turn in range(turns):
        messages += [UserMessage(f"q{turn} " * 50), AssistantMessage(f"a{turn} " * 50)]
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, messages)
    return messages


@pytest.mark.requirement("memory:shortened")
def test_the_view_is_short_after_a_restart_and_the_whole_is_still_there(storage: Storage) -> None:
    messages = talk(storage, 40)
    store = storage.conversations
    for _ in range(3):
        view = store.messages(C)
        done = compact(view, 1_500)
        assert done.changed
        store.shorten(C, dropped=done.kept_from, opening=done.opening)
        assert store.messages(C) == done.apply(view)
        assert len(store.moments(C)) == len(store.messages(C))
        more: list[Message] = [UserMessage("and then? " * 200), AssistantMessage("so. " * 600)]
        store.append(C, more)
        messages += more
        assert store.messages(C)[-2:] == more
    assert store.everything(C) == messages
    assert sum(isinstance(m, ReminderMessage) for m in store.messages(C)) == 1


@pytest.mark.requirement("memory:shortened")
def test_a_second_shortening_keeps_what_the_first_put_before(storage: Storage) -> None:
    messages = talk(storage, 5)
    store = storage.conversations
    opening = [ReminderMessage("thread_summary", "short"), messages[4]]
    store.shorten(C, dropped=6, opening=opening)
    first = [*opening, *messages[6:]]
    assert store.messages(C) == first
    # The second one keeps a part of the first one's opening.
    store.shorten(C, dropped=1, opening=[ReminderMessage("thread_summary", "shorter")])
    assert store.messages(C) == [ReminderMessage("thread_summary", "shorter"), *first[1:]]
    assert store.everything(C) == messages
