"""What earlier versions of Landlock leave open, tried on this kernel by not making use of more."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.programs import needs
from tests.sandbox.test_outside import ATTACKS, filled

Portrait = Callable[[Path], dict[str, tuple[object, ...]]]

pytestmark = pytest.mark.confined("live")


@pytest.fixture(scope="module", params=[1, 2, 4])
def early(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Linux 5.14, 5.19 and 6.7."""
    made = Sandbox(abi=request.param)
    assert made.confinement.kind == "live", made.confinement.detail  # else nothing is held
    yield made
    made.close()


async def attempt(
    box: Sandbox, workspace: Path, command: str, asked: list[OutsideAccess] | None = None
) -> CommandResult:
    async def consent(access: OutsideAccess) -> bool:
        assert asked is not None
        asked.append(access)
        return True

    return await ShellCommands(box).run(
        CommandRequest(
            command,
            str(workspace),
            True,
            (str(workspace),),
            20.0,
            lambda _: None,
            ask=None if asked is None else consent,
        )
    )


@pytest.mark.requirement("sandbox:early-kernels")
async def test_nothing_outside_changes_under_earlier_versions(
    early: Sandbox, outside: Path, workspace: Path, portrait: Portrait
) -> None:
    # All in one command: each is a shell of its own, and finds the workspace empty.
    before = portrait(outside)
    clear = "for left in *; do if [[ -e $left || -L $left ]]; then rm -rf ./*; break; fi; done"
    attacks = (f"(\n{filled(command, outside)}\n)\n{clear}" for command in ATTACKS.values())
    result = await attempt(early, workspace, "\n".join(attacks))
    assert not result.timed_out
    assert portrait(outside) == before, result.output


EMPTYING = """
import ctypes, os, struct, sys, threading
sys.setswitchinterval(1e-5)  # else each call waits its turn behind the thread that swaps
victim, inner = (os.fsencode(a) for a in sys.argv[1:])
libc = ctypes.CDLL(None, use_errno=True)
for flags in (os.O_TRUNC, os.O_TRUNC | 3, os.O_TRUNC | os.O_CREAT):
    libc.open(victim, flags, 0)
libc.truncate(victim, 0)
how = ctypes.create_string_buffer(struct.pack("=QQQ", os.O_RDONLY, 0, 0))
libc.syscall(437, -100, victim, how, 24)
libc.prctl(4, 0, 0, 0, 0)  # hides its memory
libc.truncate(victim, 0)
libc.open(victim, os.O_TRUNC)
path = ctypes.create_string_buffer(inner, 4096)
stop = False
def swap():
    while not stop:
        path.value = victim
        path.value = inner
thread = threading.Thread(target=swap)
thread.start()
for _ in range(500):
    libc.truncate(path, 0)
    descriptor = libc.open(path, os.O_TRUNC)
    if descriptor >= 0:
        os.close(descriptor)
stop = True
thread.join()
"""


@pytest.mark.requirement("sandbox:early-kernels")
async def test_no_file_outside_is_emptied_by_any_way_of_opening(
    early: Sandbox, outside: Path, workspace: Path
) -> None:
    (workspace / "empty.py").write_text(EMPTYING)
    (workspace / "inner").write_text("mine")
    result = await attempt(
        early, workspace, f"{BARE_PYTHON} empty.py {outside}/victim {workspace}/inner"
    )
    assert result.exit_code == 0, result.output
    assert (outside / "victim").read_text() == "precious\n"


@needs("git")
@pytest.mark.requirement("sandbox:early-kernels")
async def test_the_work_inside_goes_on(early: Sandbox, workspace: Path) -> None:
    script = """
        mkdir -p a/b c; echo one > a/f; mv a/f c/g; ln c/g a/h; mv a/b c/b; cat a/h
        truncate -s 2 c/g; cat c/g; echo; : > c/g; wc -c < a/h
        python3 -c 'import os; os.close(os.open("a/h", os.O_RDONLY | os.O_TRUNC))'
        git init -q r && cd r && echo x > x && git add x && mkdir d && git mv x d/x
        git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l
        sleep 60 & kill $!; wait $!; echo $?
        sleep 60 | sleep 60 & kill %1 && wait $!; echo $?
    """
    result = await attempt(early, workspace, f"set -m\n{script}")
    told = [line for line in result.output.splitlines() if not line.startswith("[")]
    assert told == ["one", "on", "0", "1", "143", "143"], result.output


@pytest.mark.requirement("sandbox:early-kernels")
async def test_signals_stay_inside_and_approvals_are_live(
    early: Sandbox, outside: Path, workspace: Path, bystander: subprocess.Popen[bytes]
) -> None:
    number = bystander.pid
    kill = (
        f"kill {number}; kill -9 -{os.getpgid(number)}; kill -0 -1; python3 -c 'import os, signal;"
        f" signal.pidfd_send_signal(os.pidfd_open({number}), 9)'; echo went on"
    )
    result = await attempt(early, workspace, kill)
    assert result.output.endswith("went on\n")
    assert bystander.poll() is None
    asked: list[OutsideAccess] = []
    moved = f"mv {outside}/victim here; truncate -s 3 {outside}/folder/inner; cat here"
    result = await attempt(early, workspace, moved, asked)
    assert result.output == "precious\n"
    assert [access.kind for access in asked] == ["rename", "write"]
    assert (outside / "folder/inner").read_text() == "inn"


OWNING = """
import fcntl, os, signal, struct, sys
for process in (int(sys.argv[1]), os.getpid()):
    ours, theirs = os.pipe()
    pointed = struct.pack("i", process)
    for how in (
        lambda: fcntl.fcntl(ours, 8, process),  # F_SETOWN
        lambda: fcntl.fcntl(ours, 8, -process) if process != os.getpid() else None,
        lambda: fcntl.fcntl(ours, 15, struct.pack("ii", 1, process)),  # F_SETOWN_EX
        lambda: fcntl.ioctl(ours, 0x8901, pointed),  # FIOSETOWN
        lambda: fcntl.ioctl(ours, 0x8902, pointed),  # SIOCSPGRP
    ):
        try:
            how()
        except OSError:
            pass
    print(fcntl.fcntl(ours, 9) == process)  # F_GETOWN
    fcntl.fcntl(ours, 10, signal.SIGUSR1)  # F_SETSIG
    signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC)
    os.write(theirs, b"x")
"""


@pytest.mark.requirement("sandbox:early-kernels")
async def test_no_process_outside_gets_the_signals_of_a_descriptor(
    early: Sandbox, workspace: Path, bystander: subprocess.Popen[bytes]
) -> None:
    (workspace / "own.py").write_text(OWNING)
    result = await attempt(early, workspace, f"{BARE_PYTHON} own.py {bystander.pid}")
    assert result.output == "False\nTrue\nheard\n"
    assert bystander.poll() is None


@pytest.mark.requirement("sandbox:protections-told")
def test_what_the_supervisor_makes_up_for_counts_as_held() -> None:
    box = Sandbox(abi=1)
    held = {p.shield: p.held for p in box.confinement.protections}
    assert held["writes"]
    assert held["signals"]
    box.close()
    alone = Sandbox(abi=2, live=False)
    assert alone.confinement.kind == "none"
    assert "truncat" in alone.confinement.detail
    alone.close()
