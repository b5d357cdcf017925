"""Who only reads a database, and how it is noticed that somebody wrote to it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.errors import StorageError
from sam_tui.core.ids import ConversationId
from tests.fakes.databases import flushed

C = ConversationId("c1")


@pytest.mark.requirement("sessions:read-only")
@pytest.mark.parametrize(
    ("fault", "copied"),
    [
        ("attempt to write a readonly database", True),
        ("unable to open database file", True),
        ("database or disk is full", True),
        ("disk I/O error", True),
        ("database is locked", False),
        ("database table is busy", False),
    ],
)
def test_who_only_reads_has_a_copy_where_the_file_takes_no_write_and_waits_for_no_writer(
    data_dir: Path, fault: str, *, copied: bool
) -> None:
    class Refusing(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql.startswith("BEGIN") and self.execute("PRAGMA database_list").fetchone()[2]:
                assert self.execute("PRAGMA busy_timeout").fetchone() == (0,)
                raise sqlite3.OperationalError(fault)
            return super().execute(sql, *values)

    with closing(open_storage(data_dir)) as storage:
        storage.conversations.create(C, "/w")
    with (
        flushed(Refusing),
        closing(open_storage(data_dir, busy_seconds=0.05, reads=True)) as storage,
    ):
        assert storage.conversations.find(C) is not None
        file = storage.database.query("PRAGMA database_list")[0][2]
        assert file == ("" if copied else str(data_dir / "sam.db"))
        assert storage.database.query("PRAGMA busy_timeout") == [(50 if not copied else 5000,)]


@pytest.mark.requirement("sessions:read-only")
def test_a_fault_that_is_no_matter_of_the_disk_keeps_a_reader_out(data_dir: Path) -> None:
    class Refusing(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql.startswith("BEGIN"):
                raise sqlite3.OperationalError("database disk image is malformed")
            return super().execute(sql, *values)

    open_storage(data_dir).close()
    with flushed(Refusing), pytest.raises(StorageError, match=r"could not be opened: .* malformed"):
        open_storage(data_dir, reads=True)


@pytest.mark.requirement("headless:storage-two-processes")
def test_the_state_of_a_database_differs_after_a_write_of_this_program_and_of_another(
    data_dir: Path,
) -> None:
    with closing(open_storage(data_dir)) as storage, closing(open_storage(data_dir)) as another:
        states = [storage.database.state]
        for writer in (storage, another, storage):
            writer.conversations.create(ConversationId(f"c{len(states)}"), "/w")
            states.append(storage.database.state)
            assert storage.database.state == states[-1]
        assert len(set(states)) == 4
        with storage.database.reading() as query:
            assert query("SELECT count(*) FROM conversations WHERE workspace = ?", "/w") == [(3,)]


@pytest.mark.requirement("headless:storage-errors")
def test_the_log_of_a_file_that_was_moved_away_is_not_taken_for_the_new_one_s(
    tmp_path: Path,
) -> None:
    path, log = tmp_path / "sam.db", tmp_path / "sam.db-wal"
    with closing(open_storage(tmp_path)) as moved:
        moved.conversations.create(C, "/w")
        path.rename(tmp_path / "sam.db.damaged")
        left = log.read_bytes()
    log.write_bytes(left)
    with closing(open_storage(tmp_path)) as anew:
        assert anew.database.query("SELECT id FROM conversations") == []
        assert anew.database.query("PRAGMA integrity_check") == [("ok",)]
