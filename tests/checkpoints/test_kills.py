"""A program that is killed at any moment leaves every checkpoint that it told of, whole."""

from typing import Any

import pytest

from tests.checkpoints.killing import killed, lost


@pytest.mark.timeout(240)  # interpreters are started one after the other
@pytest.mark.requirement("checkpoints:killed")
async def test_a_kill_loses_no_checkpoint_and_the_next_program_goes_on(kept: Any) -> None:
    promised = killed(kept.root, kept.data, 3)
    assert await lost(kept.root, kept.data, promised, every=2) == (0, 0)
