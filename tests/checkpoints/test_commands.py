"""Checkpoints from the outside: calls of the program, and its own commands to go back."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command, Ended, sam

__all__ = ["sam"]


def call(
    sam: Command, operation: str, environ: dict[str, str] | None = None, **fields: Any
) -> Ended:
    """One call of the conversation ``c``."""
    words = (operation, json.dumps(fields), "--conversation", "c", "--permission-mode", "bypass")
    done = sam("tools", "call", *words, environ=environ)
    assert done.code == 0, done.out + done.err
    return done


@pytest.mark.requirement("checkpoints:commands", "checkpoints:cli")
def test_a_folder_that_a_command_deleted_comes_back(sam: Command) -> None:
    source = sam.workspace / "src"
    source.mkdir()
    (source / "a.py").write_text("print(1)\n", encoding="utf-8")
    call(sam, "run_command", command="cat src/a.py; ls -l")
    call(sam, "read_file", filePath="src/a.py")
    assert not (sam.data / "checkpoints").exists()
    assert "No call" in sam("checkpoints", "list").err
    call(sam, "run_command", command="rm -r src")
    call(sam, "create_file", filePath="b.txt", content="new\n")
    created, removed = sam("checkpoints", "list", "--json").json
    assert (created["made_by"]["operation"], "rm -r src" in removed["made_by"]["summary"]) == (
        "file_operations.create_file",
        True,
    )
    (sam.workspace / "b.txt").write_text("mine\n", encoding="utf-8")
    first = str(removed["id"])
    shown = sam("checkpoints", "show", first, "--diff")
    assert shown.out.splitlines()[0] == "deleted   b.txt  (something else changed it, too)"
    assert "    +print(1)" in shown.out.splitlines()
    done = sam("checkpoints", "restore", first)
    assert done.code == 0, done.err
    assert (source / "a.py").read_text(encoding="utf-8") == "print(1)\n"
    assert (sam.workspace / "b.txt").read_text(encoding="utf-8") == "mine\n"
    forward = done.out.split()[-1]
    assert sam("checkpoints", "restore", first, str(sam.workspace / "b.txt")).code == 0
    assert not (sam.workspace / "b.txt").exists()
    assert sam("checkpoints", "restore", forward).code == 0
    assert not source.exists()
    outside = sam("checkpoints", "restore", first, "../x")
    assert (outside.code, "changes nothing at '../x'" in outside.err) == (2, True)
    assert sam("checkpoints", "show", "999").code == 1
    word = sam("checkpoints", "restore", "before")
    assert (word.code, "'before' is not a checkpoint. “sam-tui checkpoints list”" in word.err) == (
        2,
        True,
    )
    assert sam("checkpoints", "prune", "--all").out.startswith("Dropped: ")
    assert sam("checkpoints", "list").out == ""


@pytest.mark.requirement("checkpoints:commands")
def test_a_file_whose_name_has_a_line_break_is_one_line_and_comes_back(sam: Command) -> None:
    odd = "new\nrestored  important.txt"
    call(sam, "create_file", filePath="a.txt", content="1\n")
    (sam.workspace / odd).write_text("x", "utf-8")
    call(sam, "delete_file", filePath=odd)
    shown = sam("checkpoints", "show", "3").out
    assert shown == "created   new\\nrestored  important.txt\n"
    sam("checkpoints", "restore", "3", odd)
    assert (sam.workspace / odd).read_text("utf-8") == "x"


@pytest.mark.requirement("checkpoints:no-git")
def test_without_git_calls_go_on_and_it_is_said(sam: Command, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    nowhere = {"PATH": str(empty)}
    call(sam, "create_file", nowhere, filePath="a.txt", content="1\n")
    assert (sam.workspace / "a.txt").exists()
    refused = sam("checkpoints", "list", environ=nowhere)
    assert (refused.code, "git is not on the search path" in refused.err) == (1, True)


@pytest.mark.requirement("checkpoints:no-git")
def test_a_snapshot_that_fails_leaves_nothing_that_fills_the_disk(
    sam: Command, tmp_path: Path
) -> None:
    git = tmp_path / "programs" / "git"
    git.parent.mkdir()
    full = 'case "$1" in update-index) echo x | "$real" hash-object -w --stdin; exit 128;; esac'
    git.write_text(f'#!/bin/sh\nreal={shutil.which("git")}\n{full}\nexec "$real" "$@"\n', "utf-8")
    git.chmod(0o755)
    environ = {"PATH": f"{git.parent}:{os.environ['PATH']}"}
    for number in range(201):  # so many that git reads them
        (sam.workspace / f"{number}.txt").write_text("1\n", "utf-8")
    call(sam, "create_file", environ, filePath="a.txt", content="1\n")
    assert (sam.workspace / "a.txt").exists() and "No call" in sam("checkpoints", "list").err
    [store] = [path for path in (sam.data / "checkpoints").iterdir() if path.is_dir()]
    assert list(store.glob("objects/??/*")) == []


@pytest.mark.requirement("checkpoints:unusable")
def test_a_store_that_cannot_be_used_is_named_with_a_way_out(sam: Command) -> None:
    call(sam, "create_file", {}, filePath="a.txt", content="1\n")
    store = sam.data / "checkpoints"
    shutil.move(store, sam.data / "elsewhere")
    store.write_text("", "utf-8")
    output = sam("checkpoints", "list")
    assert output.code == 1 and f"{store} cannot be used: " in output.err
    assert "copy it and name the copy with --data-dir" in output.err


@pytest.mark.requirement("checkpoints:cli")
def test_a_mode_that_changed_is_named_where_no_line_did(sam: Command) -> None:
    (sam.workspace / "b.sh").write_text("exit\n", "utf-8")
    call(sam, "run_command", {}, command="chmod 755 b.sh")
    assert "restored  b.sh (mode 100755 → 100644)" in sam("checkpoints", "show", "1").out


@pytest.mark.requirement("checkpoints:settings")
def test_the_person_says_how_large_a_file_may_be_and_no_project_does(sam: Command) -> None:
    (sam.folder / "config").mkdir()
    policy = sam.folder / "config" / "policy.toml"
    environ = {"SAM_TUI_CONFIG_DIR": str(policy.parent)}
    policy.write_text("[limits]\ncheckpoint_file_megabytes = 1\ncheckpoint_days = 3\n", "utf-8")
    (sam.workspace / ".sam").mkdir()
    own = "[limits]\ncheckpoint_days = 1\ncheckpoint_megabytes = 10\n"
    (sam.workspace / ".sam" / "policy.toml").write_text(own, "utf-8")
    (sam.workspace / "large.bin").write_bytes(b"x" * 1_000_001)
    call(sam, "create_file", environ, filePath="a.txt", content="1\n")
    [checkpoint] = sam("checkpoints", "list", "--json", environ=environ).json
    assert checkpoint["omitted"] == ["large.bin: larger than 1 MB"]
    policy.write_text("[limits]\ncheckpoint_days = 0\n", "utf-8")
    assert sam("checkpoints", "list", environ=environ).code == 52
