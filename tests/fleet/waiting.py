"""Waiting for what another process does."""

import threading
from collections.abc import Callable


def until(
    holds: Callable[[], bool], seconds: float = 120, tell: Callable[[], object] = str
) -> None:
    """Wait until something holds; fail when it never does, and tell how it stood."""
    pause = threading.Event()
    for _ in range(int(seconds * 10)):
        if holds():
            return
        pause.wait(0.1)
    raise AssertionError(f"it never came {tell()}")
