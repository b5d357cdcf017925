"""What is remembered, as the person lists, reads and deletes it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from sam_tui.adapters.storage import open_storage
from sam_tui.cli.commands.sessions.memories import memories_group
from sam_tui.core.ports.memory import LearntDraft, MemoryDraft, Origin, Scope

SECRET = "AKIA" + "IOSFODNN7EXAMPLF"


@pytest.mark.requirement("memory:entries")
def test_an_entry_is_listed_shown_and_deleted_with_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(tmp_path / "data"))
    place = Scope(f"workspace:{tmp_path}")
    with open_storage(tmp_path / "data") as storage:
        storage.memories.store(Scope("c"), MemoryDraft("tabs, not spaces", "preference"))
        storage.notes.put(Scope("topic:t"), "key", f"{SECRET} \x1b[31m", origin=Origin("x", "/f"))
        storage.knowledge.add(place, LearntDraft("solution", "E1", "restart", ("twice",)))

    def memories(*arguments: str) -> tuple[int | object, str]:
        done = CliRunner().invoke(memories_group, arguments, standalone_mode=False)
        return done.exception or done.return_value, done.output

    lines = memories("list")[1].splitlines()
    assert len(lines) == 3 and SECRET not in "".join(lines)
    learnt, note, memory = (
        next(line for line in lines if word in line) for word in ("solution", "topic t", "tabs")
    )
    assert memory in memories("list", "--conversation", "c")[1]
    assert note not in memories("list", "--conversation", "c")[1]
    assert memories("list", "-C", str(tmp_path))[1] == f"{learnt}\n"
    shown = memories("show", note.split()[0])[1]
    assert "stored by conversation x in /f" in shown and SECRET not in shown and "\x1b" not in shown
    assert "restart\ntwice" in memories("show", learnt.split()[0])[1]
    ids = [line.split()[0] for line in (learnt, note, memory)]
    assert "Nothing is remembered under 'nope'" in str(memories("delete", *ids, "nope", "--yes")[0])
    assert "Nobody can be asked" in str(memories("delete", *ids)[0])
    assert len(memories("list")[1].splitlines()) == 3
    assert memories("delete", *ids, "--yes")[1].count("Deleted: ") == 3
    assert memories("list")[1] == "Nothing is remembered yet.\n"
    with open_storage(tmp_path / "data") as storage:
        query = "SELECT (SELECT count(*) FROM memory_words), (SELECT sum(texts) FROM word_totals)"
        assert storage.database.query(query) == [(0, 0)]
