"""Copies of conversations: whole, or ending at a message, by the program's own commands.

About 0.4 s of CPU: one data folder, every command in this process.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage, ReminderMessage, UserMessage
from sam_tui.core.ports.memory import ArchivedChunk

TALK = ConversationId("talk-a")


@pytest.mark.requirement("sessions:fork")
def test_a_copy_ends_at_any_message_and_takes_the_archive_along(
    data: Path, sam: Callable[..., tuple[int, str]]
) -> None:
    with open_storage(data) as storage:
        store = storage.conversations
        chunk = ArchivedChunk(TALK, 1, 1.0, 2.0, "sizes", ("foo_bar",), (("user", "Measure it"),))
        store.shorten(TALK, dropped=3, opening=[UserMessage("short")], archived=[chunk])
        store.append(
            TALK, [ReminderMessage("r", "x"), UserMessage("More"), AssistantMessage("Yes")]
        )
        store.keep_pins(TALK, ["never push"])
        storage.notices.add(TALK, "info", "Pinned: never push")

    def forked(*words: str) -> ConversationId:
        code, out = sam("sessions", "fork", "talk-a", *words)
        assert code == 0
        return ConversationId(out.strip())

    # By the last message that is wanted: how many stand in the copy, and whether the archive goes along.
    kept = {"1": (0, False), "2": (3, True), "3": (3, True), "4": (4, True), "6": (4, True)}
    kept |= {"7": (7, True)}
    copies = {at: forked("--at", at) for at in kept}
    whole = forked()
    assert sam("sessions", "fork", "talk-a", "--at", "8")[0] == 2
    assert "[6]\n> More" in sam("sessions", "show", "talk-a", "--numbers")[1]
    with open_storage(data) as storage:
        store, archive = storage.conversations, storage.archive

        def recalled(conversation: ConversationId) -> list[str]:
            chunks = archive.search([conversation], "foo_bar", hint="", limit=5)
            return [str(chunk.conversation) for chunk in chunks]

        for at, (count, archived) in kept.items():
            copy = copies[at]
            assert len(store.everything(copy)) == count, at
            assert recalled(copy) == ([copy] if archived else []), at
            assert len(storage.notices.load(copy)) == (at == "7"), at
        assert store.messages(whole) == store.messages(TALK)
        assert store.pins(whole) == ["never push"]
        assert recalled(TALK) == [TALK] and recalled(whole) == [whole]
        assert store.restore_dropped(whole)
        assert (recalled(whole), recalled(TALK)) == ([], [TALK])
