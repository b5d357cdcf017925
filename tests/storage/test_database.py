"""The database file: private, shared, migrated, and plain about what is wrong with it."""

import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.storage.migrations import STEPS
from sam_tui.adapters.storage.repair import repair
from sam_tui.adapters.workflows import open_workflows
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.sqlite import make_private, way_out
from tests.fakes.databases import flushed
from tests.fakes.preloaded import SCRIPT

C = ConversationId("c1")
WRITER = """
import sys
from sam_tui.adapters.storage import open_storage
from sam_tui.core.messages import UserMessage
data_dir, conversation, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
storage = open_storage(data_dir)
storage.conversations.create(conversation, "/w")
for number in range(count):
    storage.conversations.append(conversation, [UserMessage(f"{number}")])
    print(number, flush=True)
"""


def writer(data_dir: Path, conversation: str, count: int) -> "subprocess.Popen[str]":
    command = [*SCRIPT, WRITER, str(data_dir), conversation, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.requirement("storage:power-cut")
def test_a_power_cut_breaks_no_file_and_takes_back_no_step_of_a_workflow(tmp_path: Path) -> None:
    opened: list[sqlite3.Connection] = []

    class Seen(sqlite3.Connection):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            if ":memory:" not in given:  # where new files are made, and closed again
                opened.append(self)

    with flushed(Seen):
        stores = (open_storage(tmp_path), open_workflows(tmp_path))
    modes = {
        Path(connection.execute("PRAGMA database_list").fetchone()[2]).name: (
            connection.execute("PRAGMA journal_mode").fetchone()[0],
            connection.execute("PRAGMA synchronous").fetchone()[0],
        )
        for connection in opened
    }
    for store in stores:
        store.close()
    # https://www.sqlite.org/pragma.html#pragma_synchronous: 1 is NORMAL, 2 FULL.
    assert modes == {"sam.db": ("wal", 1), "workflows.db": ("wal", 2)}


@pytest.mark.requirement("storage:power-cut")
def test_a_database_that_another_program_took_out_of_its_log_is_put_back(tmp_path: Path) -> None:
    open_storage(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "sam.db")) as another:
        another.execute("PRAGMA journal_mode = DELETE")
    with closing(open_storage(tmp_path)) as storage:
        assert storage.database.query("PRAGMA journal_mode") == [("wal",)]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("headless:storage-private")
def test_folder_and_files_are_the_owners_alone_whatever_the_umask(data_dir: Path) -> None:
    before = os.umask(0)
    try:
        storage = open_storage(data_dir)
        storage.conversations.create(C, "/w")
        modes = {path.name: mode_of(path) for path in data_dir.iterdir()}
        storage.close()
    finally:
        os.umask(before)
    assert mode_of(data_dir) == 0o700
    assert modes and set(modes.values()) == {0o600}


@pytest.mark.requirement("headless:storage-private")
@pytest.mark.parametrize("full", [True, False])
def test_a_folder_that_others_could_enter_is_closed_to_them(data_dir: Path, *, full: bool) -> None:
    data_dir.mkdir()
    if full:
        open_storage(data_dir).close()
        (data_dir / "sam.db").chmod(0o644)
    data_dir.chmod(0o755)
    open_storage(data_dir).close()
    assert (mode_of(data_dir), mode_of(data_dir / "sam.db")) == (0o700, 0o600)


@pytest.mark.requirement("headless:storage-private")
def test_a_folder_that_holds_other_things_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    tmp_path.chmod(0o755)
    open_storage(tmp_path).close()
    assert mode_of(tmp_path) == 0o755
    assert mode_of(tmp_path / "sam.db") == 0o600


@pytest.mark.requirement("sessions:read-only")
def test_a_file_whose_mode_cannot_be_changed_is_read_and_other_faults_are_told(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_storage(data_dir)) as storage:
        storage.conversations.create(C, "/w")
    number = errno.EPERM

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "chmod", refuse)
    open_storage(data_dir).close()  # no mode is to be changed
    os.chmod(data_dir / "sam.db", 0o644)
    for number in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT):
        with closing(open_storage(data_dir, reads=True)) as storage:
            assert storage.conversations.find(C) is not None, errno.errorcode[number]
    number = errno.EIO
    with pytest.raises(StorageError, match=os.strerror(number)):
        open_storage(data_dir, reads=True)


@pytest.mark.requirement("sessions:read-only")
@pytest.mark.parametrize(("free", "writes"), [(1 << 20, True), ((1 << 20) - 1, False)])
def test_who_only_reads_makes_no_file_on_a_disk_with_less_than_a_megabyte_left(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, free: int, *, writes: bool
) -> None:
    with closing(open_storage(data_dir)) as storage:
        storage.conversations.create(C, "/w")
    disk = os.statvfs(data_dir)
    left = os.statvfs_result([1, 1, disk.f_blocks, free, free, *disk[5:]])

    def small(_: Path) -> os.statvfs_result:
        return left

    monkeypatch.setattr("os.statvfs", small)
    with closing(open_storage(data_dir, reads=True)) as storage:
        assert storage.conversations.find(C) is not None
        assert (data_dir / "sam.db-wal").exists() is writes


@pytest.mark.requirement("headless:storage-kill")
def test_a_killed_process_loses_nothing_it_had_acknowledged(data_dir: Path) -> None:
    with writer(data_dir, "c1", 100_000) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        acknowledged = int([*told, *process.stdout.read().split()][-1])

    storage = open_storage(data_dir)
    texts = [m.text for m in storage.conversations.messages(C) if isinstance(m, UserMessage)]
    storage.close()
    assert texts == [str(n) for n in range(len(texts))]
    assert len(texts) in (acknowledged + 1, acknowledged + 2)


@pytest.mark.requirement("headless:storage-two-processes")
def test_two_processes_write_to_one_new_database_at_once(data_dir: Path) -> None:
    # The same conversation too: positions must neither clash nor be lost.
    with writer(data_dir, "c1", 150) as one, writer(data_dir, "c1", 150) as two:
        assert one.stdout is not None and two.stdout is not None
        outputs = [one.stdout.read().split(), two.stdout.read().split()]
    assert [len(output) for output in outputs] == [150, 150]
    storage = open_storage(data_dir)
    assert len(storage.conversations.messages(C)) == 300
    record = storage.conversations.find(C)
    storage.close()
    assert record is not None and record.messages == 300


@pytest.mark.requirement("headless:storage-migrations")
def test_opening_an_empty_folder_from_many_places_at_once_migrates_once(data_dir: Path) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def open_one() -> None:
        start.wait()
        try:
            open_storage(data_dir).close()
        except StorageError as error:
            failures.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection = sqlite3.connect(data_dir / "sam.db")
    names = [row[0] for row in connection.execute("SELECT name FROM migrations ORDER BY name")]
    connection.close()
    assert failures == []
    assert names == [step.name for step in STEPS]


@pytest.mark.requirement("headless:storage-migrations")
def test_every_earlier_state_of_the_schema_leads_to_todays(tmp_path: Path) -> None:
    def schema(folder: Path) -> list[tuple[str, str]]:
        open_storage(folder).close()
        connection = sqlite3.connect(folder / "sam.db")
        rows = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        connection.close()
        return rows

    today = schema(tmp_path / "new")
    for done in range(len(STEPS)):
        folder = tmp_path / str(done)
        folder.mkdir()
        connection = sqlite3.connect(folder / "sam.db")
        connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY, made_at REAL NOT NULL)")
        for step in STEPS[:done]:
            for statement in step.statements:
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, 0)", (step.name,))
        connection.commit()
        connection.close()
        names = {name for name, _ in schema(folder)}
        assert names == {name for name, _ in today}


@pytest.mark.requirement("headless:storage-newer")
def test_a_database_of_a_newer_program_is_left_alone_and_named(data_dir: Path) -> None:
    open_storage(data_dir).close()
    connection = sqlite3.connect(data_dir / "sam.db")
    with connection:
        connection.execute("INSERT INTO migrations VALUES ('999-telepathy', 0)")
    connection.close()
    with pytest.raises(StorageError, match=r"newer sam-tui.*999-telepathy") as caught:
        open_storage(data_dir)
    assert "--data-dir" in caught.value.hint


@pytest.mark.requirement("headless:storage-errors")
def test_a_damaged_file_is_explained_with_the_way_to_move_it(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "sam.db").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(StorageError, match=r"sam\.db") as caught:
        open_storage(data_dir)
    assert "sessions repair" in caught.value.hint
    with pytest.raises(StorageError, match="Nothing") as caught:
        repair(data_dir)
    assert "mv" in caught.value.hint
    assert caught.value.exit_code == 70
    assert (data_dir / "sam.db").read_bytes().startswith(b"this is no database")


@pytest.mark.requirement("headless:storage-errors")
def test_a_damaged_page_is_explained_and_does_not_raise_anything_else(
    data_dir: Path,
) -> None:
    storage = open_storage(data_dir)
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, [UserMessage("x" * 50_000)])
    storage.close()
    path = data_dir / "sam.db"
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(StorageError) as caught:
        opened = open_storage(data_dir)
        opened.conversations.messages(C)
    assert "damaged" in caught.value.hint


@pytest.mark.requirement("headless:storage-errors")
def test_a_lock_held_too_long_is_explained_and_the_store_works_again_after_it(
    data_dir: Path,
) -> None:
    with closing(open_storage(data_dir)) as earlier:
        earlier.conversations.create(C, "/w")
    storage = open_storage(data_dir, busy_seconds=0.05)  # its first write waits in vain
    other = sqlite3.connect(data_dir / "sam.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="locked") as caught:
        storage.conversations.append(C, [UserMessage("x")])
    if sys.platform == "linux":
        assert f"(process {os.getpid()})" in caught.value.hint
    assert storage.database.query("PRAGMA busy_timeout") == [(0,)]  # once waited for is enough
    other.execute("ROLLBACK")
    other.close()
    storage.conversations.append(C, [UserMessage("x")])
    assert len(storage.conversations.messages(C)) == 1
    with pytest.raises(StorageError):
        storage.database.query("SELECT 1 FROM nothing")  # is no lock
    assert storage.database.query("PRAGMA busy_timeout") == [(50,)]
    with closing(sqlite3.connect(data_dir / "sam.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked"):
            storage.conversations.append(C, [UserMessage("y")])
        assert storage.database.query("PRAGMA busy_timeout") == [(0,)]  # as the first time
    storage.close()


@pytest.mark.requirement("headless:storage-errors")
def test_an_empty_file_that_another_program_holds_is_not_waited_for_without_an_end(
    data_dir: Path,
) -> None:
    data_dir.mkdir(mode=0o700, exist_ok=True)
    other = sqlite3.connect(data_dir / "sam.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="locked"):
        open_storage(data_dir, busy_seconds=0.05)
    other.close()
    open_storage(data_dir, busy_seconds=0.05).close()


@pytest.mark.requirement("headless:storage-errors")
def test_a_full_disk_is_explained_and_leaves_what_was_there(storage: Storage) -> None:
    storage.conversations.create(C, "/w")
    storage.conversations.append(C, [UserMessage("kept")])
    with storage.database.transaction() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageError, match="full") as caught:
        storage.conversations.append(C, [UserMessage("x" * 1_000_000)])
    assert "Free some space" in caught.value.hint
    assert storage.conversations.messages(C) == [UserMessage("kept")]


@pytest.mark.requirement("headless:storage-errors")
def test_a_database_that_cannot_be_written_is_explained(storage: Storage) -> None:
    storage.conversations.create(C, "/w")
    storage.database.query("PRAGMA query_only = 1")
    with pytest.raises(StorageError, match="readonly") as caught:
        storage.conversations.append(C, [UserMessage("x")])
    assert "--data-dir" in caught.value.hint


@pytest.mark.requirement("headless:storage-errors")
@pytest.mark.parametrize("name", ["file", "file/below", "/proc/sam-tui-data"])
def test_a_data_folder_that_cannot_be_one_is_explained(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        open_storage(tmp_path / name)
    assert "--data-dir" in caught.value.hint


@pytest.mark.requirement("headless:storage-errors")
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("attempt to write a readonly database", "--data-dir"),
        ("unable to open database file", "--data-dir"),
        ("database or disk is full", "Free some space"),
        ("disk I/O error", "Free some space"),
        ("database disk image is malformed", "Move it away"),
    ],
)
def test_every_fault_of_a_database_has_its_way_out(tmp_path: Path, fault: str, words: str) -> None:
    advice = way_out(sqlite3.OperationalError(fault), tmp_path / "sam.db")
    assert words in advice and str(tmp_path) in advice


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.requirement("headless:storage-errors")
def test_the_mode_of_a_file_that_belongs_to_somebody_else_is_left_alone(tmp_path: Path) -> None:
    modes: list[int] = []
    for name, owner in (("own", os.geteuid()), ("theirs", 65534)):
        file = tmp_path / name
        file.touch(0o644)
        os.chown(file, owner, -1)
        make_private(file)
        modes.append(stat.S_IMODE(file.stat().st_mode))
    file = tmp_path / "read-only"
    file.touch(0o400)
    make_private(file)
    modes.append(stat.S_IMODE(file.stat().st_mode))
    assert modes == [0o600, 0o644, 0o400]


@pytest.mark.requirement("storage:power-cut")
def test_a_file_that_was_begun_and_has_no_table_yet_becomes_the_database(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "sam.db")) as begun:
        begun.execute("PRAGMA journal_mode = WAL")
    with closing(open_storage(tmp_path)) as storage:
        storage.conversations.create(C, "/w")
        storage.conversations.append(C, [UserMessage("first")])
        assert storage.conversations.messages(C) == [UserMessage("first")]
