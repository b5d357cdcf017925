"""How often a host may be asked."""

import pytest

from sam_tui.adapters.web.allowance import Allowance, Allowances
from sam_tui.core.clock import SystemClock
from sam_tui.core.errors import ToolError


class Hand(SystemClock):
    """A clock that moves only when somebody waits."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        """Where it stands."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Move on at once."""
        self.waits.append(seconds)
        self.time += seconds


@pytest.mark.requirement("web:allowance")
async def test_a_host_is_asked_no_faster_than_its_bucket_refills() -> None:
    clock = Hand()
    allowances = Allowances(Allowance(burst=3, rate=2), clock)
    for _ in range(5):
        await allowances.take("a.example")
    assert clock.waits == [0.5, 0.5]
    await allowances.take("b.example")
    assert len(clock.waits) == 2
    clock.time += 100
    for _ in range(3):
        await allowances.take("a.example")
    assert len(clock.waits) == 2


@pytest.mark.requirement("web:allowance")
async def test_who_would_wait_too_long_is_refused_and_the_table_of_hosts_stays_small() -> None:
    class Still(Hand):
        async def sleep(self, seconds: float) -> None:
            self.waits.append(seconds)

    clock = Still()
    allowances = Allowances(Allowance(burst=1, rate=1), clock)
    for _ in range(31):
        await allowances.take("a.example")
    assert clock.waits == [float(n) for n in range(1, 31)]
    with pytest.raises(ToolError, match=r"Too many requests to a\.example"):
        await allowances.take("a.example")
