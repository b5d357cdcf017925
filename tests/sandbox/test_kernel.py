"""Ways around files and paths: other call tables, sockets, terminals, memory and races."""

import os
import socket
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Protocol

import pytest

from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.programs import needs

Run = Callable[..., Coroutine[None, None, CommandResult]]
Portrait = Callable[[Path], dict[str, tuple[object, ...]]]

pytestmark = pytest.mark.confined("live")
x86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="another call table")

PRELUDE = """
import ctypes, errno, fcntl, mmap, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
given = sys.argv[1:]
"""


class Service(Protocol):
    heard: list[bytes]


@pytest.fixture
def python(run: Run, workspace: Path) -> Callable[..., Coroutine[None, None, str]]:
    """Run a piece of Python in the sandbox; returns what it printed."""

    async def running(code: str, *arguments: object) -> str:
        (workspace / "attack.py").write_text(PRELUDE + code)
        words = " ".join(f"'{argument}'" for argument in arguments)
        result = await run(f"{BARE_PYTHON} -I attack.py {words}")
        return result.output.strip()

    return running


Python = Callable[..., Coroutine[None, None, str]]


@pytest.mark.requirement("sandbox:kernel-calls-shut")
@x86_64
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("425, 8, bytes(120)", "ENOSYS"),  # io_uring_setup
        ("435, bytes(88), 88", "ENOSYS"),  # clone3
        ("165, b'a', b'/mnt', b'tmpfs', 0, None", "EPERM"),  # mount
        ("166, b'/proc', 2", "EPERM"),  # umount2
        ("155, b'/', b'/'", "EPERM"),  # pivot_root
        ("161, b'/tmp'", "EPERM"),  # chroot
        ("272, 0x10000000", "EPERM"),  # unshare(CLONE_NEWUSER)
        ("272, 0x20000", "EPERM"),  # unshare(CLONE_NEWNS)
        ("56, 0x10000011, 0, 0, 0, 0", "EPERM"),  # clone(CLONE_NEWUSER)
        ("308, 0, 0", "EPERM"),  # setns
        ("304, -100, bytes(64), 0", "EPERM"),  # open_by_handle_at
        ("250, 0, -3, 1", "EPERM"),  # keyctl
        ("248, b'user', b'a', b'b', 1, -3", "EPERM"),  # add_key
        ("321, 0, bytes(128), 128", "EPERM"),  # bpf
        ("169, 0, 0, 0, None", "EPERM"),  # reboot
        ("227, 0, bytes(16)", "EPERM"),  # clock_settime
        ("302, os.getppid(), 7, bytes(16), None", "EPERM"),  # prlimit64 of another
        ("463, -100, b'.', 0, b'user.a', bytes(16), 16", "ENOSYS"),  # setxattrat
        ("0x40000000 + 39", "ENOSYS"),  # getpid of x32
        ("471, 0, 0", "ENOSYS"),  # whatever comes next
        ("240, b'q', 0o101, 0o600, None", "EPERM"),  # mq_open to write
        ("46, 3, 4096, 0x01000000", "EINVAL"),  # sendmsg as a command's starter hands over
        ("41, 17, 3, 0", "EAFNOSUPPORT"),  # packet socket
        ("41, 40, 1, 0", "EAFNOSUPPORT"),  # the host of a virtual machine
    ],
)
async def test_doors_beside_files_are_shut(python: Python, call: str, error: str) -> None:
    assert await python(f"print(call({call}))") == error


@pytest.mark.requirement("sandbox:kernel-calls-shut")
@x86_64
async def test_the_32_bit_entry_changes_nothing(
    python: Python, outside: Path, portrait: Portrait
) -> None:
    before = portrait(outside)
    # unlink by int 0x80, with the path below 4 GiB where such a call can name it.
    said = await python(
        """
low = libc.mmap; low.restype = ctypes.c_void_p
at = low(None, 4096, 7, 0x62, -1, 0)
assert at and at < 1 << 32, at
path = given[0].encode() + b"/victim\\0"
code = b"\\x53\\xbb" + struct.pack("<I", at + 64) + b"\\xb8\\x0a\\0\\0\\0\\xcd\\x80\\x5b\\xc3"
ctypes.memmove(at, code, len(code)); ctypes.memmove(at + 64, path, len(path))
print(ctypes.CFUNCTYPE(ctypes.c_int)(at)())
""",
        outside,
    )
    assert said == str(-38)
    assert portrait(outside) == before


@pytest.mark.requirement("sandbox:processes-outside")
@pytest.mark.parametrize(
    "code",
    [
        "print(libc.ptrace(16, pid, None, None))",
        "print(libc.ptrace(0x4206, pid, None, None))",
        "b = ctypes.create_string_buffer(8); v = struct.pack('=QQ', ctypes.addressof(b), 8);"
        "print(libc.process_vm_writev(pid, v, 1, struct.pack('=QQ', 4096, 8), 1, 0))",
        "print(os.kill(pid, 15))",
        "print(open(f'/proc/{pid}/environ').read())",
        "print(open(f'/proc/{pid}/mem', 'r+b'))",
        "print(open(f'/proc/{pid}/oom_score_adj', 'w').write('1000'))",
        "print(call(438, os.pidfd_open(pid), 0, 0) == 'done')",
    ],
)
async def test_processes_outside_are_out_of_reach(
    python: Python, bystander: subprocess.Popen[bytes], code: str
) -> None:
    said = await python(f"pid = int(given[0]); {code}", bystander.pid)
    assert "Error" in said or said in ("-1", "False")
    assert bystander.poll() is None


@pytest.mark.requirement("sandbox:sockets-outside")
async def test_a_socket_outside_hears_nothing(
    run: Run, python: Python, service: Service, short_path: Path
) -> None:
    there = short_path / "service"
    connect = "s = socket.socket(socket.AF_UNIX); s.connect(given[0]); s.send(b'hello')"
    assert "PermissionError" in await python(connect, there)
    result = await run(f"ln -s {there} l; {BARE_PYTHON} attack.py l")
    assert [access.kind for access in result.refused] == ["connect"]
    assert [access.path for access in result.refused] == [str(there)]
    assert "PermissionError" in await python(
        "os.chdir(given[1]); " + connect, "service", short_path
    )
    assert service.heard == []


@pytest.mark.requirement("sandbox:sockets-outside")
async def test_another_thread_cannot_exchange_the_address_of_a_connection(
    python: Python, service: Service, short_path: Path
) -> None:
    # The address names a socket inside while it is judged, and the one outside a moment later.
    said = await python(
        """
inner = socket.socket(socket.AF_UNIX); inner.bind("in"); inner.listen(4096)
size = max(len(given[0]), 2) + 3
address = ctypes.create_string_buffer(size)
good = struct.pack("=H", 1) + b"in".ljust(size - 2, b"\\0")
bad = struct.pack("=H", 1) + given[0].encode().ljust(size - 2, b"\\0")
over = threading.Event()
def swap():
    while not over.is_set():
        ctypes.memmove(address, bad, size); ctypes.memmove(address, good, size)
threads = [threading.Thread(target=swap) for _ in range(2)]
for thread in threads: thread.start()
done = 0
for _ in range(300):
    s = socket.socket(socket.AF_UNIX)
    if libc.connect(s.fileno(), address, size) == 0: done += 1; s.send(b"hello")
    s.close()
over.set()
for thread in threads: thread.join()
print("some" if done else "none")
""",
        short_path / "service",
    )
    assert said == "some"
    assert service.heard == []


@pytest.mark.requirement("sandbox:sockets-outside")
async def test_abstract_sockets_of_others_hear_nothing(python: Python) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0sam-tui-test-{os.getpid()}")
        server.listen()
        server.setblocking(False)
        said = await python(
            "socket.socket(socket.AF_UNIX).connect('\\0' + given[0])", f"sam-tui-test-{os.getpid()}"
        )
        assert "PermissionError" in said
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.requirement("sandbox:races")
async def test_another_thread_cannot_exchange_the_path_of_a_chmod(
    python: Python, outside: Path, portrait: Portrait
) -> None:
    before = portrait(outside)
    said = await python(
        """
open("in", "w").close()
size = len(given[0]) + 9
path = ctypes.create_string_buffer(size)
good, bad = b"in".ljust(size, b"\\0"), (given[0] + "/victim").encode().ljust(size, b"\\0")
over = threading.Event()
def swap():
    while not over.is_set():
        ctypes.memmove(path, bad, size); ctypes.memmove(path, good, size)
thread = threading.Thread(target=swap); thread.start()
done = sum(libc.chmod(path, 0o600 + n % 8) == 0 for n in range(1500))
over.set(); thread.join()
print("some" if done else "none")
""",
        outside,
    )
    assert said == "some"
    assert portrait(outside) == before


@pytest.mark.requirement("sandbox:races")
async def test_swapping_links_and_descriptors_changes_nothing_outside(
    python: Python, outside: Path, portrait: Portrait
) -> None:
    before = portrait(outside)
    said = await python(
        """
victim = given[0] + "/victim"
open("file", "w").close(); os.symlink(victim, "away"); os.symlink("file", "home")
inner, outer = os.open("file", os.O_RDONLY), os.open(victim, os.O_RDONLY)
spot = os.dup(inner)
over = threading.Event()
def swap():
    n = 0
    while not over.is_set():
        n += 1
        os.symlink(victim if n % 2 else "file", f"t{n % 7}"); os.replace(f"t{n % 7}", "swap")
        os.dup2(outer if n % 2 else inner, spot)
os.symlink("file", "swap")
thread = threading.Thread(target=swap); thread.start()
done = 0
for n in range(600):
    for act in (lambda: os.chmod("swap", 0o600 + n % 8), lambda: os.utime("swap", (n, n)),
                lambda: os.fchmod(spot, 0o600 + n % 8), lambda: open("swap", "w").write("x")):
        try:
            act(); done += 1
        except OSError:
            pass
over.set(); thread.join()
print("some" if done else "none")
""",
        outside,
    )
    assert said == "some"
    assert portrait(outside) == before


@pytest.mark.requirement("sandbox:terminals-outside")
async def test_terminals_of_others_cannot_be_written_to(run: Run) -> None:
    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        name = os.ttyname(slave)
        result = await run(f"echo x > {name}; chmod 666 {name}; stty -F {name} cols 5")
        assert result.exit_code != 0
        assert {(a.kind, a.path) for a in result.refused} == {("write", name), ("metadata", name)}
        with pytest.raises(BlockingIOError):
            os.read(master, 100)
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.requirement("sandbox:own-things")
async def test_terminals_that_a_command_makes_are_its_own(python: Python) -> None:
    said = await python(
        """
import pty
master, slave = pty.openpty()
name = os.ttyname(slave)
os.close(os.open(name, os.O_RDWR | os.O_NOCTTY)); os.chmod(name, 0o620)
pid, fd = pty.fork()
if pid == 0:
    tty = open("/dev/tty", "w"); tty.write("4"); tty.flush(); os.read(0, 1)
print(b"4" in os.read(fd, 100), libc.ioctl(fd, 0x5412, b"x"))
os.kill(pid, 9)
"""
    )
    assert said == "True -1"


@pytest.mark.requirement("sandbox:outside-unchanged")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/etc/hosts",
        "/etc/crontab",
        "/var/spool/cron/crontabs/root",
        "/var/spool/cron/sam-tui-test",
        "/etc/cron.d/sam-tui-test",
        "/etc/systemd/system/sam-tui-test.service",
        "/proc/sys/kernel/core_pattern",
        "/sys/kernel/uevent_helper",
        "/dev/kmsg",
        "/dev/sda",
        "/dev/vda",
        "/dev/mem",
        "~/.bashrc",
        "~/.ssh/authorized_keys",
        "~/.config/autostart/x.desktop",
    ],
)
async def test_files_that_would_run_something_later_cannot_be_opened(run: Run, path: str) -> None:
    # Opened to append and closed again: without the sandbox this would leave all as it is, too.
    result = await run(f"exec 3>> {path}")
    assert result.exit_code != 0


@pytest.mark.requirement("sandbox:kernel-calls-shut")
async def test_devices_cannot_be_made_or_touched(run: Run) -> None:
    result = await run("mknod disk b 254 0; mknod null c 1 3; chmod 600 /dev/null; ls")
    assert result.output.splitlines()[-1:] != ["disk"]
    assert "disk" not in result.output.splitlines()
    assert os.stat("/dev/null").st_mode & 0o777 == 0o666


@pytest.mark.requirement("sandbox:metadata-outside")
@needs("chattr")
async def test_attributes_of_a_file_that_can_only_be_read_stay(run: Run, outside: Path) -> None:
    command = f"lsattr {outside}/victim"
    before = (await run(command)).output
    result = await run(f"chattr +d {outside}/victim; chattr +i mine; {command}")
    assert result.output.endswith(before)


@pytest.mark.requirement("sandbox:kernel-calls-shut")
async def test_set_user_id_programs_gain_nothing_and_capabilities_are_few(run: Run) -> None:
    result = await run("grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status")
    found = dict(line.split(":\t") for line in result.output.splitlines())
    assert found["NoNewPrivs"] == "1"
    dangerous = 1 << 16 | 1 << 17 | 1 << 19 | 1 << 21  # modules, raw I/O, ptrace, admin
    assert not int(found["CapEff"], 16) & dangerous
