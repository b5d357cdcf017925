"""Secrets that a program tries to read under other names: by exchanging a path between judgement and use,
and by what leads to a file without its name."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.policy.readable_paths import free_reads
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import ReadTerms
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.preloaded import SCRIPT
from tests.sandbox.hosts_kit import paths

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

PRELUDE = """
import ctypes, os, struct, sys, threading
ROUNDS, ENV = 40, b".env"  # a dozen attempts read it in so many where the kernel looks at the path again
libc = ctypes.CDLL(None, use_errno=True)
# Both threads shall run often, whatever else the machine does.
sys.setswitchinterval(1e-5)
O_PATH, RD, CREAT = os.O_PATH, os.O_RDONLY, os.O_CREAT
NONBLOCK = os.O_NONBLOCK

def opened(path, flags, directory=-100):
    return libc.openat(directory, path, flags, 0o600)

def content(fd):
    try:
        return os.read(fd, 99) if fd >= 0 else b""
    except OSError:
        return b""
    finally:
        if fd >= 0: os.close(fd)

def racing(swap, attempt):
    done = threading.Event()
    def swapping():
        while not done.is_set():
            for side in (0, 1):
                swap(side)
    other = threading.Thread(target=swapping)
    other.start()
    try:
        for _ in range(ROUNDS):
            if b"hunter2" in content(attempt()):
                return True
    finally:
        done.set()
        other.join()
    return False

def memory(other, flags, call=None):
    "The text of the path changes."
    text = ctypes.create_string_buffer(99)
    names = [n + b"\\0" for n in (other, ENV)]
    def swap(side):
        ctypes.memmove(text, names[side], len(names[side]))
    swap(0)
    return racing(swap, lambda: (call or opened)(text, flags))

def how_flags():
    "The flags of openat2 change."
    how, path = ctypes.create_string_buffer(24), ctypes.create_string_buffer(ENV)
    hows = [struct.pack("=QQQ", flags, 0, 0) for flags in (O_PATH, RD)]
    return racing(
        lambda side: ctypes.memmove(how, hows[side], 24), lambda: libc.syscall(437, -100, path, how, 24)
    )

def link_outside():
    "A link changes where the kernel makes the changes."
    folder = os.environ["TMPDIR"]
    there = os.getcwd()
    def swap(side):
        os.symlink(f"{there}/{('plain.txt', '.env')[side]}", f"{folder}/new")
        os.rename(f"{folder}/new", f"{folder}/link")
    swap(0)
    path = f"{folder}/link".encode()
    return any(racing(swap, lambda: opened(path, flags)) for flags in (RD, os.O_RDWR, RD | CREAT))

def descriptor(other, flags=RD):
    "A number of /proc/self/fd means another file."
    ends = (other, os.open(ENV, O_PATH))
    number = os.dup(other)
    return racing(
        lambda side: os.dup2(ends[side], number), lambda: opened(b"/proc/self/fd/%d" % number, flags)
    )

def folder():
    "A folder's descriptor means another folder."
    os.makedirs("sub/.m2", exist_ok=True)
    os.makedirs("sub/m2", exist_ok=True)
    open("sub/m2/settings.xml", "w").close()
    os.rename("settings.txt", "sub/.m2/settings.xml")
    ends = [os.open(path, O_PATH) for path in ("sub/m2", "sub/.m2")]
    number = os.dup(ends[0])
    return racing(
        lambda side: os.dup2(ends[side], number), lambda: opened(b"settings.xml", RD, number)
    )

def read(path, flags=RD):
    return b"hunter2" in content(opened(path, flags))

def deleted():
    held = os.open("gone/.env", O_PATH)
    os.unlink("gone/.env")
    return read(b"/proc/self/fd/%d" % held)

def replaced():
    held = os.open("replaced/.env", O_PATH)
    os.rename("plain2.txt", "replaced/.env")
    return read(b"/proc/self/fd/%d" % held)

def exchanged():
    libc.renameat2(-100, b"plain.txt", -100, b".env", 2)
    return read(b"plain.txt") or read(b".env")

def moved_folder():
    os.rename("maven/.m2", "maven/m2")
    return read(b"maven/m2/settings.xml")

def hidden_memory():
    child = os.fork()
    if not child:
        libc.prctl(4, 0, 0, 0, 0)
        os._exit(read(ENV))
    return os.waitpid(child, 0)[1]

def unreadable_program():
    os.system("cp $(which cat) secretive; chmod 0111 secretive; ./secretive .env > copy 2> errors")
    return b"hunter2" in open("copy", "rb").read()

def from_a_pipe():
    os.mkfifo("named/.env")
    if not os.fork():
        end = os.open("named/.env", os.O_WRONLY)
        os.write(end, b"hunter2")
        os._exit(0)
    return read(b"named/.env")

PIPE = os.pipe()
os.mkfifo("fifo")
TRIED = {
    "memory": lambda: memory(b"plain.txt", RD),
    "memory, a missing file": lambda: memory(b"missing", RD),
    "memory, to write as well": lambda: memory(b"plain.txt", os.O_RDWR),
    "memory, to make": lambda: memory(b"plain.txt", RD | CREAT),
    "memory, to make what is missing": lambda: memory(os.environb[b"TMPDIR"] + b"/new", RD | CREAT),
    "memory, a device": lambda: memory(b"/dev/null", RD),
    "memory, a device to write": lambda: memory(b"/dev/null", RD | CREAT),
    "memory, the kernel's view": lambda: memory(b"/proc/self/status", RD),
    "memory, a named pipe": lambda: memory(b"fifo", RD | NONBLOCK),
    "memory, a folder": lambda: memory(b".", RD),
    "memory, by open": lambda: memory(b"plain.txt", RD, lambda *given: libc.open(*given)),
    "memory, by openat2": lambda: memory(
        b"plain.txt", RD, lambda text, _: libc.syscall(437, -100, text, bytes(24), 24)
    ),
    "flags of openat2": how_flags,
    "a link": link_outside,
    "a descriptor": lambda: descriptor(os.open("plain.txt", O_PATH)),
    "a descriptor of a pipe": lambda: descriptor(PIPE[0], RD | NONBLOCK),
    "a descriptor of memory": lambda: descriptor(os.memfd_create("m")),
    "a descriptor to write": lambda: descriptor(os.open("plain.txt", O_PATH), os.O_RDWR),
    "a folder's descriptor": folder,
    "deleted": deleted,
    "replaced": replaced,
    "hidden memory": hidden_memory,
    "an unreadable program": unreadable_program,
    "a named pipe": from_a_pipe,
    "a folder that is moved": moved_folder,
    "exchanged": exchanged,
}
for name, attempt in TRIED.items():
    try:
        if attempt():
            print("READ", name)
    except OSError as error:
        pass
print("tried", len(TRIED), flush=True)
os._exit(0)
"""

SECRETS = (
    ".env",
    "gone/.env",
    "replaced/.env",
    "maven/.m2/settings.xml",
    "settings.txt",
)


def furnish(workspace: Path) -> None:
    for name in SECRETS:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("hunter2\n")
    (workspace / "named").mkdir()
    for name in ("plain.txt", "plain2.txt"):
        (workspace / name).write_text("plain\n")
    (workspace / "attack.py").write_text(PRELUDE)


@pytest.fixture(params=[False, True], ids=["trusted", "untrusted"])
def box(
    request: pytest.FixtureRequest, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> Sandbox:
    terms = ReadTerms("", free_reads("", dict(os.environ)), restricted=request.param)
    monkeypatch.setattr(sandbox, "reads", lambda: terms)
    return sandbox


@pytest.mark.requirement("sandbox:reads")
async def test_no_exchange_in_between_reads_a_secret(
    run: Run, workspace: Path, box: Sandbox
) -> None:
    furnish(workspace)
    result = await run(f"{BARE_PYTHON} -I -W ignore attack.py", box=box, limit=120.0)
    assert result.output.splitlines() == ["tried 26"]
    assert str(workspace / ".env") in paths(result)


@pytest.mark.requirement("sandbox:reads")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_same_holds_for_a_normal_user(short_path: Path) -> None:
    python = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python that everybody may run")
    furnish(short_path)
    for path in (short_path, *short_path.rglob("*")):
        os.chown(path, 65534, 65534)
    code = f"""
import asyncio, os, tempfile
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox import supervisor
from sam_tui.core.ports.processes.terminals import CommandRequest
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.environ["HOME"] = tempfile.tempdir = folder = {str(short_path)!r}
async def main():
    box = Sandbox(live="thread")
    line = {f"{python} -I -W ignore attack.py"!r}
    request = CommandRequest(line, folder, True, (folder,), 120.0, lambda _: None)
    result = await ShellCommands(box).run(request)
    print(result.output, end="")
    box.close()
asyncio.run(main())
"""
    ended = subprocess.run([*SCRIPT, code], capture_output=True, text=True, check=False)
    assert ended.stdout == "tried 26\n", ended.stderr


@pytest.mark.requirement("sandbox:thread-host")
async def test_signals_for_the_program_take_no_descriptor_from_an_open(
    run: Run, workspace: Path
) -> None:
    (workspace / "a").write_text("content\n")
    (workspace / "reads.py").write_text(
        "for _ in range(3000):\n    with open('a') as file: assert file.read() == 'content\\n'\n"
    )
    box = Sandbox(live="thread")

    def heard(number: int, frame: object) -> None:
        pass

    before = signal.signal(signal.SIGALRM, heard)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    try:
        result = await run(f"{BARE_PYTHON} -I reads.py", box=box)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        box.close()
    assert (result.output, result.exit_code) == ("", 0)
