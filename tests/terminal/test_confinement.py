import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.programs import needs

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live", "landlock", "seatbelt")


@pytest.mark.requirement("terminal:confined-inside")
@pytest.mark.parametrize(
    "command",
    [
        "echo one > file && echo two >> file && rm file",
        "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && rmdir a/b a",
        "echo long > file && truncate -s 1 file && ln file hard && ln -s file soft",
        "mkfifo pipe && rm pipe",
        "echo x > /dev/null && echo x > /dev/shm/$$ && rm /dev/shm/$$",
        "cat /etc/passwd > /dev/null",
    ],
)
async def test_a_confined_command_works_in_the_workspace(run: Run, command: str) -> None:
    result = await run(command, confined=True)
    assert (result.exit_code, result.output) == (0, "")


@needs("git")
@pytest.mark.requirement("terminal:confined-inside")
async def test_git_commits_in_the_workspace(run: Run) -> None:
    result = await run(
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
        " && git log --oneline | wc -l",
        confined=True,
    )
    assert (result.exit_code, result.output.strip()) == (0, "1")


@pytest.mark.requirement("terminal:confined-outside")
@pytest.mark.parametrize(
    "command",
    [
        "echo x > {o}/new",
        "echo x >> {o}/victim",
        "rm {o}/victim",
        "truncate -s 0 {o}/victim",
        "{py} -c 'import os; os.truncate(\"{o}/victim\", 0)'",
        "mv {o}/victim {o}/other",
        "mv {o}/victim here",
        "ln {o}/victim here",
        "mkdir {o}/folder",
        "ln -s {o} link && echo x > link/victim",
        "cd {o} && : > victim",
    ],
)
async def test_a_confined_command_cannot_change_what_lies_outside(
    run: Run, outside: Path, command: str
) -> None:
    result = await run(command.format(o=outside, py=BARE_PYTHON), confined=True)
    assert result.exit_code != 0
    assert os.listdir(outside) == ["victim"]
    assert (outside / "victim").read_text() == "precious"


@pytest.mark.requirement("terminal:confined-outside")
async def test_the_same_write_succeeds_without_confinement(run: Run, outside: Path) -> None:
    assert (await run(f"echo x > {outside}/victim")).exit_code == 0
    assert (outside / "victim").read_text() == "x\n"


@pytest.mark.requirement("terminal:confined-scratch")
async def test_temporary_files_go_to_a_private_folder_that_ends_with_the_sandbox(
    run: Run, sandbox: Sandbox
) -> None:
    made = Path((await run("mktemp", confined=True)).output.strip())
    assert made.parent == Path(sandbox.scratch)
    assert os.stat(sandbox.scratch).st_mode & 0o777 == 0o700
    beside = os.path.dirname(sandbox.scratch)
    name = os.path.basename(sandbox.scratch)
    assert name in os.listdir(beside)
    sandbox.close()
    assert name not in os.listdir(beside)


@pytest.mark.requirement("terminal:confined-inside")
async def test_a_workspace_made_anew_can_be_written_again(
    run: Run, replaced: Callable[[Path | None], None]
) -> None:
    assert (await run("echo x > file", confined=True)).exit_code == 0
    replaced(None)
    assert (await run("echo x > file", confined=True)).exit_code == 0


@pytest.mark.requirement("terminal:confined-outside")
async def test_a_writable_folder_that_became_a_link_allows_nothing(
    run: Run, outside: Path, replaced: Callable[[Path | None], None]
) -> None:
    replaced(outside)
    assert (await run("echo x > victim", confined=True)).exit_code != 0
    assert (outside / "victim").read_text() == "precious"


@pytest.mark.requirement("terminal:confined-scope")
async def test_a_confined_command_cannot_signal_the_program_or_its_children(
    run: Run, sandbox: Sandbox, bystander: subprocess.Popen[bytes]
) -> None:
    if "signals" not in sandbox.confinement.detail:
        pytest.skip("this kernel cannot scope signals")
    result = await run(f"kill {bystander.pid} || kill -0 $PPID", confined=True)
    assert result.exit_code != 0
    assert bystander.poll() is None


@pytest.mark.requirement("terminal:confined-gate")
async def test_no_thread_of_the_program_shares_the_domain_of_a_running_command(run: Run) -> None:
    # A thread that computes and rarely gives way keeps the one that started the command from ending,
    # for far longer than a shell takes to start.
    interval = sys.getswitchinterval()
    stop = threading.Event()
    busy = threading.Thread(target=lambda: all(not stop.is_set() for _ in itertools.count()))
    busy.start()
    sys.setswitchinterval(0.05)
    try:
        for _ in range(3):
            # Whose program a thread runs is told to those alone who could trace it.
            result = await run(
                "ls /proc/$PPID/task | wc -l; readlink /proc/$PPID/task/*/exe; sleep 0.1",
                confined=True,
            )
            threads, _, exposed = result.output.partition("\n")
            assert int(threads) > 1
            assert exposed == ""
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        busy.join()


@pytest.mark.requirement("terminal:confined-gate")
async def test_the_program_itself_stays_unconfined(run: Run, outside: Path) -> None:
    await run("true", confined=True)
    (outside / "victim").write_text("still mine")


@pytest.mark.requirement("terminal:confined-gate")
async def test_a_confined_command_starts_like_an_unconfined_one(run: Run) -> None:
    probe = 'echo "$0 $# [$1] $-"; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; nope'
    confined, free = await run(probe, confined=True), await run(probe)
    assert (confined.output, confined.exit_code) == (free.output, free.exit_code)


@pytest.mark.requirement("terminal:confinement-told")
def test_the_confinement_is_told_in_words() -> None:
    confinement = Sandbox().confinement
    assert confinement.kind in ("live", "landlock")
    assert confinement.detail.startswith("Landlock ABI ")
    assert os.uname().release in confinement.detail
