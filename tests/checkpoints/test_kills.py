"""A program that is killed at any moment leaves every checkpoint that it told of, whole."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import CheckpointError
from tests.checkpoints.killing import killed, lost


@pytest.mark.timeout(240)  # interpreters are started one after the other
@pytest.mark.requirement("checkpoints:killed")
async def test_a_kill_loses_no_checkpoint_and_the_next_program_goes_on(kept: Any) -> None:
    promised = killed(kept.root, kept.data, 3)
    assert await lost(kept.root, kept.data, promised, every=2) == ([], "")


@pytest.mark.requirement("checkpoints:killed")
async def test_what_a_killed_program_was_writing_is_removed_by_the_next(kept: Any) -> None:
    async with kept.calling():
        kept.write("a", "1")
    await kept.checkpoints.checkpoints()  # what came after the call is kept behind it
    (store,) = (kept.data / "checkpoints").iterdir()
    before = set(store.iterdir())
    (store / "4242.new").touch()
    (store / "index.lock").touch()
    await kept.opened().checkpoints()
    assert set(store.iterdir()) == before


async def three_checkpoints(kept: Any) -> dict[int, str]:
    """What a file had before each of three calls, by the number of its checkpoint."""
    promised: dict[int, str] = {}
    for state in ("one", "two", "three"):
        kept.write("state", state)
        async with kept.calling() as number:
            promised[number] = state
            kept.write("state", "changed")
    await kept.checkpoints.checkpoints()
    return promised


@pytest.mark.requirement("checkpoints:killed")
async def test_what_is_wrong_with_a_checkpoint_is_told_with_the_error(kept: Any) -> None:
    promised = await three_checkpoints(kept)
    first, second, _ = promised
    promised[second] = "another"
    (store,) = (kept.data / "checkpoints").iterdir()
    blob = hashlib.sha1(b"blob 3\0one", usedforsecurity=False).hexdigest()
    (store / "objects" / blob[:2] / blob[2:]).unlink()
    wrong, damage = await lost(kept.root, kept.data, promised | {99: "four"})
    assert [line.partition(" ")[0] for line in wrong] == ["99", str(first), str(second)]
    assert wrong[0].endswith("is not there")
    assert "was not restored: " in wrong[1] and blob in wrong[1]
    assert wrong[2].endswith("brought back 'two', not 'another'")
    assert "git fsck ended with" in damage and blob in damage


_BLIND = """#!/bin/sh
PATH={path}
case "$1" in prune) mv "$GIT_DIR/refs/snapshots" "$GIT_DIR/away"; mkdir "$GIT_DIR/refs/snapshots";; esac
{git} "$@"; code=$?
case "$1" in prune) rmdir "$GIT_DIR/refs/snapshots"; mv "$GIT_DIR/away" "$GIT_DIR/refs/snapshots";; esac
exit $code
"""
"""git that cannot open the folder of references, as where descriptors or memory run out: it goes on."""


@pytest.mark.requirement("checkpoints:shortage")
@pytest.mark.parametrize("names", [10_000, 1])
async def test_git_that_cannot_read_its_references_removes_nothing_that_is_needed(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: int
) -> None:
    monkeypatch.setattr("sam_tui.adapters.checkpoints.timeline._MOST_NAMES", names)
    git, path = tmp_path / "bin/git", os.environ["PATH"]
    git.parent.mkdir()
    git.write_text(_BLIND.format(git=shutil.which("git"), path=path))
    git.chmod(0o755)
    promised = await three_checkpoints(kept)
    (store,) = (kept.data / "checkpoints").iterdir()
    number = max(promised)
    (store / "refs/snapshots" / str(number)).write_text("")  # as a machine without power leaves it
    del promised[number]
    kept.checkpoints.close()
    kept.checkpoints = kept.opened(search_path=f"{git.parent}:{path}")
    kept.write("state", "unknown")
    assert (await kept.checkpoints.prune()).checkpoints == 0
    assert await lost(kept.root, kept.data, promised) == ([], "")


@pytest.mark.usefixtures("indexed")
@pytest.mark.requirement("checkpoints:shortage")
async def test_git_that_could_not_be_started_once_is_asked_again_by_the_next_call(
    kept: Any, tmp_path: Path
) -> None:
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    git.symlink_to(shutil.which("git") or "")
    kept.checkpoints.close()
    kept.checkpoints = kept.opened(search_path=str(git.parent))
    kept.write("state", "one")
    async with kept.calling() as number:
        kept.write("state", "two")
    await kept.checkpoints.checkpoints()
    git.rename(tmp_path / "away")
    with pytest.raises(CheckpointError, match="git cannot be run"):
        async with kept.calling():
            pass
    (tmp_path / "away").rename(git)
    async with kept.calling():
        kept.write("state", "three")
    await kept.back(number)
    assert (kept.root / "state").read_text() == "one"


@pytest.mark.requirement("checkpoints:bounded")
async def test_git_removes_nothing_from_a_store_that_is_not_an_hour_old(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = "sam_tui.adapters.checkpoints.store.expiry_seconds"
    monkeypatch.setattr(clock, lambda: 1e6 + expiry_seconds())  # the machine runs for days
    git, runs, path = tmp_path / "bin/git", tmp_path / "runs", os.environ["PATH"]
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\necho "$1" >> {runs}\nPATH={path}\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    runs.touch()
    kept.checkpoints = kept.opened(search_path=f"{git.parent}:{path}")
    for age, prunes in ((0, 0), (1800, 0), (7200, 1), (1800, 1)):
        for note in kept.data.rglob("pruned"):
            begun, running = map(float, note.read_bytes().split())
            note.write_text(f"{begun} {running - age}")
        async with kept.calling():
            kept.write("a", f"{age} {prunes}")
        await kept.checkpoints.checkpoints()
        assert runs.read_text().split().count("prune") == prunes
