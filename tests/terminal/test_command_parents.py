"""What a command detaches belongs to it without a control group, too: its parent takes in every orphan."""

import asyncio
import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.processes import parented
from sam_tui.adapters.terminal.sandbox.kernel import control_groups
from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields
from sam_tui.adapters.terminal.sessions.pty_session import PtySession
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ports.processes.terminals import CommandRequest, SessionSpec
from tests.fakes.preloaded import SCRIPT
from tests.terminal.session_kit import ME, ended

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans another parent"),
    pytest.mark.requirement("sandbox:abandoned"),
]

ROOT = Path(__file__).resolve().parents[2]

# Twice forked, in sessions of their own, without a variable; the line ends once all have begun.
DETACHES = """
    : > {0}
    for n in 1 2; do
        env -i setsid sh -c '(env -i setsid sh -c "echo \\$\\$ >> {0}; exec sleep 600" &)
            echo $$ >> {0}; exec sleep 600' > /dev/null 2>&1 &
    done
    until [ "$(wc -l < {0})" -ge 4 ]; do sleep 0.05; done;"""

PROGRAM = """
    import asyncio, os, signal, sys
    from sam_tui.adapters.terminal.commands.shell import ShellCommands
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.adapters.terminal.holders.client import Holders
    from sam_tui.adapters.terminal.sandbox.kernel import control_groups
    from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
    from sam_tui.core.ports.processes.terminals import CommandRequest, SessionSpec

    folder, text, held = sys.argv[1:]

    async def until(name):
        while not os.path.exists(f"{folder}/{name}"):
            await asyncio.sleep(0.01)

    async def main():
        with open("/proc/self/cgroup", encoding="utf-8") as membership:
            control_groups._USABLE[membership.read()] = "/nowhere"
        box = Sandbox(live=False)
        def command(name, confined):
            shell = text.format(name) + f"echo > {name}-begun; sleep 600"
            request = CommandRequest(shell, folder, confined, (folder,), 60, lambda _: None)
            return asyncio.create_task(ShellCommands(box).run(request))
        async def terminal(name, confined, holders):
            terminals = PtyTerminals(box, holders)
            spec = SessionSpec(name, folder, confined=confined, writable=(folder,))
            session, _ = await terminals.open(spec)
            script = text.format(name) + f"echo > {name}-begun"
            with open(f"{folder}/{name}.sh", "w") as file:
                file.write(script)
            session.write(f". ./{name}.sh\\r".encode())
            await until(f"{name}-begun")
            return terminals, session
        names = "one", "two"
        running = [command("one", False), command("two", True)]
        if held == "held":
            holding = Holders(f"{folder}/holders")
            terminals, session = await terminal("kept", False, holding)
            await terminals.close(session.id)
        await terminal("shown", False, None)
        await terminal("confined", True, None)
        for name in names:
            await until(f"{name}-begun")
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main())
"""


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A sandbox on a machine where no control group can be made, and no system call waits."""
    membership = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    monkeypatch.setattr(control_groups, "_USABLE", {membership: "/nowhere"})
    sandbox = Sandbox(live=False)
    yield sandbox
    sandbox.close()


def request(text: str, folder: Path, *, confined: bool = False) -> CommandRequest:
    return CommandRequest(text, str(folder), confined, (str(folder),), 60, lambda _: None)


def numbers(file: Path) -> set[int]:
    return set(map(int, file.read_text(encoding="ascii").split()))


def left_of(pids: set[int]) -> set[int]:
    """Those that have not ended after some time."""
    running = pids
    for _ in range(1500):
        running = {pid for pid in pids if os.path.exists(f"/proc/{pid}")}
        if not running:
            break
        select.select([], [], [], 0.02)
    for pid in running:
        os.kill(pid, 9)
    return running


@pytest.mark.parametrize("confined", [False, True], ids=["free", "confined"])
async def test_a_command_names_all_that_it_detached_and_ends_it(
    box: Sandbox, tmp_path: Path, confined: bool
) -> None:
    text = f"{DETACHES.format('pids')} exit 3"
    commands = ShellCommands(box)
    result = await commands.run(request(text, tmp_path, confined=confined))
    detached = numbers(tmp_path / "pids")
    assert result.exit_code == 3 and result.left is not None and len(detached) == 4
    # Another command meanwhile, and one after: none of them takes the other for its own.
    other = await commands.run(request("sleep 600 > /dev/null & echo $! > other", tmp_path))
    assert detached == {process.pid for process in result.left.processes()}
    await result.left.end()
    assert not left_of(detached)
    assert other.left is not None
    assert {p.pid for p in other.left.processes()} == numbers(tmp_path / "other")
    await other.left.end()


async def test_what_a_cancelled_command_detached_ends_with_it(box: Sandbox, tmp_path: Path) -> None:
    text = f"{DETACHES.format('pids')} echo > begun; sleep 600"
    os.mkfifo(tmp_path / "begun")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(ShellCommands(box).run(request(text, tmp_path)))
        await asyncio.to_thread((tmp_path / "begun").read_text)
        running.cancel()
    assert not left_of(numbers(tmp_path / "pids"))


@pytest.mark.parametrize("sent", ["KILL", "STOP", "TERM"])
async def test_a_command_that_signals_its_parent_takes_nothing_out_of_reach(
    box: Sandbox, tmp_path: Path, sent: str
) -> None:
    text = f"{DETACHES.format('pids')} kill -{sent} $PPID; sleep 0.2; exit 4"
    commands = ShellCommands(box)
    result = await commands.run(request(text, tmp_path))
    if sent == "KILL":
        assert result.signal == "SIGKILL"  # what is left is ended already, or about to be
    else:
        assert result.exit_code == 4 and result.left is not None
        await result.left.end()
    assert not left_of(numbers(tmp_path / "pids"))
    assert (await commands.run(request("exit 5", tmp_path))).exit_code == 5


# Stops a process for as long as the file is there; SIGCONT does not end that.
TRACES = """
import ctypes, os, sys, time
libc, parent = ctypes.CDLL(None), int(sys.argv[1])
libc.ptrace(16, parent, 0, 0)
open("traced", "w").close()
while os.path.exists("stops"):
    time.sleep(0.01)
libc.ptrace(17, parent, 0, 0)
"""


async def test_a_command_that_goes_on_stopping_its_parent_does_not_hold_up_the_program(
    box: Sandbox, tmp_path: Path
) -> None:
    """The program gets to its other work while it waits to hear how the command ended."""
    (tmp_path / "traces.py").write_text(TRACES, encoding="utf-8")
    stops = tmp_path / "stops"
    stops.touch()
    for name in ("begun", "go"):
        os.mkfifo(tmp_path / name)
    stopping = f"{sys.executable} -I -S traces.py $PPID & until [ -e traced ]; do sleep 0.02; done;"
    text = f"{stopping} echo $$ > begun; read -r _ < go; exit 4"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(ShellCommands(box).run(request(text, tmp_path)))
        shell = os.pidfd_open(int(await asyncio.to_thread((tmp_path / "begun").read_text)))
        await asyncio.to_thread((tmp_path / "go").write_text, "go\n")
        await asyncio.to_thread(select.select, [shell], [], [])
        await asyncio.sleep(0.2)
        stops.unlink()
    os.close(shell)
    assert running.result().exit_code == 4


async def test_a_parent_takes_another_command_once_nothing_is_left_and_confuses_none(
    box: Sandbox, tmp_path: Path
) -> None:
    commands = ShellCommands(box)
    os.mkfifo(tmp_path / "waits")
    text = "cat waits > /dev/null & echo $PPID > {}"
    first = await commands.run(request(text.format("first"), tmp_path))
    assert first.left is not None and len(first.left.processes()) == 1
    waiting = {process.pid for process in first.left.processes()}
    (tmp_path / "waits").write_text("")
    assert not left_of(waiting)
    async with asyncio.timeout(90):  # its parent hears of that when it can
        other = set[int]()
        while other != numbers(tmp_path / "first"):
            await commands.run(request("echo $PPID > other", tmp_path))
            other = numbers(tmp_path / "other")
    second = await commands.run(request("sleep 600 > /dev/null & echo $! > left", tmp_path))
    assert second.left is not None and first.left.processes() == ()
    await first.left.end()
    assert {p.pid for p in second.left.processes()} == numbers(tmp_path / "left")
    box.close()
    assert not left_of(numbers(tmp_path / "left"))


async def test_a_shell_has_its_exit_code_though_its_parent_reports_late(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(process: parented.ParentedProcess) -> None:
        number = process.parent.identity[0]
        threading.Timer(0.3, os.kill, (number, signal.SIGCONT)).start()

    monkeypatch.setattr(parented.ParentedProcess, "_go_on", late)
    terminals = PtyTerminals(box)
    session, _ = await terminals.open(SessionSpec(ME, str(tmp_path)))
    assert isinstance(session, PtySession)
    fields = stat_fields(session.pid)
    assert fields is not None
    os.kill(int(fields[1]), signal.SIGSTOP)  # its parent
    session.write(b"exit 7\r")
    await ended(session)
    assert session.exit_code == 7


async def test_where_no_more_parents_can_be_forked_commands_go_on(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = ShellCommands(box)
    os.mkfifo(tmp_path / "waits")
    os.mkfifo(tmp_path / "begun")
    async with asyncio.TaskGroup() as group:
        first = group.create_task(commands.run(request("echo > begun; cat waits", tmp_path)))
        await asyncio.to_thread((tmp_path / "begun").read_text)
        with monkeypatch.context() as patch:
            patch.setattr(parented, "_answer", refuse)
            result = await commands.run(request("echo alone", tmp_path))
        assert (result.exit_code, result.output) == (0, "alone\n")
        await asyncio.to_thread((tmp_path / "waits").write_text, "heard\n")
    assert (first.result().exit_code, first.result().output) == (0, "heard\n")


def refuse(_: object) -> dict[str, int]:
    """What a full system answers to a fork."""
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


@pytest.mark.parametrize("who", ["owner", "visitor"])
def test_when_the_program_is_killed_all_that_commands_and_terminals_detached_ends(who: str) -> None:
    if who == "visitor" and os.geteuid() != 0:
        pytest.skip("only root starts programs as others")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        visiting = [ROOT / "scripts/as_user.sh", sys.executable, "-P", "-c"]
        start = visiting if who == "visitor" else SCRIPT
        words = [folder, textwrap.dedent(DETACHES), "held" if who == "visitor" else "shown"]
        done = subprocess.run(
            [*start, textwrap.dedent(PROGRAM), *words],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": folder, "SHELL": shutil.which("bash") or "/bin/sh"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (-9, 137), done.stderr
        names = ("one", "two", "shown", "confined", *(["kept"] if who == "visitor" else []))
        files = [Path(folder, name) for name in names]
        assert [len(numbers(file)) for file in files] == [4] * len(files)
        assert not left_of(set[int]().union(*map(numbers, files)))
