"""What nobody supervises runs in a control group: it ends whole, whatever sessions its processes begin."""

import json
import os
import select
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sandbox.kernel import control_groups
from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup, parents

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")

ROOT = Path(__file__).resolve().parents[2]
VISITOR = 60123
"""Who ``scripts/as_user.sh`` runs a program as."""
ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'

# Every process begins a session, without the mark, and two more of its kind.
BOMB = """#!/bin/sh
env -i PATH="$PATH" setsid ./bomb &
env -i PATH="$PATH" setsid ./bomb &
"""
ESCAPED = (
    "for n in 1 2 3; do env -i setsid sh -c 'sleep 600 & sleep 600' & done; echo > begun; wait"
)

PROGRAM = """
    import asyncio, json, os, signal, sys
    from sam_tui.adapters.terminal.commands.shell import ShellCommands
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
    from sam_tui.core.ports.processes.sandbox import CommandLimits, SandboxPlan
    from sam_tui.core.ports.processes.terminals import CommandRequest, SessionSpec

    folder, how, text = sys.argv[1:]

    async def main():
        box = Sandbox(SandboxPlan(limits=CommandLimits(processes=40)), live=False)
        if how == "terminal":
            session, _ = await PtyTerminals(box).open(SessionSpec("me", folder, confined=False))
            session.write(text.encode() + b"\\r")
            running = asyncio.create_task(asyncio.sleep(600))
        else:
            request = CommandRequest(text, folder, False, (folder,), 60, lambda _: None)
            running = asyncio.create_task(ShellCommands(box).run(request))
        while how != "waits" and not os.path.exists(f"{folder}/begun"):
            await asyncio.sleep(0.01)
        if how != "waits":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await running
        print(json.dumps([result.exceeded, result.left is None]))
        box.close()

    asyncio.run(main())
"""


@pytest.fixture
def outer() -> Iterator[str]:
    """A group for at most 200 processes, in which everything of a test runs."""
    group = ControlGroup.create(200) if os.geteuid() == 0 else None
    if group is None:
        pytest.skip("no control group that bounds the test can be made here")
    yield group.path
    group.end()
    for inner in Path(group.path).glob("sam-tui-*"):
        ControlGroup(str(inner)).end()
        inner.rmdir()
    group.remove()


def everything_ends(group: str) -> bool:
    """Whether soon nothing is left in a group and no group in it."""
    for _ in range(1500):
        left = Path(group, "cgroup.procs").read_text(encoding="ascii")
        if not left and not list(Path(group).glob("sam-tui-*")):
            return True
        select.select([], [], [], 0.02)
    return False


def run(group: str, user: int, how: str, text: str) -> subprocess.CompletedProcess[str]:
    """A program in a group, as a user who may make groups in it, that runs ``text`` unheld."""
    for path in (group, f"{group}/cgroup.procs"):
        os.chown(path, user, user)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bomb").write_text(BOMB, encoding="utf-8")
        Path(folder, "bomb").chmod(0o755)
        os.chown(folder, user, user)
        starter = [str(ROOT / "scripts" / "as_user.sh")] if user else []
        program = [*starter, sys.executable, "-P", "-c", textwrap.dedent(PROGRAM)]
        return subprocess.run(
            ["sh", "-c", ENTER, group, *program, folder, how, text],
            env={**os.environ, "TMPDIR": folder},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.mark.requirement("terminal:limits")
@pytest.mark.parametrize("user", [0, VISITOR], ids=["root", "user"])
def test_a_bomb_of_which_every_process_begins_a_session_is_ended_whole(
    outer: str, user: int
) -> None:
    done = run(outer, user, "waits", "./bomb; sleep 20")
    assert done.stdout and json.loads(done.stdout) == [["processes"], True], done.stderr
    assert everything_ends(outer)


@pytest.mark.requirement("sandbox:abandoned")
@pytest.mark.parametrize(("how", "user"), [("command", 0), ("command", VISITOR), ("terminal", 0)])
def test_when_the_program_is_killed_nothing_runs_on_that_took_its_mark_off_and_began_a_session(
    outer: str, how: str, user: int
) -> None:
    assert run(outer, user, how, ESCAPED).returncode in (-9, 137)
    assert everything_ends(outer)


@pytest.mark.requirement("sandbox:abandoned")
def test_what_a_killed_program_left_in_a_group_is_ended_by_the_next(
    outer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandoned = Path(tempfile.mkdtemp(prefix="sam-tui-run-", dir=outer))
    mine = Path(tempfile.mkdtemp(prefix="sam-tui-run-", dir=outer))
    sleeping = subprocess.Popen(["sleep", "600"])
    assert ControlGroup(str(abandoned)).admit(sleeping.pid)
    monkeypatch.setattr(
        control_groups, "_USABLE", {Path("/proc/self/cgroup").read_text(encoding="utf-8"): outer}
    )
    lock = os.open(mine, os.O_RDONLY)
    control_groups.fcntl.flock(lock, control_groups.fcntl.LOCK_EX)
    try:
        group = ControlGroup.create(20)
        assert group is not None and Path(group.path).parent == Path(outer)
        assert sleeping.wait(60) == -9
        assert not abandoned.exists() and mine.exists()
        group.remove()
    finally:
        os.close(lock)
        sleeping.kill()


@pytest.mark.requirement("terminal:limits")
def test_a_group_is_made_where_processes_are_counted_and_no_limit_is_left(tmp_path: Path) -> None:
    scope = tmp_path / "user.slice" / "session.scope"
    scope.mkdir(parents=True)
    mounts = (
        f"41 31 0:38 / {tmp_path} rw - cgroup2 cgroup2 rw\n31 1 0:9 / / rw - ext4 /dev/vda rw\n"
    )
    membership = "0::/user.slice/session.scope\n"
    assert list(parents(mounts, membership)) == []
    counts = scope.parent / "cgroup.subtree_control"
    counts.write_text("cpu memory pids\n")
    for name, free in (("memory.max", "max\n"), ("cpu.max", "max 100000\n"), ("io.max", "")):
        (scope / name).write_text(free)
    assert list(parents(mounts, membership)) == [str(scope.parent)]
    (scope / "memory.max").write_text("2000000000\n")
    assert list(parents(mounts, membership)) == []
    (scope / "cgroup.subtree_control").write_text("pids\n")
    assert list(parents(mounts, membership)) == [str(scope)]

    first = f"9 1 0:1 /docker/a {tmp_path} rw - cgroup cgroup rw,pids\n"
    assert list(parents(first, "8:pids:/docker/a/b\n")) == [f"{tmp_path}/b"]
    assert list(parents(first, "8:pids:/elsewhere\n4:memory:/docker/a\n")) == []
