"""What a command may use up: it ends or fails at the limit, is told why, and nothing else notices."""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tools.terminal_operations.answers import left_notes, limit_notes
from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.policy.sandbox_settings import tightened
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import memory_of
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.sandbox import CommandLimits, SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult, SessionSpec
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.mounts import run_over

Run = Callable[..., Coroutine[None, None, CommandResult]]

MEGABYTES = 1024**2
LIMITS = CommandLimits(512 * MEGABYTES, 40, 2 * MEGABYTES, 64, 400 * MEGABYTES)
# Doubles eight times: where nothing held it there would be 512 processes, and they end by themselves.
BOMB = "f() { [ $1 -gt 7 ] || { f $(($1 + 1)) & f $(($1 + 1)) & sleep 20; }; }; f 0; sleep 20"
# Some 120 at once, each of which begins another and ends, as fast as it can. Where nothing held it there
# would be 8,280 in all: it is not over after some seconds, in which a busy machine may look at nothing.
# The command begins one process itself: a bash that may begin no more gives up when one of its own ends.
FAST_BOMB = (
    "f() { [ $1 -gt 67 ] || f $(($1 + 1)) & }; for i in $(seq 120); do f 0 & done & exec sleep 20"
)
DETACHED_BOMB = "for i in $(seq 60); do setsid sleep 20 & done; sleep 20"


@pytest.fixture
def limited(workspace: Path) -> Run:
    """Run a command under low limits, with its notes as output."""

    async def running(command: str, *, confined: bool) -> CommandResult:
        sandbox = Sandbox(SandboxPlan(limits=LIMITS))
        commands = ShellCommands(sandbox)
        request = CommandRequest(
            command, str(workspace), confined, (str(workspace),), 60, lambda _: None
        )
        try:
            result = await commands.run(request)
            notes[:] = [*limit_notes(result, commands.limits), *left_notes(result.left, "cmd-1")]
        finally:
            sandbox.close()
        return result

    return running


notes: list[str] = []


def oom_score() -> int:
    return int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))


@pytest.mark.requirement("terminal:limits")
@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("python3 -c 'x = bytearray(1 << 30)'", "512 MiB of memory for one process"),
        ("head -c 3000000 /dev/zero > f", "2 MiB for one file"),
        ("python3 -c 'f = [open(\"/dev/null\") for n in range(99)]'", "64 open files"),
    ],
)
async def test_a_command_fails_at_its_limit_and_the_limit_is_named(
    limited: Run, workspace: Path, command: str, note: str, confined: bool
) -> None:
    result = await limited(command, confined=confined)
    assert result.exit_code != 0, result
    assert note in "".join(notes)
    assert not (workspace / "f").exists() or (workspace / "f").stat().st_size == 2 * MEGABYTES


@pytest.mark.requirement("terminal:limits")
@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("bomb", [BOMB, FAST_BOMB, DETACHED_BOMB])
async def test_a_command_with_too_many_processes_is_ended_with_all_of_them(
    limited: Run, bomb: str, confined: bool
) -> None:
    result = await limited(bomb, confined=confined)
    assert (result.signal, result.timed_out, result.exceeded) == ("SIGKILL", False, ("processes",))
    assert notes == ["[limit of commands here: 40 processes at once; see docs/sandbox.md]"]
    assert result.left is None
    # In a small container the dead count until they are reaped: bash tries again, and says so.
    line = "exec 2>/dev/null; for i in $(seq 120); do /bin/true; done; echo all"
    beside = await limited(line, confined=confined)
    assert (beside.output, beside.exceeded) == ("all\n", ())


# Eight processes: the first writes so many MiB before the others fork from it, then each writes its own.
HOGS = """
import os, sys
shared, own = (int(word) << 20 for word in sys.argv[1:])
before = b"x" * shared
for _ in range(7):
    if not os.fork():
        break
more = b"y" * own
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@pytest.mark.requirement("terminal:limits")
@pytest.mark.parametrize("confined", [True, False])
async def test_a_command_whose_processes_have_too_much_memory_together_is_ended(
    limited: Run, workspace: Path, confined: bool
) -> None:
    (workspace / "hogs.py").write_text(HOGS)
    command = f"sleep 50 | {BARE_PYTHON} -I hogs.py 0 100"
    result = await limited(command, confined=confined)
    assert (result.signal, result.exceeded) == ("SIGKILL", ("total_memory",))
    words = "400 MiB of memory for all processes together"
    assert notes == [f"[limit of commands here: {words}; see docs/sandbox.md]"]
    assert result.left is None


@pytest.mark.requirement("terminal:limits")
def test_memory_that_processes_share_counts_once() -> None:
    command = [sys.executable, "-I", "-c", HOGS, "200", "5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hogs:
        assert hogs.stdin and hogs.stdout
        pids = [int(hogs.stdout.readline()) for _ in range(8)]
        assert 240 <= memory_of(pids, 0) // MEGABYTES < 400
        assert memory_of(pids, 1 << 40) // MEGABYTES > 1600
        hogs.stdin.close()


FORKING = """
import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
for _ in range(300):
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.requirement("terminal:limits")
async def test_no_signal_interrupts_the_start_of_a_process(limited: Run, workspace: Path) -> None:
    (workspace / "forking.py").write_text(FORKING)
    result = await limited(f"{BARE_PYTHON} -I forking.py", confined=True)
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.requirement("terminal:limits")
@pytest.mark.parametrize("confined", [True, False])
async def test_without_memory_the_kernel_ends_commands_before_the_program(
    limited: Run, confined: bool
) -> None:
    own = oom_score()
    result = await limited("cat /proc/self/oom_score_adj", confined=confined)
    assert int(result.output) > own


@pytest.mark.requirement("terminal:limits")
@pytest.mark.parametrize("confined", [True, False])
async def test_an_agents_terminal_has_the_limits_of_one_process(
    workspace: Path, confined: bool
) -> None:
    sandbox = Sandbox(SandboxPlan(limits=LIMITS))
    terminals = PtyTerminals(sandbox)
    spec = SessionSpec(
        ConversationId("me"), str(workspace), confined=confined, writable=(str(workspace),)
    )
    try:
        session, _ = await terminals.open(spec)
        session.write(b"ulimit -n > limit; cat /proc/self/oom_score_adj > score; exit\r")
        while session.running:
            await session.activity.quiet(silence=1, within=60)
    finally:
        await terminals.close_all()
        sandbox.close()
    assert (workspace / "limit").read_text() == f"{LIMITS.open_files}\n"
    assert int((workspace / "score").read_text()) > oom_score()


@pytest.mark.requirement("terminal:limits")
async def test_what_is_left_running_is_named_and_can_be_ended(workspace: Path) -> None:
    sandbox = Sandbox()
    request = CommandRequest(
        "setsid -f sleep 77", str(workspace), True, (str(workspace),), 60, lambda _: None
    )
    try:
        result = await ShellCommands(sandbox).run(request)
        assert result.left is not None
        (process,) = result.left.processes()
        assert process.name in ("sleep", "setsid")
        assert f"pid {process.pid}" in left_notes(result.left, "cmd-1")[0]
        await asyncio.wait_for(result.left.end(), 30)
        assert result.left.processes() == ()
    finally:
        sandbox.close()


@pytest.mark.requirement("policy:command-limits")
def test_the_policy_sets_limits_and_a_project_only_lowers_them() -> None:
    text = '[commands]\nmemory = "2G"\nprocesses = 100\n'
    user = parse_policy(text, "p", "user", root="/", home="/").sandbox.limits
    assert user == {"memory": 2 * 1024**3, "processes": 100}
    project = {"memory": 1024**3, "processes": 5000, "open_files": 99}
    assert tightened(user, project) == CommandLimits(1024**3, 100, 64 * 1024**3, 99)
    assert tightened({}, {"memory": 64 * 1024**2}).memory == 64 * 1024**2
    usual = CommandLimits()
    assert tightened({}, {"memory": 1024**5, "total_memory": 1024**5}) == usual
    for wrong in ('memory = "2X"', "processes = 1", "open_files = true", "speed = 3"):
        with pytest.raises(ConfigurationError, match=r"p:2: "):
            parse_policy(f"[commands]\n{wrong}\n", "p", "user", root="/", home="/")


def on_small_disk(tmp_path: Path, data: Path, after: str = "") -> subprocess.CompletedProcess[str]:
    """A run whose command fills the small disk that its workspace is on; ``after`` is run behind it."""
    script, small = tmp_path / "script.json", tmp_path / "small"
    small.mkdir()
    call = {"name": "run_command", "arguments": {"command": "cat /dev/zero > fill"}}
    script.write_text(json.dumps([{"calls": [call]}, {"text": "went on"}]))
    words = ["run", "go", "--model", f"scripted:{script}", "--permission-mode", "auto"]
    return run_over(
        f'mount -t tmpfs -o size=4m none "{small}" && mkdir "{small}/ws"',
        *(*words, "-C", str(small / "ws"), "--data-dir", str(data)),
        environ={"TMPDIR": str(small)},
        after=after,
    )


@pytest.mark.requirement("terminal:limits")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_command_that_fills_the_disk_fails_and_the_program_goes_on(tmp_path: Path) -> None:
    done = on_small_disk(tmp_path, tmp_path / "data")
    assert (done.returncode, done.stdout.strip()) == (0, "went on"), done.stderr


@pytest.mark.requirement("headless:full-disk")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_under_the_data_folder_is_named_and_nothing_stored_is_damaged(
    tmp_path: Path,
) -> None:
    data, copy = tmp_path / "small" / "data", tmp_path / "copy"
    done = on_small_disk(tmp_path, data, f'cp -r "{data}" "{copy}"')
    folder = f"Free some space on the disk that holds {data}, then try again."
    assert (done.returncode, done.stdout) == (70, "")
    assert "Conversations cannot be stored" in done.stderr and folder in done.stderr
    assert "defect" not in done.stderr
    with contextlib.closing(sqlite3.connect(copy / "sam.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        stored = database.execute("SELECT count(*) FROM messages").fetchone()
    assert stored[0] >= 1
