"""The event loop's clock, set forward: what waits for a time is over at once, on any machine."""

import asyncio

import pytest


def pass_time(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have so much time pass at once, for all that measures it by the running loop.

    What outlives the test must not have measured by it.
    """
    loop = asyncio.get_running_loop()
    before = loop.time
    monkeypatch.setattr(loop, "time", lambda: before() + seconds)
