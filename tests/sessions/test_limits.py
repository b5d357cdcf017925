"""What an import leaves out, and what a reader is told of a conversation that is gone."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from sam_tui.adapters.exchange import LocalConversationFiles, sanitation
from sam_tui.adapters.exchange.forms import ConversationFile
from sam_tui.adapters.storage import open_storage
from sam_tui.core.agent.lease import followed
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage

C = ConversationId("read-along")


@pytest.mark.requirement("sessions:import-damaged")
def test_an_import_counts_what_it_leaves_out_and_stops_at_the_first_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sanitation, "MOST_MESSAGES", 5)
    head = '{"format": "sam-tui conversation", "version": 1, "messages": ['
    item = '{"at": 1, "message": {"kind": "user", "text": "x"}},'
    document = LocalConversationFiles(str).read(f"{head}{item * 12}{item[:-1]}]}}".encode())
    assert (len(document.entries), document.skipped) == (5 + 1, 8)
    broken = f"{head}{'{},' * 100}{item[:-1]}]}}"
    assert LocalConversationFiles(str).read(broken.encode()).skipped == 100 + 1, "and no calls"
    with pytest.raises(ValidationError) as caught:
        ConversationFile.model_validate_json(broken)
    assert caught.value.error_count() == 2, "not one for every item: a file can have millions"


@pytest.mark.requirement("storage:watch")
async def test_who_reads_along_hears_that_the_conversation_was_deleted(data: Path) -> None:
    with open_storage(data) as storage:
        storage.conversations.create(C, "/w")
        storage.conversations.append(C, [UserMessage("Go")])
        reading = followed(storage.conversations, C)
        assert len(await anext(reading)) == 1
        storage.catalog.delete(C)
        storage.conversations.create(C, "/w")
        storage.conversations.append(C, [UserMessage("Go"), UserMessage("On")])
        assert await anext(reading) == [UserMessage("On")]
        storage.catalog.delete(C)
        storage.conversations.create(C, "/w")
        storage.conversations.append(C, [UserMessage("Stop")])
        assert await anext(reading) == [UserMessage("Stop")], "of a history that became shorter"
        storage.conversations.append(C, [UserMessage("Now")])
        assert await anext(reading) == [UserMessage("Now")]
        storage.catalog.delete(C)
        with pytest.raises(UsageError, match="was deleted"):
            await anext(reading)
