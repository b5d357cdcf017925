"""The supervisor: what a command can do without it, on a thread, and in another sandbox."""

import asyncio
import errno
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.terminal.confinement.run import Wanted
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox import detached
from sam_tui.adapters.terminal.sandbox.supervision import Supervision
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import INTERPRETER
from tests.fakes.preloaded import SCRIPT
from tests.sandbox.hosts_kit import Person

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_without_its_supervisor_a_command_can_do_less_not_more(
    run: Run, outside: Path
) -> None:
    box = Sandbox()

    async def end_it(_: OutsideAccess) -> bool:
        box.close()
        return True

    result = await run(
        f"echo x > {outside}/new; chmod 600 {outside}/victim; while echo x > inside; do :; done",
        ask=end_it,
        box=box,
    )
    assert sorted(os.listdir(outside)) == ["folder", "link", "script", "victim"]
    assert (outside / "victim").stat().st_mode & 0o777 != 0o600
    assert not result.timed_out  # sooner or later nothing is written inside either
    box.close()


BEREFT = """
import asyncio, ctypes, os, signal, sys, time
from pathlib import Path
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import CommandRequest
folder, outside = sys.argv[1:]
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # its supervisor becomes a child of this process
def supervisors():
    children = map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
    return [p for p in children if b"sandbox.supervisor" in Path(f"/proc/{p}/cmdline").read_bytes()]
async def end_it(access):
    print(supervisors() == started)
    for pid in supervisors():
        os.kill(pid, signal.SIGKILL)
    return True
async def main():
    global started
    other = Sandbox()
    other.warm()  # proves that this protection works, with a supervisor of its own
    box, before = Sandbox(), supervisors()
    box.warm()
    while (started := supervisors()) == before:  # what starts it hands it over, and ends
        time.sleep(0.01)
    print(len(started) - len(before))
    line = f"sleep 300 & echo x > {outside}/new; while :; do :; done"
    request = CommandRequest(line, folder, True, (folder,), 60.0, lambda _: None, ask=end_it)
    result = await ShellCommands(box).run(request)
    print(result.abandoned, result.signal, result.timed_out, result.left)
    async def agree(access):
        return True
    line = f"echo again > {outside}/again; cat {outside}/again"
    request = CommandRequest(line, folder, True, (folder,), 60.0, lambda _: None, ask=agree)
    result = await ShellCommands(box).run(request)
    print(result.output, result.timed_out)
    box.close()
    other.close()
asyncio.run(main())
"""


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_a_command_whose_supervisor_was_killed_is_ended_and_the_next_gets_another(
    workspace: Path, outside: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *SCRIPT, BEREFT, str(workspace), str(outside), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert said.decode() == "1\nTrue\nTrue SIGKILL False None\nagain\n False\n"
    assert not (outside / "new").exists()


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_a_question_that_is_open_when_the_sandbox_is_closed_is_withdrawn(
    run: Run, outside: Path
) -> None:
    box = Sandbox()
    asked, withdrawn = asyncio.Event(), asyncio.Event()
    loop: Any = asyncio.get_running_loop()
    watched = set(loop._selector.get_map())

    async def never_answers(_: OutsideAccess) -> bool:
        asked.set()
        try:
            return await asyncio.Future[bool]()
        finally:
            withdrawn.set()

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(f"echo x > {outside}/new", ask=never_answers, box=box))
        await asked.wait()
        box.close()
        await withdrawn.wait()
    assert running.result().exit_code != 0
    assert not (outside / "new").exists()
    assert set(loop._selector.get_map()) == watched


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_what_a_run_asks_after_it_was_released_is_refused_and_put_to_nobody() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    person = Person()
    supervision = Supervision.adopted(ours)
    supervision.attend(person)
    supervision.release(1)
    assert json.loads(theirs.recv(4096))["tell"] == "stop"
    wish = {"tell": "ask", "run": 1, "serial": 7, "kind": "write", "path": "/x", "to": ""}
    wish |= {"process": "sh", "pid": 1, "syscall": "openat", "place": False}
    theirs.send(json.dumps(wish).encode())
    supervision.receive()
    answer = json.loads(theirs.recv(4096, socket.MSG_DONTWAIT))
    assert (answer["serial"], answer["allowed"], person.asked) == (7, False, [])
    supervision.close()
    theirs.close()


@pytest.mark.requirement("sandbox:supervisor-gone")
def test_a_sandbox_that_is_closed_leaves_nothing_open_of_runs_that_never_began(
    workspace: Path,
) -> None:
    before = set(os.listdir("/proc/self/fd"))
    box = Sandbox()
    holdings = [box.hold(Wanted((str(workspace),))) for _ in range(3)]
    assert all(holdings)
    box.close()
    assert set(os.listdir("/proc/self/fd")) <= before


@pytest.mark.requirement("sandbox:supervisor-gone")
def test_a_run_that_no_supervisor_takes_does_not_begin_and_leaves_nothing_open(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(os.listdir("/proc/self/fd"))
    box = Sandbox()

    send = socket.send_fds

    def refuse_runs(control: socket.socket, texts: list[bytes], handed: list[int]) -> int:
        if b'"tell"' in texts[0]:
            raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
        return send(control, texts, handed)

    with monkeypatch.context() as patch, pytest.raises(ToolError, match="does not answer"):
        patch.setattr(socket, "send_fds", refuse_runs)
        box.hold(Wanted((str(workspace),)))
    box.close()
    assert set(os.listdir("/proc/self/fd")) <= before


def sockets(box: Sandbox) -> list[str]:
    """The descriptors of this process that are sockets, but for what waits for the next command."""
    box._prepared.drop()  # pyright: ignore[reportPrivateUsage] # it is made ready at any moment
    folder = "/proc/self/fd"
    names = ((name, os.path.realpath(f"{folder}/{name}")) for name in os.listdir(folder))
    return sorted(name for name, target in names if "/socket:" in target)


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_nobody_can_enter_a_run_whose_command_has_begun(
    run: Run, sandbox: Sandbox, outside: Path
) -> None:
    await run("true")
    before, meanwhile = sockets(sandbox), list[str]()

    async def ask(_: OutsideAccess) -> bool:
        meanwhile[:] = sockets(sandbox)
        return False

    await run(f"echo x > {outside}/new", ask=ask)
    assert meanwhile == before


def own_umask() -> int:
    """That of this process."""
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


@pytest.mark.requirement("sandbox:thread-host")
async def test_a_supervisor_on_a_thread_does_the_same(
    run: Run, outside: Path, workspace: Path
) -> None:
    box, before = Sandbox(live="thread"), own_umask()
    try:
        person = Person(refuses="victim")
        result = await run(
            f"touch f; chmod 600 f; echo x > {outside}/new; echo x > {outside}/victim;"
            f" chmod 7 {outside}/victim; umask 077; touch {outside}/mine; mkdir d",
            ask=person,
            box=box,
        )
    finally:
        box.close()
    assert result.exit_code == 0
    assert (outside / "new").read_text() == "x\n"
    assert (outside / "mine").stat().st_mode & 0o777 == 0o600
    assert (outside / "victim").read_text() == "precious\n"
    assert (workspace / "d").stat().st_mode & 0o777 == 0o700
    assert own_umask() == before, "the program's own umask is as it was"
    assert [a.kind for a in result.refused] == ["write", "metadata"]


@pytest.mark.requirement("sandbox:thread-host")
async def test_older_pythons_do_without_vfork_only_while_a_confined_command_starts(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detached, "_LETS_THREADS_RUN", (99,))
    started: Any = subprocess.Popen
    vforks: list[bool] = []

    def uses_vfork() -> bool:
        return vars(subprocess)["_USE_VFORK"]

    def noted(*words: Any, **more: Any) -> Any:
        vforks.append(uses_vfork())
        return started(*words, **more)

    monkeypatch.setattr(subprocess, "Popen", noted)
    with closing(Sandbox(live="thread")) as box:
        assert (await run("true", box=box)).exit_code == 0
        assert set(vforks) == {False}
        assert uses_vfork(), "the command has started"
        with detached.answered_starts():
            with detached.answered_starts():
                assert not uses_vfork()
            assert not uses_vfork(), "the other one still starts"
        assert uses_vfork()


@pytest.mark.requirement("sandbox:nested")
async def test_a_sandbox_inside_a_sandbox_says_so_and_still_holds(
    run: Run, outside: Path, workspace: Path
) -> None:
    code = f"""
import asyncio, sys
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import CommandRequest
async def main():
    box = Sandbox()
    print(box.confinement.kind, box.confinement.detail)
    for command in ("echo x > {outside}/new", "chmod 600 {outside}/victim", "echo x > mine; cat mine"):
        request = CommandRequest(command, "{workspace}", True, ("{workspace}",), 20, lambda _: None)
        result = await ShellCommands(box).run(request)
        print(result.exit_code, [a.path for a in result.refused])
    box.close()
asyncio.run(main())
"""
    (workspace / "inner.py").write_text(code)
    libraries = ":".join(path for path in sys.path if path)
    result = await run(f"PYTHONPATH={shlex.quote(f'{ROOT}:{libraries}')} {INTERPRETER} inner.py")
    lines = result.output.splitlines()
    assert lines[0].startswith("landlock "), result.output
    assert "inside another supervised sandbox" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["1", "1", "0"]
    assert not (outside / "new").exists()
    assert (outside / "victim").stat().st_mode & 0o777 != 0o600
    assert {a.kind for a in result.refused} == {"write", "metadata"}


@pytest.mark.requirement("sandbox:protections-told")
def test_each_protection_says_whether_it_holds() -> None:
    live = {p.shield: p.held for p in Sandbox().confinement.protections}
    assert set(live) == {
        "writes", "metadata", "signals", "sockets", "network", "secrets", "kernel",
    }  # fmt: skip
    assert live["metadata"]
    fixed = Sandbox(live=False).confinement
    assert fixed.kind == "landlock"
    assert "switched off" in fixed.detail
    held = {p.shield: p.held for p in fixed.protections}
    assert held["writes"] and held["kernel"]
    assert not held["metadata"] and not held["sockets"]
