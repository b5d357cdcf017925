"""Rehearsed commands that reach for what is not theirs, and changes that are hard to make real."""

import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.rehearsal.rehearsal import Branch, BranchRehearsals
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.rehearsal import Rehearsed
from sam_tui.core.ports.processes.sandbox import SandboxPlan
from tests.fakes.interpreter import BARE_PYTHON

Portrait = Callable[[Path], dict[str, tuple[object, ...]]]
Rehearse = Callable[[str], Coroutine[None, None, Rehearsed]]

pytestmark = pytest.mark.confined("live", "landlock")

ATTACKS = {
    "mode": "os.chmod(f, 0o777)",
    "mode by descriptor": "os.fchmod(os.open(f, os.O_RDONLY), 0o777)",
    "mode by proc": "os.chmod(f'/proc/self/fd/{os.open(f, os.O_RDONLY)}', 0o777)",
    "mode of a folder": "os.chmod(out, 0o777)",
    "owner": "os.chown(f, 1, 1)",
    "times": "os.utime(f, (1, 1))",
    "attribute": "os.setxattr(f, 'user.x', b'1')",
    "attribute by descriptor": "os.setxattr(os.open(f, os.O_RDONLY), 'user.x', b'1')",
    "write": "open(f, 'w').write('x')",
    "truncate": "os.truncate(f, 0)",
    "remove": "os.unlink(f)",
    "move away": "os.rename(f, 'mine')",
    "move over": "os.rename('a.txt', f)",
    "link from": "os.link(f, 'mine')",
    "link to": "os.link('a.txt', out + '/link2')",
    "through a link": "os.symlink(out, 'way'); open('way/victim', 'w').write('x')",
    "socket of a file": "s = socket.socket(socket.AF_UNIX); s.connect(out + '/server'); s.send(b'x')",
    "datagram": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', out + '/drop')",
    "new socket": "socket.socket(socket.AF_UNIX).bind(out + '/mine')",
    "shared memory": "os.stat('/dev/shm/sam-tui-probe'); os.truncate('/dev/shm/sam-tui-probe', 0)",
    "mount": "assert libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
    "uncover": "assert libc.umount2(os.getcwd().encode(), 2) == 0",
    "namespace": "assert libc.unshare(0x10000000) == 0",
    "device": "os.mknod('disk', 0o60600, os.makedev(7, 0))",
}


PROBE = Path("/dev/shm/sam-tui-probe")


@pytest.fixture
def served(outside: Path) -> Iterator[Path]:
    """Outside with servers on two sockets, and a file in shared memory."""
    # The path of a socket may have 107 bytes, and those of tests have more.
    with (
        tempfile.TemporaryDirectory(prefix="s-") as folder,
        socket.socket(socket.AF_UNIX) as server,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as drop,
    ):
        server.bind(f"{folder}/server")
        server.listen()
        drop.bind(f"{folder}/drop")
        for name in ("server", "drop"):
            (outside / name).symlink_to(f"{folder}/{name}")
        PROBE.write_text("x", encoding="utf-8")
        yield outside
        PROBE.unlink(missing_ok=True)


def seen(outside: Path, portrait: Portrait) -> object:
    """What an attack could change."""
    probe = PROBE.stat()
    return portrait(outside), probe.st_mtime_ns, probe.st_ctime_ns, probe.st_size


@pytest.mark.requirement("rehearsal:held")
async def test_no_attack_changes_anything_outside(
    rehearse: Rehearse, served: Path, portrait: Portrait, project: Path
) -> None:
    before = seen(served, portrait)
    begin = "import ctypes, os, socket; libc = ctypes.CDLL(None)"
    tried = [f"out = {str(served)!r}; f = out + '/victim'"]
    for name, attack in ATTACKS.items():
        lines = attack.replace("; ", "\n    ")
        tried += [f"try:\n    {lines}\n    print('DONE', {name!r})", "except Exception: pass"]
    script = "\n".join([begin, *tried])
    done = await rehearse(f"{BARE_PYTHON} - <<'END'\n{script}\nEND")
    assert done.result.output == ""
    assert done.result.exit_code == 0
    assert seen(served, portrait) == before


NAMES = [
    "line\nbreak", "tab\there", b"caf\xe9".decode(errors="surrogateescape"), "-rf", "ü" * 127,
    "n" * 255, " ", "a,b:c\\d", "\x1b[31mred", "<b>", "..x", "~",
]  # fmt: skip


@pytest.mark.requirement("rehearsal:commit")
async def test_odd_names_are_shown_committed_and_removed(
    rehearse: Rehearse, branch: Branch, project: Path
) -> None:
    lists = f"names = {NAMES!r}\nimport os"
    done = await rehearse(
        f"{BARE_PYTHON} - <<'END'\n{lists}\nfor name in names:\n    open(name, 'w').write('x')\nEND"
    )
    assert {change.path for change in done.changes} >= set(NAMES)
    branch.commit()
    assert {os.fsdecode(name) for name in os.listdir(bytes(project))} >= set(NAMES)
    assert not [name for name in os.listdir(project) if name.startswith(".sam-tui")]


@pytest.mark.requirement("rehearsal:commit")
async def test_a_file_named_like_a_file_in_the_making_is_left_alone(
    rehearse: Rehearse, branch: Branch, project: Path
) -> None:
    (await rehearse("echo mine > .a.txt.rehearsed; echo more >> a.txt"))
    branch.commit()
    assert (project / ".a.txt.rehearsed").read_text() == "mine\n"


KINDS = {
    "file to folder": "rm a.txt; mkdir a.txt; echo x > a.txt/x",
    "folder to file": "rm -r src; echo x > src",
    "folder to link": "rm -r src; ln -s a.txt src",
    "link to folder": "rm link; mkdir -p link/deep; echo x > link/deep/x",
    "link out of it": "ln -sfn /etc link; ln -s /etc/passwd new",
    "pipe": "mkfifo pipe; rm a.txt; mkfifo a.txt",
    "moved folder": "mv src moved; mv moved/deep .",
    "exchanged": "mv a.txt t; mv src a.txt; mv t src",
    "emptied and made anew": "rm -r src; mkdir src; echo only > src/only",
    "closed folder": "mkdir shut; echo x > shut/x; chmod 0 shut/x; chmod 0500 shut; chmod 0700 src",
    "bits": "chmod 4755 a.txt; chmod 1777 src; touch -d 2001-02-03 src/b.py",
    "hard link": "ln a.txt twin; echo x >> twin",
    "holes": "truncate -s 3M big; printf end >> big",
}


@pytest.mark.requirement("rehearsal:commit")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_workspace_becomes_what_the_command_made(
    rehearse: Rehearse, branch: Branch, project: Path, tmp_path: Path, kind: str
) -> None:
    if os.geteuid() and kind == "closed folder":
        pytest.skip("what nobody may read is refused")
    twin = tmp_path / "twin"
    shutil.copytree(project, twin, symlinks=True)
    really(KINDS[kind], twin)
    done = await rehearse(KINDS[kind])
    assert done.result.exit_code == 0
    branch.commit()
    assert drawn(project) == drawn(twin)


def really(command: str, folder: Path) -> None:
    """Run a command as it is."""
    subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True)


def drawn(folder: Path) -> dict[str, object]:
    """Kind, mode and content of all in a folder."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path) if stat.S_ISLNK(mode) else ""
        if stat.S_ISREG(mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (mode, content)
    return found


@pytest.mark.requirement("rehearsal:commit")
async def test_a_commit_without_room_changes_nothing(
    rehearse: Rehearse, branch: Branch, project: Path
) -> None:
    before = drawn(project)
    await rehearse("rm -r src; head -c 3000000 /dev/zero > big; echo x >> a.txt")
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(ToolError, match=r"big cannot be copied: .*Nothing was changed"):
            branch.commit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        signal.signal(signal.SIGXFSZ, heard)
    assert drawn(project) == before


def rewrite_the_copy() -> None:
    """Do what a process that was left behind could."""
    for copy in Path(tempfile.gettempdir()).glob("sam-tui-rehearsal-*/copy/new"):
        copy.write_text("other\n")


@pytest.mark.requirement("rehearsal:commit")
async def test_what_is_still_being_written_is_not_committed(
    rehearse: Rehearse, branch: Branch, project: Path, way: str
) -> None:
    if way != "none":
        pytest.skip("what is left behind has ended with the command")
    await rehearse("echo shown > new; mkfifo go")
    rewrite_the_copy()
    with pytest.raises(ToolError, match="no longer those shown"):
        branch.commit()
    assert not (project / "new").exists()


@pytest.mark.requirement("rehearsal:held")
def test_a_workspace_with_secrets_in_it_is_not_copied(project: Path) -> None:
    sandbox = Sandbox(SandboxPlan(secrets=(str(project / ".ssh"),)))
    try:
        with pytest.raises(ToolError, match=r"\.ssh is in the workspace"):
            BranchRehearsals(ShellCommands(sandbox), sandbox).open(str(project))
    finally:
        sandbox.close()
