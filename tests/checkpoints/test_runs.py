"""How often git runs, and what it is given."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.checkpoints import CheckpointLimits, git
from sam_tui.adapters.checkpoints.workspace_files import SizeLimits
from sam_tui.core.errors import CheckpointError
from tests.checkpoints.conftest import FEW, leave_index


def noted_runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The arguments of each run of git from now on."""
    asked, run = list[tuple[str, ...]](), git.GitStore.run

    def noted(store: git.GitStore, *arguments: str, **more: Any) -> bytes:
        asked.append(arguments)  # here: a busy machine ends a slow program before it begins
        return run(store, *arguments, **more)

    monkeypatch.setattr(git.GitStore, "run", noted)
    return asked


@pytest.mark.requirement("checkpoints:runs")
@pytest.mark.parametrize("indexed", [True, False])
async def test_a_call_that_changes_few_files_runs_git_twice_at_most(
    kept: Any, monkeypatch: pytest.MonkeyPatch, indexed: bool
):
    kept.write("src/a", "1")
    if indexed:
        monkeypatch.setattr(FEW, 0)
        await kept.checkpoints.span((), ())  # a look at the files as they are
        leave_index(kept, monkeypatch)
    await kept.checkpoints.span((), ())  # git names the tree of the index once
    asked = noted_runs(monkeypatch)
    for content in ("2", "3"):
        asked.clear()
        async with kept.calling():
            kept.write("src/a", content)
        assert len(await kept.checkpoints.checkpoints()) == int(content) - 1
        assert [words[0] for words in asked] == ["ls-files"] * 2 * indexed


_ENDLESS = """#!/bin/sh
PATH={path}
case "$*" in *--ignored*) [ ! -e {unread} ] || exit 1;; esac
case "$*" in *--deleted*) grep -q kept {excluded} || exec sleep 1000;; esac
exec {git} "$@"
"""
"""A look that never ends before the folder that is too large is excluded."""


@pytest.mark.requirement("checkpoints:huge")
async def test_a_huge_folder_is_refused_soon_and_then_at_once_and_ignored_parts_of_it_do_not_count(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(git, "_SLOW", 0.1)
    kept.limits = CheckpointLimits(sizes=SizeLimits(files=40, ignored_files=20))
    for number in range(60):
        kept.write(f"kept/{number}", "x")
    asked = noted_runs(monkeypatch)
    program, unread = tmp_path / "bin/git", tmp_path / "unread"
    program.parent.mkdir()
    store = hashlib.sha256(os.fsencode(kept.root)).hexdigest()[:24]
    real, path = shutil.which("git"), os.environ["PATH"]
    excluded = kept.data / "checkpoints" / store / "excluded"
    program.write_text(_ENDLESS.format(unread=unread, excluded=excluded, git=real, path=path))
    program.chmod(0o755)

    async def change() -> int:
        async with kept.calling() as number:
            kept.write("a", os.urandom(8))
        return number

    for _ in range(3):
        kept.checkpoints.close()
        kept.checkpoints = kept.opened(search_path=f"{program.parent}:{path}")
        for _ in range(3):
            with pytest.raises(CheckpointError, match="over 40 files"):
                await change()
    assert len(asked) == 3, "each program looked once"
    with pytest.raises(CheckpointError, match="over 40 files"):
        await kept.checkpoints.span((), ())
    assert len(asked) == 4, "a person who asks has it looked at again"

    kept.write(".gitignore", "/kept/\n")
    unread.touch()
    kept.checkpoints.close()
    kept.checkpoints = kept.opened(search_path=f"{program.parent}:{path}")
    with pytest.raises(CheckpointError, match="over 40 files"):
        await change()
    looks = [arguments for arguments in asked[4:] if "--deleted" in arguments]
    assert len(looks) == 1, "where git does not say what is ignored, it does not look again"
    unread.unlink()
    kept.checkpoints.close()
    kept.checkpoints = kept.opened(search_path=f"{program.parent}:{path}")
    await change()
    plan = await kept.back(await change())
    assert [change.path for change in plan.changes] == ["a"]
    assert plan.omitted == ("kept/: an ignored folder that is too large",)


@pytest.mark.requirement("checkpoints:slow")
def test_git_that_takes_a_while_still_reads_all_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_SLOW", 0)
    program = git.git_program(os.environ["PATH"], ())
    assert program is not None
    store = git.GitStore(program, tmp_path / "store", str(tmp_path))
    data = b"more than a pipe holds\n" * 100_000
    with store.locked():
        name = store.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()
        assert store.read("blob", name) == data
