"""Ways to what is kept inside the workspace that no shell has: descriptors, links of /proc, raw calls."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandRequest
from tests.fakes.interpreter import BARE_PYTHON

Portrait = Callable[[Path], dict[str, tuple[object, ...]]]

pytestmark = pytest.mark.confined("live")

BEGIN = """
import ctypes, mmap, os, platform, socket, struct
libc, HERE, KEY = ctypes.CDLL(None, use_errno=True), -100, ".ssh/id"
def call(number, *given):
    wide = [ctypes.c_long(g) if isinstance(g, int) else g for g in given]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result < 0: raise OSError(ctypes.get_errno(), "")
    return result
def linkat(*given): return libc.linkat(*given) and 1 / 0
def read(path, flags=0, **given): return os.read(os.open(path, flags, **given), 9)
def openat2(path, resolve, folder=HERE):
    how = struct.pack("=QQQ", 0, 0, resolve)
    return os.read(call(437, folder, path, how, 24), 9)
"""
READS = {
    "plain": "read(KEY)",
    "without a time": "read(KEY, os.O_NOATIME)",
    "to write as well": "read(KEY, os.O_RDWR)",
    "opened again": "read(f'/proc/self/fd/{os.open(KEY, os.O_PATH)}')",
    "opened again by a thread": "read(f'/proc/thread-self/fd/{os.open(KEY, os.O_PATH)}')",
    "a link to a descriptor": "linkat(os.open(KEY, os.O_PATH), b'', HERE, b'k', 0x1000); read('k')",
    "a link by proc": "d = os.open(KEY, os.O_PATH)"
    "; linkat(HERE, b'/proc/self/fd/%d' % d, HERE, b'k', 0x400); read('k')",
    "a hard link": "os.link(KEY, 'k'); read('k')",
    "a folder's descriptor": "read('id', dir_fd=os.open('.ssh', os.O_PATH))",
    "moved out of its folder": "os.rename('id', os.getcwd() + '/k', src_dir_fd=os.open('.ssh', 0))",
    "its folder moved": "os.rename('.ssh', 's'); read('s/id')",
    "below itself": "openat2(b'.ssh/id', 8)",
    "no links": "openat2(b'.ssh/id', 4)",
    "no links of proc": "openat2(b'.ssh/id', 2)",
    "as a root": "openat2(b'/.ssh/id', 16, os.open('.', 0))",
    "a link as a root": "os.symlink('/.ssh/id', 'l'); openat2(b'l', 16, os.open('.', 0))",
    "a link": "os.symlink('.ssh', 'l'); read('l/id')",
    "a link to proc": "os.symlink('/proc/self/cwd/.ssh/id', 'l'); read('l')",
    "proc's root": "read('/proc/self/root' + os.path.abspath(KEY))",
    "dots": "os.mkdir('d'); read('d/../.ssh/./id')",
    "a map": "mmap.mmap(os.open(KEY, os.O_PATH), 4, prot=1)",
    "a copy": "os.copy_file_range(os.open(KEY, os.O_PATH), os.open('k', os.O_CREAT | 1), 4)",
    "io_uring": "call(425, 8, ctypes.create_string_buffer(120))",
    "a tree": "call(428, HERE, b'.ssh', 1)",
    "a mark": "libc.fanotify_init(0x10, 0) < 0 and 1 / 0",
    "a mount": "libc.mount(b'.ssh', b'project', None, 0x1000, None) and 1 / 0",
    "a namespace": "libc.unshare(0x10020000) and 1 / 0",
    "another root": "os.chroot('.')",
    "a program": "os.execv(KEY, [KEY])",
}
WRITES = {
    "exchanged": "libc.renameat2(HERE, b'.ssh', HERE, b'project', 2) and 1 / 0",
    "a file exchanged": "libc.renameat2(HERE, b'.ssh/id', HERE, b'project/f', 2) and 1 / 0",
    "replaced": "os.rename('project/f', KEY)",
    "a folder put over it": "os.rename('project', '.ssh')",
    "written by proc": "os.write(os.open(f'/proc/self/fd/{os.open(KEY, os.O_PATH)}', 1), b'x')",
    "truncated": "os.truncate(KEY, 0)",
    "mode": "os.chmod(KEY, 0o777)",
    "times": "os.utime(KEY)",
    "attribute": "os.setxattr(KEY, 'user.a', b'1')",
    "a socket in it": "socket.socket(socket.AF_UNIX).bind('.ssh/s')",
    "made": "open('.netrc', 'w')",
    "made a folder": "os.mkdir('.netrc')",
    "made a pipe": "os.mkfifo('.netrc')",
    "made a link": "os.symlink('project/f', '.netrc')",
    "made a hard link": "os.link('project/f', '.netrc')",
    "made by a move": "os.rename('project/f', '.netrc')",
    "made a socket": "socket.socket(socket.AF_UNIX).bind('.netrc')",
    "made without a name": "d = os.open('.', os.O_TMPFILE | os.O_RDWR)"
    "; linkat(d, b'', HERE, b'.netrc', 0x1000)",
    "made below": "os.makedirs('.data/share/sam-tui')",
    "the way made a link": "os.makedirs('e/share/sam-tui'); os.symlink('e', '.data')"
    "; open('.data/share/sam-tui/db', 'w')",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "home"
    for folder in (".ssh", "project"):
        (made / folder).mkdir(parents=True)
    (made / ".ssh/id").write_text("key\n")
    return made


@pytest.fixture
def box(home: Path) -> Iterator[Sandbox]:
    secrets = tuple(f"{home}/{place}" for place in (".ssh", ".netrc", ".data/share/sam-tui"))
    made = Sandbox(SandboxPlan(secrets=secrets))
    yield made
    made.close()


@pytest.mark.requirement("sandbox:kept-inside")
async def test_no_attempt_reads_or_changes_what_is_kept(
    box: Sandbox, home: Path, portrait: Portrait
) -> None:
    before = portrait(home / ".ssh")
    tried = [BEGIN]
    for name, attempt in {**READS, **WRITES}.items():
        lines = attempt.replace("; ", "\n    ")
        tried += [
            "for left in ('k', 'l', 's', 'd'):",
            "    os.system(f'rm -rf {left}')",
            "os.system('echo work > project/f')",
            f"try:\n    {lines}\n    print('DONE', {name!r})\nexcept Exception: pass",
        ]
    (home / "attempts.py").write_text("\n".join(tried))
    result = await ShellCommands(box).run(
        CommandRequest(
            f"{BARE_PYTHON} attempts.py", str(home), True, (str(home),), 60.0, lambda _: None
        )
    )
    assert (result.output, result.exit_code) == ("", 0)
    assert portrait(home / ".ssh") == before
    assert not (home / ".netrc").exists()
    assert not (home / ".data/share/sam-tui").exists()
