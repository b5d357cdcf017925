"""What the whole machine shares and no path names: System V objects, and the scheduling of processes."""

import asyncio
import ctypes
import os
import re
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

CREATE, REMOVE = 0o1600, 0
PYTHON = f"{BARE_PYTHON} -I -c"
LIBRARY = "import ctypes,os,sys; libc=ctypes.CDLL(None,use_errno=True); "


@pytest.fixture
def theirs() -> Iterator[dict[str, int]]:
    """Objects of the person's: their numbers by kind."""
    libc = ctypes.CDLL(None)
    made = {
        "m": libc.shmget(0, 4096, CREATE),
        "s": libc.semget(0, 1, CREATE),
        "q": libc.msgget(0, CREATE),
    }
    assert min(made.values()) >= 0
    libc.shmat.restype = ctypes.c_void_p
    yield made
    libc.shmctl(made["m"], REMOVE, None)
    libc.semctl(made["s"], 0, REMOVE)
    libc.msgctl(made["q"], REMOVE, None)


def there(objects: dict[str, int]) -> list[str]:
    """Which of them are still there, by what the kernel lists."""
    names = {"m": "shm", "s": "sem", "q": "msg"}
    found: list[str] = []
    for kind, number in objects.items():
        with open(f"/proc/sysvipc/{names[kind]}", encoding="ascii") as listing:
            numbers = {line.split()[1] for line in listing}
        found += [kind] if str(number) in numbers else []
    return found


@pytest.mark.requirement("sandbox:objects-outside")
@pytest.mark.parametrize(
    "attempt",
    [
        "ipcrm -m {m}; ipcrm -s {s}; ipcrm -q {q}; ipcrm -a",
        "{py} '{lib}libc.shmat.restype=ctypes.c_void_p; a=libc.shmat({m},None,0);"
        ' (ctypes.c_char*4).from_address(a)[:]=b"gone" if a!=2**64-1 else sys.exit(1)\'',
        "{py} '{lib}libc.semctl({s},0,16,7)'",
        "{py} '{lib}libc.msgsnd({q},(ctypes.c_long*2)(1,2),8,0o4000)'",
        "{py} '{lib}libc.shmctl({m},0,None); libc.shmctl({m},0x100,None)'",
    ],
)
async def test_objects_of_others_stay_as_they_are(
    run: Run, theirs: dict[str, int], attempt: str
) -> None:
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    content = (ctypes.c_char * 4).from_address(libc.shmat(theirs["m"], None, 0))
    await run(attempt.format(py=PYTHON, lib=LIBRARY, **theirs))
    assert there(theirs) == ["m", "s", "q"]
    assert bytes(content) == b"\0\0\0\0"
    assert libc.semctl(theirs["s"], 0, 12) == 0
    assert libc.msgrcv(theirs["q"], (ctypes.c_long * 2)(), 8, 0, 0o4000) == -1


OWN = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
key = 0x5A000000 | os.getpid()
memory = libc.shmget(key, 4096, 0o1600)
assert memory == libc.shmget(key, 4096, 0o600) >= 0
assert libc.shmget(key, 4096, 0o3600) == -1 and ctypes.get_errno() == 17
assert libc.shmget(key + 1, 4096, 0) == -1 and ctypes.get_errno() == 2
text = (ctypes.c_char * 4).from_address(libc.shmat(memory, None, 0))
flags = libc.semget(0, 1, 0o1600)
assert libc.semctl(flags, 0, 16, 0) == 0
letters = libc.msgget(0, 0o1600)
if not os.fork():
    text[:] = b"told"
    assert libc.msgsnd(letters, (ctypes.c_long * 2)(1, 42), 8, 0) == 0
    assert libc.semop(flags, (ctypes.c_short * 3)(0, 1, 0), 1) == 0
    os._exit(0)
assert libc.semop(flags, (ctypes.c_short * 3)(0, -1, 0), 1) == 0
letter = (ctypes.c_long * 2)()
assert libc.msgrcv(letters, letter, 8, 0, 0) == 8 and letter[1] == 42
assert text[:] == b"told"
assert libc.shmctl(memory, 0, None) == libc.semctl(flags, 0, 0) == libc.msgctl(letters, 0, None) == 0
print("all worked")
"""


@pytest.mark.requirement("sandbox:objects-own")
async def test_objects_that_a_run_makes_are_its_own(run: Run, workspace: Path) -> None:
    (workspace / "own.py").write_text(OWN)
    assert (await run(f"{BARE_PYTHON} own.py")).output == "all worked\n"


@pytest.mark.requirement("sandbox:objects-own")
async def test_objects_that_a_run_left_go_with_the_session(
    run: Run, theirs: dict[str, int]
) -> None:
    box = Sandbox()
    output = (await run("ipcmk -M 64; ipcmk -S 1; ipcmk -Q", box=box)).output
    left = dict(zip("msq", map(int, re.findall(r"\d+", output)), strict=True))
    assert there(left) == ["m", "s", "q"]
    box.close()
    async with asyncio.timeout(60):
        while there(left):  # noqa: ASYNC110 # the supervisor ends by itself
            await asyncio.sleep(0.01)
    assert there(theirs) == ["m", "s", "q"]


@pytest.mark.requirement("sandbox:processes-outside")
async def test_processes_outside_keep_their_priority_and_processors(
    run: Run, bystander: subprocess.Popen[bytes]
) -> None:
    number = bystander.pid
    before = (
        os.getpriority(0, number),
        os.sched_getaffinity(number),
        os.sched_getscheduler(number),
    )
    result = await run(
        f"renice -n 5 -p {number}; taskset -p 1 {number}; chrt -b -p 0 {number};"
        f" ionice -c 3 -p {number}; renice -n 5 -u $(id -u); ionice -c 3 -P {os.getpgid(number)}"
    )
    after = (os.getpriority(0, number), os.sched_getaffinity(number), os.sched_getscheduler(number))
    assert after == before
    told = (await run(f"ionice -p {number}", confined=False)).output
    assert "idle" not in told, result.output


@pytest.mark.requirement("sandbox:processes-own")
async def test_a_run_schedules_and_signals_its_own_processes(run: Run) -> None:
    result = await run(
        "nice -n 3 true && sleep 60 & p=$!; renice -n 19 -p $p > /dev/null && taskset -p 1 $p > /dev/null"
        " && chrt -b -p 0 $p && ps -o ni= -p $p && kill $p; wait $p; echo $?; renice -n 19 $$ > /dev/null;"
        " (sleep 60 & exec setsid sleep 60) & sleep 0.1; kill -TERM 0"
    )
    assert result.output.split() == ["19", "143"]
    assert result.signal == "SIGTERM"
