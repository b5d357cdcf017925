"""Edits are kept before they are made, and can be taken back while nothing came after them."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.code import SqliteJournal
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.code import Put


def undo(shop: Any) -> tuple[str, ...]:
    """Take the newest edit back; the paths it was about."""
    return shop.journal.undo(shop.conversation, shop.journal.entries(shop.conversation)[0].id).paths


@pytest.mark.requirement("files:undo")
async def test_every_kind_of_edit_is_undone_to_the_byte(shop: Any):
    shop.write("a.txt", "one\r\ntwo\r\n")
    os.chmod(shop.root / "a.txt", 0o640)
    (shop.root / "b.bin").write_bytes(b"\0\1\2")
    os.chmod(shop.root / "b.bin", 0o711)
    shop.write("c.txt", "1\n2\n")
    start = shop.tree()
    modes = {name: (shop.root / name).stat().st_mode for name in start}
    await shop.done("replace_string", filePath="a.txt", oldString="two", newString="2")
    await shop.done("insert_edit", filePath="a.txt", lineNumber=1, newText="zero")
    await shop.done("create_file", filePath="x/new.txt", content="n")
    await shop.done("create_file", filePath="b.bin", content="text", overwrite=True)
    await shop.done("delete_file", filePath="b.bin")
    await shop.done("rename_file", oldPath="c.txt", newPath="d/c.txt")
    await shop.done(
        "multi_replace_string",
        filePath="a.txt",
        replacements=[
            {"oldString": "one", "newString": "1"},
            {"filePath": "d/c.txt", "oldString": "2\n", "newString": ""},
        ],
    )
    await shop.done(
        "apply_patch",
        patchContent="diff --git a/d/c.txt b/e.txt\nold mode 100644\nnew mode 100755\n"
        "rename from d/c.txt\nrename to e.txt\n--- a/d/c.txt\n+++ b/e.txt\n@@ -1 +1 @@\n-1\n+I\n"
        "--- a/x/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-n\n\\ No newline at end of file\n",
    )
    assert shop.read("e.txt") == "I\n"
    entries = shop.journal.entries(shop.conversation)
    assert [e.operation for e in entries][:2] == ["apply_patch", "multi_replace_string"]
    assert entries[0].paths == ("x/new.txt", "d/c.txt", "e.txt")
    assert len(entries) == 8
    for _ in entries:
        undo(shop)
    assert shop.tree() == start
    assert {name: (shop.root / name).stat().st_mode for name in start} == modes
    assert shop.journal.entries(shop.conversation) == []


@pytest.mark.requirement("files:undo-conflict")
async def test_an_edit_that_something_came_after_is_not_undone(shop: Any):
    shop.write("a.txt", "1\n")
    shop.write("b.txt", "1\n")
    await shop.done(
        "multi_replace_string",
        replacements=[
            {"filePath": name, "oldString": "1", "newString": "2"} for name in ("a.txt", "b.txt")
        ],
    )
    shop.write("b.txt", "somebody else\n")
    with pytest.raises(ToolError, match=r"b\.txt changed after the edit"):
        undo(shop)
    assert shop.read("a.txt") == "2\n"
    assert len(shop.journal.entries(shop.conversation)) == 1
    shop.write("b.txt", "2\n")
    assert undo(shop) == ("a.txt", "b.txt")
    await shop.done("delete_file", filePath="a.txt")
    shop.write("a.txt", "new\n")
    with pytest.raises(ToolError, match="already exists"):
        undo(shop)
    await shop.done("create_file", filePath="n.txt", content="n")
    (shop.root / "n.txt").unlink()
    with pytest.raises(ToolError, match=r"n\.txt changed after the edit"):
        undo(shop)


@pytest.mark.requirement("files:undo")
async def test_edits_belong_to_their_conversation_and_outlive_the_process(shop: Any):
    shop.write("a.txt", "1\n")
    await shop.done("replace_string", filePath="a.txt", oldString="1", newString="2")
    (entry,) = shop.journal.entries(shop.conversation)
    assert shop.journal.entries(ConversationId("other")) == []
    with pytest.raises(ToolError, match="no edit"):
        shop.journal.undo(ConversationId("other"), entry.id)
    shop.journal.close()
    later = SqliteJournal(shop.data, shop.files)
    assert later.undo(shop.conversation, entry.id).operation == "replace_string"
    with pytest.raises(ToolError, match=f"no edit {entry.id} to undo"):
        later.undo(shop.conversation, entry.id)
    later.close()
    assert shop.read("a.txt") == "1\n"


@pytest.mark.requirement("files:undo")
async def test_an_edit_that_failed_is_not_kept(shop: Any):
    shop.write("a.txt", "1\n")
    os.chmod(shop.root / "a.txt", 0o400)
    await shop.refused("replace_string", filePath="a.txt", oldString="x", newString="2")
    await shop.refused("rename_file", oldPath="none", newPath="n")
    assert shop.journal.entries(shop.conversation) == []


@pytest.mark.requirement("files:undo-bounded")
async def test_the_oldest_edits_go_when_the_store_is_full(shop: Any, tmp_path: Path):
    journal = SqliteJournal(tmp_path / "small", shop.files, most_bytes=3000)
    where = shop.workspace.locate("a.bin")
    kept: list[int | None] = []
    for number in range(6):
        (shop.root / "a.bin").write_bytes(os.urandom(1000) + bytes([number]))
        put = Put(where, b"", shop.files.snapshot(where, limit=5000))
        kept.append(journal.record(shop.conversation, CallId("k"), "test", [put]))
    assert [e.id for e in journal.entries(shop.conversation)] == [kept[5], kept[4]]
    (shop.root / "a.bin").write_bytes(os.urandom(5000))
    large = Put(where, b"", shop.files.snapshot(where, limit=5000))
    assert journal.record(shop.conversation, CallId("k"), "test", [large]) is None
    part = Put(where, b"", shop.files.snapshot(where, limit=10))
    assert journal.record(shop.conversation, CallId("k"), "test", [part]) is None
    journal.close()


@pytest.mark.requirement("files:undo")
async def test_an_edit_is_made_also_where_it_cannot_be_kept_and_that_is_told(shop: Any):
    (shop.root / "link").symlink_to("nowhere")
    done = await shop.done("delete_file", filePath="link")
    assert "cannot be undone" in done.finished.text
    shop.journal.close()
    for file in shop.data.glob("edits.db*"):
        file.unlink()
    (shop.data / "edits.db").mkdir()
    done = await shop.done("create_file", filePath="a.txt", content="x")
    assert "It cannot be undone" in done.finished.text
    assert shop.read("a.txt") == "x"


@pytest.mark.requirement("files:undo-private")
async def test_what_is_kept_can_be_read_by_its_owner_alone(shop: Any):
    await shop.done("create_file", filePath="a.txt", content="x")
    for file in shop.data.glob("edits.db*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
