"""A short soak of the workbench's terminals; the long one is ``bench/soak.py``."""

import sys
from pathlib import Path

import pytest

from tests.terminal_soak.soak import soaked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.mark.requirement("terminal:soak")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("seed", "size", "names"),
    [
        # An even seed has a terminal around that answers questions, an odd one a silent terminal.
        (1, (45, 24), ("keys", "hand_over", "storm")),
        (2, (120, 40), ("vim", "paste", "painted", "flood")),
    ],
)
def test_after_a_soak_the_pane_is_as_printed_every_key_came_once_and_nothing_is_left_or_told(
    tmp_path: Path, seed: int, size: tuple[int, int], names: tuple[str, ...]
) -> None:
    tally = soaked(tmp_path, seed, size=size, names=names)
    assert tally.wrong == []
    assert tally.steps == [name for name in names if name not in tally.skipped]
    assert tally.compared
    assert bool(tally.secrets and tally.requests) is (
        not {"hand_over", "painted"}.isdisjoint(names)
    )
