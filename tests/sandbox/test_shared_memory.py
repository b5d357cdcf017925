"""Shared memory: that of others stays as it is, a run's own is free, and what is left goes."""

import asyncio
import glob
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")


@pytest.fixture
def shared() -> Iterator[str]:
    """Somebody's shared memory."""
    path = Path(f"/dev/shm/sam-tui-test-{os.getpid()}")
    path.write_bytes(b"precious")
    yield str(path)
    assert path.read_bytes() == b"precious"
    path.unlink()


@pytest.mark.requirement("sandbox:own-things")
async def test_shared_memory_of_others_stays_as_it_is(run: Run, shared: str) -> None:
    result = await run(
        f"echo x > {shared}; rm -f {shared}; chmod 600 {shared}; mv {shared} {shared}2"
    )
    assert result.exit_code != 0
    mine = f"/dev/shm/sam-tui-own-{os.getpid()}"
    result = await run(
        f"echo x > {mine} && cat {mine} && chmod 600 {mine} && mv {mine} {mine}2 && rm {mine}2"
        f" && mkdir {mine} && touch {mine}/f && rm -r {mine}"
    )
    assert (result.exit_code, result.output) == (0, "x\n")


@pytest.mark.requirement("sandbox:own-things")
@pytest.mark.parametrize("answer", [False, True])
async def test_shared_memory_of_others_is_read_with_a_yes_alone(
    run: Run, shared: str, *, answer: bool
) -> None:
    asked: list[str] = []

    async def ask(access: OutsideAccess) -> bool:
        asked.append(access.path)
        return answer

    result = await run(f"cat {shared}", ask=ask)
    assert (asked, "precious" in result.output) == ([shared], answer)


def left_in_memory(start: str) -> list[str]:
    return sorted(glob.glob(f"{start}*"))


@pytest.mark.requirement("sandbox:own-things")
async def test_shared_memory_that_was_left_goes_with_the_session(run: Run, shared: str) -> None:
    box = Sandbox()
    left = f"/dev/shm/sam-tui-left-{os.getpid()}"
    result = await run(f"echo x > {left}; mkdir {left}d; echo y > {left}d/f; cat {left}", box=box)
    assert (result.exit_code, result.output) == (0, "x\n")
    assert left_in_memory(left) == [left, f"{left}d"]
    box.close()
    async with asyncio.timeout(60):
        while left_in_memory(left):  # noqa: ASYNC110 # the supervisor ends by itself
            await asyncio.sleep(0.01)
    assert left_in_memory(shared) == [shared]


@pytest.mark.requirement("sandbox:own-things")
async def test_processes_can_share_locks_and_memory(run: Run, workspace: Path) -> None:
    (workspace / "m.py").write_text(
        "import multiprocessing as m\nfrom multiprocessing import shared_memory as s\n"
        "def f(n): return n * n\n"
        "if __name__ == '__main__':\n"
        "    with m.Pool(2) as p: print(p.map(f, [2, 3]))\n"
        "    l = m.Lock(); l.acquire(); l.release()\n"
        "    b = s.SharedMemory(create=True, size=8); b.buf[0] = 7; print(b.buf[0])\n"
        "    b.close(); b.unlink()\n"
    )
    result = await run(f"{BARE_PYTHON} m.py")
    assert (result.exit_code, result.output) == (0, "[4, 9]\n7\n")
