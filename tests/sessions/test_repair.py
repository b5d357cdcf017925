"""A database that is damaged in several places: everything between them comes back. About 0.3 s of CPU."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.adapters.storage.repair import _around_damage  # pyright: ignore[reportPrivateUsage]
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.memory import MemoryDraft, Scope

MANY = ConversationId("talk-many")
SCOPE = Scope("here")


def damaged(content: bytearray, page: int, *words: bytes) -> None:
    """Overwrite each page that has one of these words."""
    for word in words:
        at = content.find(word)
        while at >= 0:
            start = at // page * page
            content[start : start + page] = b"\xff" * page
            at = content.find(word, start + page)


@pytest.mark.requirement("sessions:repair")
def test_what_is_whole_between_damaged_pages_is_restored_with_its_numbers(
    sam: Callable[..., tuple[int, str]], data: Path
) -> None:
    with open_storage(data) as storage:
        conversations = storage.conversations
        conversations.create(MANY, "/ws")
        conversations.append(MANY, [UserMessage(f"Number {n} " + "x" * 900) for n in range(200)])
        for n in range(90):
            other = ConversationId(f"other-{n:02}")
            conversations.create(other, f"/ws/{'w' * 150}")
            conversations.append(other, [UserMessage("hello")])
        # A number that is free again: rows that follow keep theirs, as the words are stored by it.
        for content, source in (("the old password rule", "old"), ("parsers are slow", "")):
            storage.memories.store(SCOPE, MemoryDraft(content, source=source))
        storage.memories.forget(SCOPE, source="old")
        storage.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
        page = storage.database.query("PRAGMA page_size")[0][0]

    file = data / "sam.db"
    content = bytearray(file.read_bytes())
    damaged(content, page, b"Number 20 ", b"Number 100 ", b"Number 180 ")
    damaged(content, page, b"other-20/ws/", b"other-70/ws/")
    damaged(content, page, b"other-70\x01")  # the index of messages by conversation
    file.write_bytes(content)

    code, out = sam("sessions", "repair")
    assert code == 0
    assert out.splitlines()[1] == "Some rows could not be read in: conversations, messages"
    with open_storage(data) as storage:
        numbers = {int(m.text.split()[1]) for m in storage.conversations.messages(MANY)}
        assert not {20, 100, 180} & numbers
        assert len(numbers) > 170, "each page has four of these messages"
        records = {record.id: record for record in storage.conversations.recent(None, 200)}
        (memory,) = storage.memories.search(SCOPE, "parsers", limit=3, threshold=0.0)
    others = [record for key, record in records.items() if key.startswith("other-")]
    assert len(others) == 90
    assert {"hello", "Restored"} == {record.title for record in others}
    assert {1} == {record.messages for record in others}
    assert memory.memory.draft.content == "parsers are slow"


@pytest.mark.requirement("sessions:repair")
@pytest.mark.parametrize("page", [bytes(4096), b"\x05" + b"\xa7" * 4095, b"\x0d\0\0\xff" * 1024])
def test_a_table_whose_first_page_is_gone_is_not_searched(tmp_path: Path, page: bytes) -> None:
    file = tmp_path / "x.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 999,)] * 50)
        connection.commit()
    content = bytearray(file.read_bytes())
    content[4096:8192] = page
    file.write_bytes(content)
    statements: list[str] = []
    with closing(sqlite3.connect(file)) as connection:
        connection.set_trace_callback(statements.append)
        assert [*_around_damage(connection, "t", ["rowid", "x"])] == [()]
    assert len(statements) < 10
