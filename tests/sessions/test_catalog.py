"""Stored conversations listed, searched, named, put away and deleted, by the program's own commands.

About 0.6 s of CPU: one data folder, every command in this process.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from sam_tui.core.ports.storage import CallDisplay

CALL = CallId("call_1")
TALKS: dict[str, Sequence[Message]] = {
    "talk-a": (
        UserMessage("Measure the Größe of foo_bar"),
        AssistantMessage(
            "I look.", calls=(ToolCall(CALL, "run", '{"command": "pytest -k deep"}'),)
        ),
        ToolMessage(CALL, "run", "4 passed", ok=True),
        AssistantMessage("It is large."),
    ),
    "talk-b": (UserMessage("Write a poem"), AssistantMessage("About trees, and pytest.")),
}


@pytest.mark.requirement("sessions:catalog")
def test_conversations_are_named_pinned_archived_searched_and_deleted(
    data: Path, sam: Callable[..., tuple[int, str]]
) -> None:
    def ids(*words: str) -> list[str]:
        code, out = sam("sessions", *words, "--json")
        assert code == 0
        return [entry["id"] for entry in json.loads(out)]

    assert ids("list") == ["talk-b", "talk-a"]
    assert ids("list", "-C", str(data.parent)) == []
    assert sam("sessions", "pin", "talk-a")[0] == 0
    assert ids("list") == ["talk-a", "talk-b"]
    assert "Its title is: Sizes" in sam("sessions", "rename", "talk-a", "Sizes", "\x1b[31m")[1]
    assert "* Sizes" in sam("sessions", "list")[1]
    assert sam("sessions", "rename", "talk-a", "\x07")[0] == 2

    assert ids("search", "grosse", "foo") == []
    assert ids("search", "größ", "foo_b") == ["talk-a"]
    assert sorted(ids("search", "PYTEST")) == ["talk-a", "talk-b"]
    assert ids("search", "deep") == ["talk-a"], "arguments of calls are searched, too"
    assert "user 1: Measure the Größe" in sam("sessions", "search", "measure")[1]
    assert ids("search", '"', "AND", "NEAR(") == []
    with open_storage(data) as storage:
        storage.notices.add(ConversationId("talk-a"), "info", "Cancelled.")
        storage.conversations.append(ConversationId("talk-b"), [UserMessage("And a measure")])
    assert sorted(ids("search", "measure")) == ["talk-a", "talk-b"], "what came since is found"

    assert sam("sessions", "archive", "talk-a")[0] == 0
    assert (ids("list"), ids("list", "--archived")) == (["talk-b"], ["talk-a"])
    with open_storage(data) as storage:
        storage.conversations.append(ConversationId("talk-a"), [UserMessage("Again")])
    assert ids("list") == ["talk-a", "talk-b"], "a message brings it back"

    assert "4 passed" in sam("sessions", "show", "talk-a")[1]
    assert sam("sessions", "delete", "talk-a")[0] == 2, "without --yes nobody was asked"
    assert sam("sessions", "delete", "talk-a", "--yes")[0] == 0
    assert (ids("list"), ids("search", "measure")) == (["talk-b"], ["talk-b"])
    assert sam("sessions", "show", "talk-a")[0] == 2
    with open_storage(data) as storage:
        for table in ("messages", "call_displays", "results", "memories", "notices"):
            assert storage.database.query(f"SELECT * FROM {table}") == [] or table == "messages"
        assert not storage.folders.of(ConversationId("talk-a")).exists()


@pytest.mark.requirement("sessions:catalog")
def test_one_that_another_program_has_open_is_not_deleted(
    data: Path, sam: Callable[..., tuple[int, str]]
) -> None:
    with open_storage(data, program="another") as storage:
        storage.conversations.claim(ConversationId("talk-a"))
        assert sam("sessions", "delete", "talk-a", "--yes")[0] == 75
        assert len(storage.conversations.messages(ConversationId("talk-a"))) == 4


@pytest.mark.requirement("sessions:shown")
def test_what_was_shown_of_a_call_is_stored_with_its_result_and_copied(data: Path) -> None:
    original, copy = ConversationId("talk-a"), ConversationId("copy")
    display = CallDisplay(CALL, 1.5, (Diff("a.py", "-a\n+b\n", 1, 1),), "You allowed run", True)
    with open_storage(data) as storage:
        store: Any = storage.conversations
        store.append(original, [ToolMessage(CallId("x"), "run", "", ok=True)], display)
        store.fork(original, copy)
        assert store.call_displays(copy) == {CALL: display}
        large = CallDisplay(CALL, 2.0, (Diff("b", "x" * 300_000, 1, 1),))
        store.append(original, [UserMessage("More")], large)
        assert store.call_displays(original)[CALL] == CallDisplay(CALL, 2.0), (
            "what is too large is left out"
        )
        with storage.database.transaction() as connection:
            connection.execute(
                "UPDATE call_displays SET displays = '[{' WHERE conversation = 'copy'"
            )
        assert store.call_displays(copy) == {}
