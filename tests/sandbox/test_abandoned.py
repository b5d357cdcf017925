"""What commands started ends with the program, however that ends, held or not, detached or not."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sandbox.supervised.processes import ProcessTracker
from sam_tui.adapters.terminal.shell_integration.marks import integrate
from sam_tui.core.local_files.temporary_folders import ACP, SHELL, Scratch, sweep
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.preloaded import SCRIPT

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PROGRAM = """
    import asyncio, json, os, signal, sys
    from sam_tui.adapters.terminal.commands.shell import ShellCommands
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.core.ports.processes.terminals import CommandRequest

    async def main():
        folder, how, live, confined = sys.argv[1:]
        box = Sandbox(live=json.loads(live))
        commands = ShellCommands(box)
        def request(text):
            return CommandRequest(
                text, folder, confined == "held", (folder,), 60, lambda _: None)
        # Each writes its own number, so that it has begun its session.
        result = await commands.run(request(
            "sleep 600 > /dev/null 2>&1 & echo $! > left;"
            " setsid sh -c 'echo $$ > detached; exec sleep 600' > /dev/null 2>&1 &"
            " setsid sh -c 'sleep 600 & echo $! > orphan' > /dev/null 2>&1;"
            " while [ ! -s detached ] || [ ! -s orphan ]; do sleep 0.05; done"))
        assert result.left is not None, result
        with open(f"{folder}/told", "w") as told:
            json.dump([process.pid for process in result.left.processes()], told)
        with open(f"{folder}/scratch", "w") as told:
            told.write(box.scratch)
        text = "echo $$ > shell; sleep 600 & echo $! > child; wait"
        running = asyncio.create_task(commands.run(request(text)))
        while not os.path.exists(f"{folder}/child") or not open(f"{folder}/child").read():
            await asyncio.sleep(0.01)
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        box.close()

    asyncio.run(main())
"""


def ends(pid: int, seconds: float) -> bool:
    """Whether a process ends within some seconds."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


@pytest.mark.requirement("sandbox:abandoned")
@pytest.mark.parametrize("how", ["killed", "ended"])
@pytest.mark.parametrize(
    ("live", "confined"),
    [(None, "held"), ("thread", "held"), (False, "held"), (None, "free")],
    ids=["supervised", "supervised-inside", "unsupervised", "free"],
)
def test_what_commands_started_ends_with_the_program_however_it_ends(
    workspace: Path, how: str, live: bool | str | None, confined: str
) -> None:
    subprocess.run(
        [
            *(*SCRIPT, textwrap.dedent(PROGRAM)),
            *(str(workspace), how, json.dumps(live), confined),
        ],
        check=how == "ended",
        timeout=60,
    )
    names = ("left", "detached", "orphan", "child", "shell")
    pids = {name: int((workspace / name).read_text()) for name in names}
    try:
        assert {pids[n] for n in ("left", "detached", "orphan")} <= set(
            json.loads((workspace / "told").read_text())
        )
        scratch = Path((workspace / "scratch").read_text())
        # What a killed program left is swept by the next start of any: of another test, too.
        assert how == "killed" or not scratch.exists()
        shell = integrate("/bin/bash")
        mine, killed = Scratch(), [Path(tempfile.mkdtemp(prefix=p)) for p in (SHELL, ACP)]
        Scratch().remove()
        for _ in range(1500):
            if not any(folder.exists() for folder in (scratch, *killed)):
                break
            select.select([], [], [], 0.02)  # a program of another test may be removing it
        assert not any(folder.exists() for folder in (scratch, *killed))
        # A program that lives keeps its own, that of a shell that is starting among them.
        assert Path(mine.path).exists()
        assert Path(shell.folder, "init").exists()
        mine.remove()
        shell.discard()
        assert not Path(shell.folder).exists()
        assert {name for name, pid in pids.items() if not ends(pid, 20)} == set()
    finally:
        for pid in pids.values():
            if not ends(pid, 0):
                os.kill(pid, 9)


REUSED = """
    import subprocess
    from sam_tui.adapters.terminal.sandbox.reaper import drop_ended
    from sam_tui.adapters.terminal.sandbox.supervised.processes import ProcessTracker

    def begun():
        return subprocess.Popen(["sleep", "600"], start_new_session=True)

    run, other = begun(), begun()
    whole, counted = ProcessTracker(), {run.pid: ProcessTracker(), other.pid: ProcessTracker()}
    for process in (run, other):
        whole.add(process.pid)
        counted[process.pid].add(process.pid)
    run.kill()
    run.wait()
    drop_ended(whole, counted)
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(run.pid - 1))
    stranger = begun()
    print(stranger.pid == run.pid, whole.living() == [other.pid], list(counted) == [other.pid])
"""


@pytest.mark.requirement("sandbox:abandoned")
@pytest.mark.skipif(os.geteuid() != 0, reason="numbers processes itself")
def test_a_process_that_has_the_number_of_an_ended_command_is_none_of_it() -> None:
    apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    program = [*apart, sys.executable, "-P", "-c", textwrap.dedent(REUSED)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


BEGUN_ANEW = """
    import asyncio, sys
    from sam_tui.adapters.terminal.commands.shell import ShellCommands
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.core.ports.processes.terminals import CommandRequest

    async def main():
        box, leaders = Sandbox(), list[int]()
        box.warm()
        with open("/proc/sys/kernel/pid_max") as file:
            greatest = int(file.read())
        with open("/proc/sys/kernel/ns_last_pid", "w") as last:
            last.write(str(greatest - 60))
        request = CommandRequest(
            "for n in $(seq 80); do /bin/true; done; setsid -f sleep 600",
            sys.argv[1], True, (sys.argv[1],), 60, lambda _: None, on_start=leaders.append)
        result = await ShellCommands(box).run(request)
        left = [] if result.left is None else [process.pid for process in result.left.processes()]
        print(len(left), [pid < 2000 < leaders[0] for pid in left])
        box.close()

    asyncio.run(main())
"""


@pytest.mark.confined("live")
@pytest.mark.requirement("sandbox:abandoned")
@pytest.mark.skipif(os.geteuid() != 0, reason="numbers processes itself")
def test_what_a_command_leaves_is_known_where_its_number_is_less_than_the_commands(
    workspace: Path,
) -> None:
    apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    program = [*apart, sys.executable, "-P", "-c", textwrap.dedent(BEGUN_ANEW), str(workspace)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1 [True]\n", done.stderr


KILLED_EARLY = """
    import os, signal, sys
    from sam_tui.adapters.terminal.confinement.run import Wanted
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.adapters.terminal.processes import launch

    folder, confined, shell = sys.argv[1:]
    launch.shell = lambda: shell
    sandbox = Sandbox()
    held = sandbox.hold(Wanted((folder,))) if confined == "held" else None

    def killed(pid):
        with open(f"{folder}/pid", "w") as told:
            told.write(str(pid))
        os.kill(os.getpid(), signal.SIGKILL)

    prefix = ("/bin/sh", "-c", 'exec "$@"', "sh") if confined == "wrapped" else ()
    output = os.open(f"{folder}/output", os.O_WRONLY | os.O_CREAT)
    given = os.open(f"{folder}/output", os.O_RDONLY) if confined == "given" else None
    text = "echo ran > ran; sleep 600"
    described = launch.Launch(text, folder, dict(os.environ), output, prefix, stdin=given)
    launch.start(described, held and held.held_start(), killed)
"""


@pytest.mark.requirement("sandbox:abandoned")
@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
@pytest.mark.parametrize("confined", ["held", "free", "given", "wrapped"])
def test_a_command_that_nobody_watches_yet_does_not_begin_when_the_program_is_killed(
    workspace: Path, confined: str, shell: str
) -> None:
    program = [*SCRIPT, textwrap.dedent(KILLED_EARLY), str(workspace), confined, shell]
    done = subprocess.run(program, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert ends(int((workspace / "pid").read_text()), 20)
    assert not (workspace / "ran").exists()


@pytest.mark.confined("live")
@pytest.mark.requirement("sandbox:abandoned")
async def test_many_commands_end_together_so_that_one_that_takes_its_time_delays_no_other(
    run: Run, workspace: Path
) -> None:
    pipes = [workspace / str(n) for n in range(3)]
    for pipe in pipes:
        os.mkfifo(pipe)
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(run(f"echo $$ > {pipe}; exec sleep 600")) for pipe in pipes]
        sessions = [int(await asyncio.to_thread(pipe.read_text)) for pipe in pipes]
        parts = [ProcessTracker(filtered=True) for _ in sessions]
        for part, session in zip(parts, sessions, strict=True):
            part.add(session)
        whole = ProcessTracker.joined(parts)
        assert sorted(whole.living()) == sorted(sessions)
        await asyncio.to_thread(whole.end, grace=20.0)
    assert {running.result().signal for running in runs} == {"SIGTERM"}


@pytest.mark.requirement("sandbox:abandoned")
def test_a_folder_that_another_program_removes_before_it_is_opened_is_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make, made = tempfile.mkdtemp, list[str]()

    def swept_at_first(*, prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            sweep()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_first)
    mine = Scratch()
    assert [os.path.exists(path) for path in made] == [False, True]
    mine.remove()


@pytest.mark.requirement("sandbox:abandoned")
def test_a_process_that_becomes_another_program_is_one_of_the_run_all_the_while(
    tmp_path: Path,
) -> None:
    again = tmp_path / "again"
    again.write_text('exec /bin/sh "$0"\n')
    program = subprocess.Popen(["/bin/sh", str(again)], env={"SAM_TUI_RUN": "this"})
    try:
        tracker = ProcessTracker(mark="this")
        assert all(tracker.state_of(program.pid) for _ in range(2000))
    finally:
        program.kill()
        program.wait()
