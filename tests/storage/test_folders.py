"""A folder for each conversation, what lies in it, and that unused conversations leave nothing."""

import os
import stat
from pathlib import Path

import pytest

from sam_tui.adapters.storage import FOLDERS, Storage, open_storage
from sam_tui.adapters.storage.conversation_state import IN_A_FILE_FROM
from sam_tui.cli.main import main
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.memory import MemoryDraft
from sam_tui.core.todos.item import Todo

A, B = ConversationId("a"), ConversationId("b")
LATER = 1e12
"""After everything that a test makes."""


@pytest.fixture
def folders(tmp_path: Path, storage: Storage) -> Path:
    """Where the folders of conversations lie."""
    return storage.database.path.parent / FOLDERS


def files(folder: Path) -> list[Path]:
    """The files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.requirement("storage:conversation-folder")
def test_a_large_result_is_a_private_file_of_its_conversation(
    storage: Storage, folders: Path
) -> None:
    text = "ünïcode 🦊\r\n" * IN_A_FILE_FROM
    storage.conversations.create(A, "/ws")
    storage.results.save(A, CallId("one"), text)
    storage.results.save(A, CallId("small"), "short")
    (file,) = files(folders / "a")
    assert (storage.results.load(A, CallId("one")), file.read_bytes().decode()) == (text, text)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(p.stat().st_mode) for p in folders.rglob("*") if p.is_dir()} == {0o700}
    rows = storage.database.query("SELECT call, length(text), file FROM results ORDER BY call")
    assert rows == [("one", 0, str(file.relative_to(folders / "a"))), ("small", 5, "")]
    assert storage.results.load(B, CallId("one")) is None
    assert list(storage.results.calls(A)) == ["one", "small"]


@pytest.mark.requirement("storage:conversation-folder")
def test_a_result_of_64_kib_is_a_file_and_a_smaller_one_stands_in_the_database(
    storage: Storage, folders: Path
) -> None:
    storage.conversations.create(A, "/ws")
    for size in (65_535, 65_536):
        storage.results.save(A, CallId(str(size)), "x" * size)
    assert [file.stat().st_size for file in files(folders / "a")] == [65_536]


@pytest.mark.requirement("storage:conversation-folder")
@pytest.mark.parametrize("call", ["../../../escape", "/etc/hosts", "a/b", "\x00", "x" * 5000, ".."])
def test_no_id_is_ever_a_path(storage: Storage, folders: Path, call: str) -> None:
    text = "x" * IN_A_FILE_FROM
    for name in ("..", "A", "a/../..", "\x00", "x" * 5000):
        storage.results.save(ConversationId(name), CallId(call), name + text)
    kept = files(folders)
    assert len(kept) == 5
    assert all(path.is_relative_to(folders) and path.suffix == ".txt" for path in kept)
    assert storage.results.load(ConversationId("A"), CallId(call)) == "A" + text
    assert storage.results.load(ConversationId("a"), CallId(call)) is None


@pytest.mark.requirement("storage:conversation-folder")
def test_a_folder_that_cannot_be_written_is_told_and_a_lost_file_is_no_result(
    storage: Storage, folders: Path
) -> None:
    text = "x" * IN_A_FILE_FROM
    storage.results.save(A, CallId("one"), text)
    files(folders)[0].unlink()
    assert storage.results.load(A, CallId("one")) is None
    (folders / "b").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="could not be written"):
        storage.results.save(B, CallId("one"), text)
    assert storage.results.load(B, CallId("one")) is None


@pytest.mark.requirement("storage:unused")
def test_only_what_was_never_used_goes_and_the_rest_is_kept(
    storage: Storage, folders: Path
) -> None:
    assert list(storage.conversations.remove_unused(before=LATER)) == []
    kinds = ("empty", "said", "shared", "todo", "result", "memory", "parent")
    names = [ConversationId(name) for name in kinds]
    empty, said, shared, todo, result, memory, parent = names
    for name in names:
        storage.conversations.create(name, "/ws")
    storage.conversations.append(said, [UserMessage("Hello")])
    storage.memories.set_topic(shared, "robots")
    storage.todos.save(todo, [Todo(1, "Count", "", "not-started")])
    storage.results.save(result, CallId("one"), "text")
    storage.memories.store(storage.memories.scope_of(memory), MemoryDraft("a fact"))
    storage.conversations.create(ConversationId("child"), "/ws", parent=parent)
    storage.conversations.append(ConversationId("child"), [UserMessage("Hello")])
    (folders / empty / "results").mkdir(parents=True)

    assert list(storage.conversations.remove_unused(before=LATER)) == [empty]
    assert storage.conversations.find(empty) is None
    assert not (folders / empty).exists()
    assert all(storage.conversations.find(name) for name in names if name != empty)
    latest = storage.conversations.latest("/ws")
    assert latest is not None and latest.id == said


@pytest.mark.requirement("storage:unused")
def test_a_folder_with_something_in_it_keeps_its_conversation(
    storage: Storage, folders: Path
) -> None:
    storage.conversations.create(A, "/ws")
    (folders / A).mkdir(parents=True)
    (folders / A / "note.txt").write_text("kept")
    assert list(storage.conversations.remove_unused(before=LATER)) == []
    assert storage.conversations.find(A) is not None
    assert (folders / A / "note.txt").read_text() == "kept"


@pytest.mark.requirement("storage:unused")
def test_a_young_one_of_another_process_is_left_alone(storage: Storage) -> None:
    for name in (A, B):
        storage.conversations.create(name, "/ws")
    assert list(storage.conversations.remove_unused(before=0.0, also=[A])) == [A]
    assert storage.conversations.find(B) is not None


@pytest.mark.requirement("storage:unused")
def test_results_kept_before_files_are_still_read(tmp_path: Path) -> None:
    first = open_storage(tmp_path / "old")
    with first.database.transaction() as connection:
        connection.execute(
            "INSERT INTO results (conversation, call, text, created_at) VALUES ('a', 'c', 'old', 1)"
        )
    first.close()
    again = open_storage(tmp_path / "old")
    assert again.results.load(A, CallId("c")) == "old"
    again.close()


@pytest.mark.requirement("headless:storage-private")
@pytest.mark.parametrize("mode", [0o777, 0o755])
def test_another_user_s_folder_keeps_its_mode_and_is_refused_where_everybody_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    data_dir = tmp_path / "theirs"
    data_dir.mkdir()
    data_dir.chmod(mode)
    if os.geteuid() == 0:
        os.chown(data_dir, 4321, 4321)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4321)
    if mode == 0o777:
        with pytest.raises(StorageError, match="belongs to another user, and anybody can write"):
            open_storage(data_dir)
        assert list(data_dir.iterdir()) == []
    else:
        open_storage(data_dir).close()
    assert stat.S_IMODE(data_dir.stat().st_mode) == mode


@pytest.mark.requirement("headless:storage-private")
def test_a_umask_does_not_take_the_rights_of_the_owner(tmp_path: Path) -> None:
    before = os.umask(0o727)
    try:
        assert main(["sessions", "list", "--data-dir", str(tmp_path / "d")]) == 0
        assert os.umask(0) == 0o027
    finally:
        os.umask(before)
