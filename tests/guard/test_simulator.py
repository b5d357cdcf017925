"""What a question says of past calls that its choices would have covered, at the bounds of its list."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.accesses import CommandAccess
from sam_tui.core.ids import CallId
from sam_tui.core.verdict import Decision
from tests.guard.ward import ALICE, RUN, Ward


@pytest.mark.requirement("guard:simulator")
async def test_of_300_past_calls_the_newest_thirty_are_listed_and_all_are_counted(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    storage = open_storage(tmp_path / "data")
    here = ward(sandboxed=False, history=storage.decisions)
    storage.conversations.create(ALICE, here.workspace.root)
    for number in range(301):
        target = f"$ npm run build --n{number}"
        if number >= 299:
            target = target.ljust(number + 101, "x")
        decision = Decision(RUN, "allow", "user", "r", "w", targets=(target,))
        storage.decisions.record(ALICE, CallId(str(number)), decision)
    await here.decide(CommandAccess("npm run build"))
    session = here.asked[-1].choices[-1]
    assert (session.covered, session.considered) == (300, 300)
    cut, whole, *others = (call.target for call in session.past)
    assert cut == "$ npm run build --n300".ljust(399, "x") + "…"
    assert whole == "$ npm run build --n299".ljust(400, "x")
    assert others == [f"$ npm run build --n{number}" for number in range(298, 270, -1)]
    storage.close()
