"""A program that is killed at any moment leaves every checkpoint that it told of, whole."""

import hashlib
from typing import Any

import pytest

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


@pytest.mark.requirement("checkpoints:killed")
async def test_what_is_wrong_with_a_checkpoint_is_told_with_the_error(kept: Any) -> None:
    promised: dict[int, str] = {}
    for state in ("one", "two", "three"):
        kept.write("state", state)
        async with kept.calling() as number:
            promised[number] = state
            kept.write("state", "changed")
    await kept.checkpoints.checkpoints()
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
