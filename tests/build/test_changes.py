"""Changed files: every state, every name, exactly as git tells them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sam_tools.build_and_version_control.status import FileStatus, read_status
from sam_tui.core.display import Table
from tests.build.conftest import Git, Harness
from tests.build.test_commits import conflict


def rows(found: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Path, status and whether it is staged."""
    return [(f["path"], f["status"], f["staged"]) for f in found["files"]]


@pytest.mark.requirement("build:changed-states")
async def test_changes_of_every_state_are_listed(
    harness: Harness, repository: Path, git: Git
) -> None:
    for name in ("gone.txt", "kind.txt"):
        (repository / name).write_text(name)
    git("add", "-A")
    git("commit", "-qm", "more")
    (repository / "added.txt").write_text("x")
    (repository / "a.txt").write_text("staged")
    git("add", "-A")
    (repository / "a.txt").write_text("and changed again")
    (repository / "gone.txt").unlink()
    (repository / "kind.txt").unlink()
    (repository / "kind.txt").symlink_to("a.txt")
    (repository / "new").mkdir()
    (repository / "new/file.txt").write_text("x")
    done = await harness.call("get_changed_files")
    found = json.loads(done.finished.text)
    assert rows(found) == [
        ("a.txt", "modified", True),
        ("a.txt", "modified", False),
        ("added.txt", "added", True),
        ("gone.txt", "deleted", False),
        ("kind.txt", "type-changed", False),
        ("new/file.txt", "untracked", False),
    ]
    assert (found["repository"], found["branch"]) == (str(repository), "main")
    assert found["totalFiles"] == 6
    assert done.finished.summary == "Getting changed files"
    (table,) = done.finished.display
    assert isinstance(table, Table)
    assert table.rows[0] == ("staged", "modified", "a.txt")


@pytest.mark.requirement("build:changed-filter")
@pytest.mark.parametrize(
    ("states", "paths"),
    [
        (["staged"], ["s.txt"]),
        (["unstaged"], ["a.txt"]),
        ('["untracked","unstaged"]', ["a.txt", "u.txt"]),
        ("untracked", ["u.txt"]),
        (["merge-conflicts"], []),
        ([], ["a.txt", "s.txt", "u.txt"]),
    ],
)
async def test_states_can_be_chosen(
    harness: Harness, repository: Path, git: Git, states: object, paths: list[str]
) -> None:
    (repository / "s.txt").write_text("x")
    git("add", "s.txt")
    (repository / "a.txt").write_text("x")
    (repository / "u.txt").write_text("x")
    found = await harness.good("get_changed_files", sourceControlState=states)
    assert [f["path"] for f in found["files"]] == paths
    assert found["totalFiles"] == len(paths)


@pytest.mark.requirement("build:changed-renames")
async def test_a_rename_tells_where_it_came_from(
    harness: Harness, repository: Path, git: Git
) -> None:
    git("mv", "a.txt", "b with blank.txt")
    with (repository / "b with blank.txt").open("a") as file:
        file.write("six\n")
    git("add", "-A")
    (repository / "b with blank.txt").write_text("all new")
    found = await harness.good("get_changed_files")
    assert rows(found) == [
        ("b with blank.txt", "renamed", True),
        ("b with blank.txt", "modified", False),
    ]
    assert found["files"][0]["oldPath"] == "a.txt"
    assert 50 < found["files"][0]["similarity"] < 100
    assert "oldPath" not in found["files"][1]


@pytest.mark.requirement("build:changed-renames")
async def test_a_copy_is_a_copy_where_git_looks_for_them(
    harness: Harness, repository: Path, git: Git
) -> None:
    git("config", "status.renames", "copies")
    (repository / "copy.txt").write_bytes((repository / "a.txt").read_bytes())
    (repository / "a.txt").write_text("changed\n")
    git("add", "-A")
    found = await harness.good("get_changed_files")
    assert ("copy.txt", "copied", True) in rows(found)


@pytest.mark.requirement("build:changed-conflicts")
async def test_conflicts_say_who_did_what(harness: Harness, repository: Path, git: Git) -> None:
    conflict(repository, git)
    found = await harness.good("get_changed_files", sourceControlState=["merge-conflicts"])
    assert found["files"] == [
        {"path": "a.txt", "status": "conflict", "staged": False, "conflict": "both modified"}
    ]


@pytest.mark.requirement("build:changed-names")
async def test_names_of_any_bytes_survive_and_can_be_sent_back(
    harness: Harness, repository: Path, git: Git
) -> None:
    names = ['quo"te', "line\nbreak", "tab\t", "é", "\udcff\udcfe", "\x1e0\x1e", "-dash"]
    for name in names:
        (repository / name).write_text("x")
    done = await harness.call("get_changed_files")
    done.finished.text.encode()  # what is stored and sent has a form in UTF-8
    paths = [f["path"] for f in json.loads(done.finished.text)["files"]]
    assert sorted(paths) == sorted(names)
    assert await harness.good("git_commit", message="m", files=paths)
    assert git("status", "--porcelain") == ""
    table = done.finished.display[0]
    assert isinstance(table, Table)
    assert all(row[2].isprintable() for row in table.rows)


@pytest.mark.requirement("build:changed-read-only")
async def test_looking_changes_nothing_and_starts_no_program_of_the_repositorys_choice(
    harness: Harness, repository: Path, git: Git
) -> None:
    (repository / "watch").write_text("#!/bin/sh\ntouch watched\n")
    (repository / "watch").chmod(0o755)
    git("config", "core.fsmonitor", f"{repository}/watch")
    (repository / "a.txt").touch()
    index = (repository / ".git/index").read_bytes()
    await harness.good("get_changed_files")
    assert (repository / ".git/index").read_bytes() == index
    assert not (repository / "watched").exists()


@pytest.mark.requirement("build:changed-large")
async def test_a_long_list_is_counted_whole_and_cut(harness: Harness, repository: Path) -> None:
    for number in range(2100):
        (repository / f"{'long' * 20}{number:05d}").touch()
    found = await harness.good("get_changed_files")
    assert (len(found["files"]), found["totalFiles"]) == (2000, 2100)
    assert found["truncated"] is True


@pytest.mark.requirement("build:changed-branch")
async def test_the_branch_is_told_with_its_upstream_or_its_absence(
    harness: Harness, repository: Path, git: Git, tmp_path: Path
) -> None:
    git("clone", "-q", "--bare", str(repository), str(tmp_path / "remote"))
    git("remote", "add", "origin", str(tmp_path / "remote"))
    git("fetch", "-q")
    git("branch", "-q", "-u", "origin/main")
    git("commit", "-q", "--allow-empty", "-m", "ahead")
    found = await harness.good("get_changed_files")
    assert (found["branch"], found["upstream"]) == ("main", "origin/main")
    assert (found["ahead"], found["behind"]) == (1, 0)
    git("checkout", "-q", "--detach")
    assert (await harness.good("get_changed_files"))["branch"] == "(detached)"


@pytest.mark.requirement("build:porcelain")
def test_every_record_of_the_format_is_read() -> None:
    zeros, modes = "0" * 40, "100644 100644 100644"
    records = [
        "# branch.oid (initial)",
        "# branch.head main",
        "# branch.upstream o/m",
        "# branch.ab +2 -3",
        "# stash 4",
        f"1 .M N... {modes} {zeros} {zeros} a b",
        f"1 AD SCMU {modes} {zeros} {zeros} sub",
        f"2 C. N... {modes} {zeros} {zeros} C75 new",
        "old name",
        f"u UD N... {modes} 100644 {zeros} {zeros} {zeros} x y",
        "? ?",
        "! ! ",
    ]
    status = read_status("\0".join([*records, ""]).encode())
    assert (status.branch, status.head, status.upstream) == ("main", "", "o/m")
    assert (status.ahead, status.behind) == (2, 3)
    inside = ("new commits", "modified content", "untracked content")
    assert status.changes == (
        FileStatus("a b", "modified", "unstaged"),
        FileStatus("sub", "added", "staged", submodule=inside),
        FileStatus("sub", "deleted", "unstaged", submodule=inside),
        FileStatus("new", "copied", "staged", "old name", 75),
        FileStatus("x y", "conflict", "merge-conflicts", conflict="deleted by them"),
        FileStatus("?", "untracked", "untracked"),
        FileStatus("! ", "ignored", "ignored"),
    )
    with pytest.raises(ValueError, match="unknown record"):
        read_status(b"x y z\0")


@pytest.mark.requirement("build:schema")
def test_the_five_operations_stand_in_the_seeds_order(harness: Harness) -> None:
    assert [operation.name for operation in harness.tool.operations] == [
        "create_and_run_task",
        "run_task",
        "get_task_output",
        "git_commit",
        "get_changed_files",
    ]
