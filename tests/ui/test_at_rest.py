"""The real program while nothing happens: what still wakes it, and whether it draws."""

import os
import select
import sys
import time
from pathlib import Path

import pytest

from tests.ui.test_hangup import reads, working

SECONDS = 2
MOST = 10
"""Twice a second it looks whether another program took over the conversation, and another thread once."""
WINDOWS = 40
"""Within so many the start is over, also beside other work."""


def wakeups(process: int) -> dict[str, int]:
    """How often each thread went to sleep by itself so far."""
    counts: dict[str, int] = {}
    for thread in Path(f"/proc/{process}/task").iterdir():
        try:
            lines = (thread / "status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):  # It ended since it was listed.
            continue
        (line,) = (line for line in lines if line.startswith("voluntary_ctxt_switches"))
        counts[thread.name] = int(line.split()[1])
    return counts


def window(process: int, ours: int) -> tuple[int, int]:
    """The wake-ups of all threads within some seconds, and the bytes drawn meanwhile."""
    before, drawn, end = wakeups(process), 0, time.monotonic() + SECONDS
    while (left := end - time.monotonic()) > 0:
        if select.select([ours], [], [], left)[0]:
            drawn += len(os.read(ours, 65536))
    now = wakeups(process)
    return sum(count - before.get(thread, 0) for thread, count in now.items()), drawn


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="wake-ups are read from /proc")
@pytest.mark.timeout(360)
@pytest.mark.requirement("ui:calm")
def test_an_idle_program_is_woken_by_its_look_at_the_store_alone(tmp_path: Path) -> None:
    with working(tmp_path, [{"text": "answered"}], "go") as (program, ours, _):
        reads(ours, b"answered")
        windows: list[tuple[int, int]] = []
        while len(windows) < WINDOWS:
            windows.append(window(program.pid, ours))
            woken, drawn = windows[-1]
            if woken <= MOST and not drawn:
                break
        else:
            pytest.fail(f"woken, or drew: {windows}")
        os.close(ours)
