import asyncio
import os
import select
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.holders.client import Holders
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.ids import ConversationId
from sam_tui.core.local_files.temporary_folders import Scratch
from sam_tui.core.ports.processes.sandbox import OutsideAccess, OutsideAnswer
from sam_tui.core.ports.processes.terminals import SessionSpec
from tests.fakes import preloaded
from tests.fakes.interpreter import INTERPRETER
from tests.terminal.session_kit import ME, Until, confined, crashed, ended, gone

pytestmark = [
    pytest.mark.usefixtures("plain_shell"),
    pytest.mark.skipif(sys.platform != "linux", reason="holders need memfd and pidfd"),
]


@pytest.fixture
async def holders(tmp_path: Path) -> AsyncIterator[Holders]:
    made = Holders(str(tmp_path / "held"))
    yield made
    for kept in await made.sessions():
        await made.end(kept)


@pytest.mark.requirement("terminal:survives")
async def test_a_session_outlives_a_killed_program_with_what_it_printed_since(
    holders: Holders,
    sandbox: Sandbox,
    workspace: Path,
    outside: Path,
    tmp_path: Path,
    until: Until,
) -> None:
    command = (
        "echo heard''-before; while [ ! -e gate ]; do sleep 0.02; done; echo heard''-after;"
        f" echo x > {outside}/victim; echo y > mine; touch $TMPDIR/t && echo temp''orary"
    )
    name = await crashed(tmp_path / "held", workspace, command)
    (workspace / "gate").touch()
    terminals = PtyTerminals(sandbox, holders)
    session, made = await terminals.open(confined(workspace))
    assert (session.id, made) == (name, False)
    text = await until(session, "temporary\r\n")
    assert text.index("heard-before\r\n") < text.index("heard-after\r\n")
    await session.activity.settled(within=90)
    assert (workspace / "mine").read_text() == "y\n"
    if sandbox.confinement.kind != "none":
        assert (outside / "victim").read_text() == "precious"
    record = session.commands[-1]
    assert (record.command, record.exit_code) == (command, 0)
    session.resize(77, 21)
    session.write(b"stty size; exit 5\r")
    await until(session, "21 77\r\n")
    await session.activity.settled(within=90)
    await ended(session)
    assert session.exit_code == 5
    await terminals.close_all()
    assert await holders.sessions() == []


@pytest.mark.requirement("terminal:survives", "terminal:start-files-stay")
async def test_a_shell_that_starts_while_its_program_is_killed_still_reads_what_it_starts_with(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path, until: Until
) -> None:
    slow = tmp_path / "bash"
    slow.write_text(
        f'#!/bin/sh\nuntil [ -e {workspace}/gate ]; do sleep 0.02; done\nexec /bin/bash "$@"'
    )
    slow.chmod(0o755)
    await crashed(tmp_path / "held", workspace, "", shell=str(slow))
    Scratch().remove()  # the next program to start sweeps what killed ones left
    terminals = PtyTerminals(sandbox, holders)
    session, made = await terminals.open(confined(workspace))
    (workspace / "gate").touch()
    await until(session, "ready> ")
    await session.activity.settled(within=90)
    assert not made
    (kept,) = await holders.sessions()
    assert kept.origin.snippet
    assert not await asyncio.to_thread(os.path.exists, kept.origin.snippet)  # it holds a secret
    await terminals.close(session.id)


@pytest.mark.requirement("terminal:survives")
async def test_leaving_keeps_a_session_and_closing_ends_it(
    holders: Holders,
    sandbox: Sandbox,
    workspace: Path,
    until: Until,
    descriptors: Callable[[], int],
    lives: Callable[[int], bool],
) -> None:
    first = PtyTerminals(sandbox, holders)
    session, _ = await first.open(confined(workspace))
    session.write(b"echo she''ll=$$. en''d\r")
    pid = int((await until(session, "end\r\n")).rpartition("shell=")[2].partition(".")[0])
    await first.close_all()
    assert lives(pid)
    before = descriptors()
    (kept,) = await holders.sessions()
    assert (kept.attached, kept.pid, kept.origin.cwd) == (False, pid, str(workspace))
    assert descriptors() == before
    second = PtyTerminals(sandbox, holders)
    again = await second.resume(ME)
    assert again is not None
    assert again.id == session.id
    assert (await holders.sessions())[0].attached
    assert await PtyTerminals(sandbox, holders).resume(ME) is None
    await second.close(again.id)
    assert not lives(pid)
    await gone(holders)
    assert list(Path(kept.folder).parent.iterdir()) == []


@pytest.mark.requirement("terminal:survives")
async def test_while_nobody_is_attached_what_lies_outside_is_denied_and_later_asked(
    holders: Holders, sandbox: Sandbox, workspace: Path, outside: Path, until: Until
) -> None:
    if sandbox.confinement.kind != "live":
        pytest.skip("the kernel cannot ask at the system call")
    asked: list[str] = []

    async def yes(access: OutsideAccess) -> OutsideAnswer:
        asked.append(access.path)
        return OutsideAnswer(True, 60)

    terminals = PtyTerminals(sandbox, holders)
    session, _ = await terminals.open(confined(workspace, ask=yes))
    await session.activity.settled(within=90)
    session.write(
        b"while [ ! -e gate ]; do sleep 0.02; done;"
        + f" echo x > {outside}/one || echo den''ied > {workspace}/done\r".encode()
    )
    await until(session, "gate")
    await terminals.close_all()
    (workspace / "gate").touch()
    waiting = f"until [ -e {workspace}/done ]; do sleep 0.02; done"
    looking = await asyncio.create_subprocess_exec("sh", "-c", waiting)
    await asyncio.wait_for(looking.wait(), 20)
    assert asked == []
    assert not (outside / "one").exists()
    terminals = PtyTerminals(sandbox, holders)
    session, made = await terminals.open(confined(workspace, ask=yes))
    assert not made
    await session.activity.settled(within=90)
    session.write(f"echo x > {outside}/two && echo fin''ished\r".encode())
    await until(session, "finished\r\n")
    assert asked == [str(outside / "two")]


@pytest.mark.requirement("terminal:survives")
async def test_a_holder_can_be_told_to_end_and_what_a_dead_one_left_is_removed(
    holders: Holders,
    sandbox: Sandbox,
    workspace: Path,
    tmp_path: Path,
) -> None:
    terminals = PtyTerminals(sandbox, holders)
    await terminals.open(SessionSpec(ME, str(workspace)))
    await terminals.close_all()
    (kept,) = await holders.sessions()
    handle = os.pidfd_open(kept.pid)
    await holders.end(kept)
    ended, _, _ = await asyncio.to_thread(select.select, [handle], [], [], 20)
    os.close(handle)
    assert ended
    assert await holders.sessions() == []
    stale = tmp_path / "held" / "stale"
    stale.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(stale / "socket"))
    assert await holders.sessions() == []
    assert not stale.exists()


@pytest.mark.requirement("terminal:survives")
async def test_a_holder_ends_with_its_session_when_nobody_attaches_for_too_long(
    sandbox: Sandbox,
    workspace: Path,
    tmp_path: Path,
    until: Until,
    lives: Callable[[int], bool],
) -> None:
    holders = Holders(str(tmp_path / "held"), idle=0)
    terminals = PtyTerminals(sandbox, holders)
    session, _ = await terminals.open(SessionSpec(ME, str(workspace)))
    session.write(b"echo she''ll=$$. en''d\r")
    pid = int((await until(session, "end\r\n")).rpartition("shell=")[2].partition(".")[0])
    (kept,) = await holders.sessions()
    assert kept.attached
    assert lives(pid)
    await terminals.close_all()
    await gone(holders)
    assert not lives(pid)
    assert list((tmp_path / "held").iterdir()) == []


@pytest.mark.requirement("terminal:holder-private")
async def test_only_its_owner_reaches_a_holder(
    holders: Holders, sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    terminals = PtyTerminals(sandbox, holders)
    previous = os.umask(0)
    try:
        await terminals.open(SessionSpec(ME, str(workspace)))
    finally:
        os.umask(previous)
    (kept,) = await holders.sessions()
    folders = [tmp_path / "held", Path(kept.folder)]
    assert [mode(folder) for folder in folders] == [0o700] * 2
    assert mode(Path(kept.folder, "socket")) == 0o600
    await terminals.close_all()


@pytest.mark.requirement("terminal:holder-private")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_a_client_of_another_user_is_not_answered(
    holders: Holders, sandbox: Sandbox, workspace: Path
) -> None:
    terminals = PtyTerminals(sandbox, holders)
    await terminals.open(SessionSpec(ME, str(workspace)))
    (kept,) = await holders.sessions()
    script = """
        import os, socket, sys
        os.chdir(sys.argv[1])
        os.setresuid(12345, 12345, 12345)
        asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asking.connect("socket")
        try:
            asking.send(b'{"do": "end"}')
            print(asking.recv(100))
        except OSError:
            print(b"")
    """
    open_to_all(Path(kept.folder))
    argv = [sys.executable, "-c", textwrap.dedent(script), kept.folder]
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 20)
    assert out.strip() == b"b''"
    assert len(await holders.sessions()) == 1


@pytest.mark.requirement("terminal:holder-private")
async def test_a_confined_program_reaches_no_holder(
    holders: Holders, sandbox: Sandbox, workspace: Path, until: Until
) -> None:
    if sandbox.confinement.kind == "none":
        pytest.skip("the kernel offers no Landlock")
    terminals = PtyTerminals(sandbox, holders)
    await terminals.open(SessionSpec(ConversationId("other"), str(workspace)))
    await terminals.close_all()
    (kept,) = await holders.sessions()
    script = """
        import os, socket, sys
        try:
            os.chdir(sys.argv[1])
            asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            asking.settimeout(10)
            asking.connect("socket")
            asking.send(b'{"do": "attach"}')
            print("heard", asking.recv(100))
        except OSError:
            print("heard", b"")
    """
    (workspace / "reach.py").write_text(textwrap.dedent(script))
    session, _ = await terminals.open(confined(workspace))
    session.write(f"{INTERPRETER} reach.py {kept.folder}\r".encode())
    assert "heard b''\r\n" in await until(session, "'\r\n")
    assert not [one for one in await holders.sessions() if one.attached and one.pid == kept.pid]
    await terminals.close_all()


@pytest.mark.requirement("terminal:holder-small")
async def test_a_holder_loads_the_standard_library_alone(
    holders: Holders, sandbox: Sandbox, workspace: Path
) -> None:
    loaded = modules()
    assert loaded <= {*sys.stdlib_module_names, "sam_tui", "__main__"}
    assert not loaded & {"asyncio", "typing_extensions", "pydantic", "logging", "subprocess"}
    terminals = PtyTerminals(sandbox, holders)
    with preloaded.starting_anew():
        await terminals.open(confined(workspace))
    (kept,) = await holders.sessions()
    parent = said_of(kept.pid, "PPid:")
    assert said_of(parent, "RssAnon:") < 12 * 1024  # its own: Python itself is shared
    await terminals.close_all()


def modules() -> set[str]:
    """The top-level names of what a holder imports."""
    script = (
        "import sys; sys.path.append(sys.argv[1]); import sam_tui.adapters.terminal.holders.process;"
        "import sam_tui.adapters.terminal.sandbox.supervisor; print(*sorted(sys.modules))"
    )
    argv = [sys.executable, "-I", "-S", "-c", script, str(Path(__file__).parents[2])]
    out = subprocess.run(argv, capture_output=True, check=True, text=True).stdout
    return {name.partition(".")[0] for name in out.split()}


def mode(path: Path) -> int:
    """Who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


def said_of(pid: int, field: str) -> int:
    """A number of a process's status."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.partition(field)[2].split()[0])


def open_to_all(folder: Path) -> None:
    """As if somebody had opened the way to a holder."""
    folder.parent.chmod(0o711)
    folder.chmod(0o711)
    (folder / "socket").chmod(0o666)


@pytest.mark.requirement("sandbox:abandoned")
async def test_what_a_session_detached_ends_with_it(
    holders: Holders, sandbox: Sandbox, workspace: Path, lives: Callable[[int], bool]
) -> None:
    if sandbox.confinement.kind != "live":
        pytest.skip("nothing tells which sessions begin")
    terminals = PtyTerminals(sandbox, holders)
    session, _ = await terminals.open(confined(workspace))
    session.write(
        b"setsid -f sh -c 'echo $$ > pid; exec sleep 300'; while [ ! -s pid ]; do sleep 0.05; done; exit\r"
    )
    await ended(session)
    pid = int((workspace / "pid").read_text())
    await terminals.close_all()
    await gone(holders)
    assert not lives(pid)
