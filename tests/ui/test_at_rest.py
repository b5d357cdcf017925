"""The real program while nothing happens: what still wakes it, and whether it draws."""

import os
import select
import sys
from pathlib import Path

import pytest

from tests.ui.test_hangup import reads, working

TICKS = 20
"""A window is as long as the thread that reads keys takes to wake so often: ten times a second."""
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
    """The wake-ups of all threads but the one that reads keys, and the bytes drawn meanwhile."""
    before, drawn = wakeups(process), 0
    while True:
        if select.select([ours], [], [], 0.05)[0]:
            drawn += len(os.read(ours, 65536))
        now = wakeups(process)
        woken = {thread: count - before.get(thread, 0) for thread, count in now.items()}
        reader = max((woken[thread] for thread in woken if thread != str(process)), default=0)
        if reader >= TICKS:
            return sum(woken.values()) - reader, drawn


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="wake-ups are read from /proc")
@pytest.mark.timeout(360)
@pytest.mark.requirement("ui:calm")
def test_an_idle_program_is_woken_by_its_look_at_the_store_alone(tmp_path: Path) -> None:
    with working(tmp_path, [{"text": "answered"}], "go") as (program, ours):
        reads(ours, b"answered")
        windows: list[tuple[int, int]] = []
        while len(windows) < WINDOWS:
            others, drawn = window(program.pid, ours)
            # Twice a second it looks whether another program took over the conversation.
            if others <= TICKS // 2 and not drawn:
                break
            windows.append((others, drawn))
        assert len(windows) < WINDOWS, windows
        os.close(ours)
