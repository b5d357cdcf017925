"""The database file: from empty, from each earlier version, from a newer program, and damaged."""

import os
import sqlite3
import stat
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sam_tui.adapters.workflows import open_workflows
from sam_tui.adapters.workflows.migrations import STEPS
from sam_tui.core.errors import StorageError
from sam_tui.core.ports.workflows import (
    EventQuery,
    EventRow,
    FindingQuery,
    StepRow,
    StepStatus,
    TaskRow,
)
from sam_tui.core.workflow.execution.tickets import token_hash
from tests.workflow.bench import Bench


def shape(path: Path) -> list[str]:
    """Every table, index and trigger."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'migrations' ORDER BY name"
    )
    found = [row[0] for row in rows]
    connection.close()
    return found


@pytest.mark.requirement("workflow:migrations")
@pytest.mark.parametrize("version", range(len(STEPS)))
def test_every_version_becomes_what_a_fresh_one_is(tmp_path: Path, version: int) -> None:
    open_workflows(tmp_path / "fresh").close()
    old = tmp_path / "old"
    old.mkdir()
    connection = sqlite3.connect(old / "workflows.db")
    connection.execute("CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)")
    for step in STEPS[:version]:
        for statement in step.statements:
            connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, '')", (step.name,))
    connection.commit()
    connection.close()
    store = open_workflows(old)
    assert store.reader.executions() == []
    assert store.reader.findings(FindingQuery(text="x")) == []
    store.close()
    assert shape(old / "workflows.db") == shape(tmp_path / "fresh" / "workflows.db")


@pytest.mark.requirement("workflow:migrations")
def test_a_newer_or_damaged_file_is_told_and_left_alone(tmp_path: Path) -> None:
    open_workflows(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "workflows.db")
    connection.execute("INSERT INTO migrations VALUES ('999 later', '')")
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match="newer sam-tui"):
        open_workflows(tmp_path)
    damaged = tmp_path / "d"
    damaged.mkdir()
    (damaged / "workflows.db").write_bytes(b"this is no database, and long enough to be read" * 9)
    with pytest.raises(StorageError, match="could not be opened"):
        open_workflows(damaged)
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(StorageError):
        open_workflows(tmp_path / "file")


@pytest.mark.requirement("workflow:private")
def test_the_file_is_the_owner_s_alone(tmp_path: Path) -> None:
    store = open_workflows(tmp_path / "data")
    with store.hold("x"):
        modes = [
            stat.S_IMODE(os.lstat(path).st_mode) & 0o077 for path in (tmp_path / "data").rglob("*")
        ]
    assert modes
    assert not any(modes)
    store.close()


@pytest.mark.requirement("workflow:events")
def test_numbers_of_events_are_never_given_twice(tmp_path: Path) -> None:
    store = open_workflows(tmp_path)
    row = EventRow(0, "e", "t", "", "", "{}", 1.0)
    with store.unit() as unit:
        first = [unit.append(row) for _ in range(3)]
        unit.delete_execution("e")
        assert unit.append(row) == first[-1] + 1
    assert [event.seq for event in store.reader.events(EventQuery("e"))] == [first[-1] + 1]
    store.close()
    with pytest.raises(StorageError, match="already closed"):
        store.reader.executions()


@pytest.mark.requirement("workflow:token-once")
def test_a_token_is_spent_by_compare_and_swap(bench: Bench) -> None:
    done = bench.begin("steps: [{id: a, prompt: a}]")
    name = token_hash(done.opened[0].token)
    with bench.store.unit() as unit:
        assert unit.spend_token(name, 5.0)
        assert not unit.spend_token(name, 6.0)
        assert not unit.spend_token("unknown", 6.0)
    row = bench.store.reader.token(name)
    assert row is not None
    assert row.used_at == 5.0


@pytest.mark.requirement("workflow:round-trip")
@settings(max_examples=25)
@given(
    st.text(), st.sampled_from(["pending", "running", "completed", "failed", "skipped"]),
    st.integers(min_value=-1, max_value=10**9), st.none() | st.floats(0, 1e11),
)  # fmt: skip
def test_what_is_stored_comes_back_the_same(
    text: str, status: StepStatus, number: int, moment: float | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        done = bench.begin("steps: [{id: a, prompt: a}]")
        text = text.replace("\x00", "")
        step = StepRow(
            done.execution_id, "a", number, "", number, text, status, 1, 2, number, text, text,
            moment, moment,
        )  # fmt: skip
        task = TaskRow(done.execution_id, "a", 0, 0, text, text, number % 2 == 0, "failed", text)
        with bench.store.unit() as unit:
            unit.save(step)
            unit.save(task)
        assert list(bench.store.reader.steps(done.execution_id)) == [step]
        assert list(bench.store.reader.tasks(done.execution_id, "a", 0)) == [task]
        bench.close()


@pytest.mark.requirement("workflow:cut-off")
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the descriptor in /proc")
def test_an_execution_is_free_at_once_though_a_child_has_its_lock_open(tmp_path: Path) -> None:
    with closing(open_workflows(tmp_path)) as store:
        with store.hold("x") as mine:
            (held,) = [
                int(name)
                for name in os.listdir("/proc/self/fd")
                if os.path.lexists(f"/proc/self/fd/{name}")
                and ".locks/" in os.readlink(f"/proc/self/fd/{name}")
            ]
            child = os.dup(held)  # what is forked now has the same lock until it starts its program
        try:
            with store.hold("x") as again:
                assert mine and again
        finally:
            os.close(child)
