"""Unix sockets for datagrams: between the processes of commands they work, and reach nobody else's."""

import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox.network import datagrams
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.sandbox.hosts_kit import Held, Person, paths

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

PRELUDE = """
import array, ctypes, os, socket, struct, subprocess, sys, threading
def unix(kind=socket.SOCK_DGRAM):
    made = socket.socket(socket.AF_UNIX, kind); made.settimeout(20); return made
given = sys.argv[1:]
"""

AMONG_THEMSELVES = {
    "pair": """
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
if os.fork() == 0:
    a.send(b"one"); a.sendmsg([b"tw", b"o"]); os._exit(0)
print(b.recv(9), b.recv(9), b.type == socket.SOCK_DGRAM, os.get_inheritable(b.fileno()))""",
    "path": """
server, client = unix(), unix()
server.bind("server"); client.bind("client")
print(client.sendto(b"ping", "server"))
said, sender = server.recvfrom(9)
server.sendto(said + b"!", sender)
print(client.recvfrom(9))
client.connect("server"); client.send(b"again"); print(server.recv(9))
print(client.sendmsg([b"to", b"gether"], [], 0, "server"), server.recv(99))""",
    "temporary folder": """
os.chdir(os.environ["TMPDIR"]); server = unix(); server.bind("server")
unix().sendto(b"x" * 150_000, "server"); print(len(server.recv(200_000)))""",
    "abstract": """
server = unix(); server.bind("")
name = server.getsockname()
child = "import socket,sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM);"
child += "to = bytes.fromhex(sys.argv[1]); s.sendto(b'named', to); s.connect(to); s.send(b'more')"
subprocess.run([sys.executable, "-I", "-c", child, name.hex()], check=True)
print(server.recv(9), server.recv(9))""",
    "not blocking": """
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
try: b.recv(1)
except BlockingIOError: print("nothing yet")
try: unix().sendto(b"x", "nobody")
except FileNotFoundError: print("nobody there")""",
    "descriptors beside them": """
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one, other = socket.socketpair()
with open("note", "w+") as note:
    note.write("in the note"); note.flush()
    socket.send_fds(one, [b"take"], [note.fileno()])
said, [handle], *_ = socket.recv_fds(other, 9, 1)
print(said, os.pread(handle, 99, 0))
try: socket.send_fds(one, [b"take"], [a.fileno()])
except PermissionError: print("datagrams stay")""",
    "many messages in one call": """
libc = ctypes.CDLL(None, use_errno=True)
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
text = ctypes.create_string_buffer(b"first")
piece = struct.pack("=QQ", ctypes.addressof(text), 5); pieces = ctypes.create_string_buffer(piece)
header = struct.pack("=QI4xQQQQi4xI4x", 0, 0, ctypes.addressof(pieces), 1, 0, 0, 0, 0)
headers = ctypes.create_string_buffer(header * 2)
print(libc.sendmmsg(a.fileno(), headers, 2, 0), struct.unpack_from("=I", headers.raw, 56), b.recv(9))""",
    "a busy thread that had sent before": """
one, other = socket.socketpair(); over = threading.Event(); went = threading.Event()
def compute():
    one.sendmsg([b"early"]); went.set()
    while not over.is_set(): pass
thread = threading.Thread(target=compute); thread.start(); went.wait()
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
over.set(); thread.join(); a.send(b"made"); print(other.recv(9), b.recv(9))""",
    "a thread that had sent before, worked in the kernel, and waits": """
one, other = socket.socketpair(); over = threading.Event(); went = threading.Event()
def work():
    with open("/dev/urandom", "rb", 0) as source:
        one.sendmsg([b"early"]); went.set(); source.read(32_000_000); over.wait()
thread = threading.Thread(target=work); thread.start(); went.wait()
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
over.set(); thread.join(); a.send(b"made"); print(other.recv(9), b.recv(9))""",
}
ANSWERS = {
    "pair": "b'one' b'two' True False",
    "path": "4\n(b'ping!', 'server')\nb'again'\n8 b'together'",
    "temporary folder": "150000",
    "abstract": "b'named' b'more'",
    "not blocking": "nothing yet\nnobody there",
    "descriptors beside them": "b'take' b'in the note'\ndatagrams stay",
    "many messages in one call": "1 (5,) b'first'",
    "a busy thread that had sent before": "b'early' b'made'",
    "a thread that had sent before, worked in the kernel, and waits": "b'early' b'made'",
}

ATTACKS = {
    "sendto": "unix().sendto(b'stolen', to)",
    "connect": "s = unix(); s.connect(to); s.send(b'stolen')",
    "sendmsg": "unix().sendmsg([b'stolen'], [], 0, to)",
    "one of a pair": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'stolen', to)",
    "raw": "unix(socket.SOCK_RAW).sendto(b'stolen', to)",
    "by a link": "os.path.lexists('l') or os.symlink(to, 'l'); unix().sendto(b'stolen', 'l')",
    "from its folder": "os.chdir(os.path.dirname(to)); unix().sendto(b'stolen', os.path.basename(to))",
}
BY_PATH_ALONE = ("by a link", "from its folder")

RACES = {
    "the address is exchanged": """
size = max(len(to), 2) + 3
address = ctypes.create_string_buffer(size)
good = struct.pack("=H", 1) + b"in".ljust(size - 2, b"\\0")
bad = struct.pack("=H", 1) + to.encode().ljust(size - 2, b"\\0")
def swap(): ctypes.memmove(address, bad, size); ctypes.memmove(address, good, size)
def send():
    with unix() as s: return libc.sendto(s.fileno(), b"stolen", 6, 0, address, size) == 6""",
    "the header is exchanged": """
size = max(len(to), 2) + 3
good = struct.pack("=H", 1) + b"in".ljust(size - 2, b"\\0")
bad = ctypes.create_string_buffer(struct.pack("=H", 1) + to.encode().ljust(size - 2, b"\\0"))
good = ctypes.create_string_buffer(good)
text = ctypes.create_string_buffer(b"stolen")
pieces = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(text), 6))
def header(name): return struct.pack("=QI4xQQQQi4x", name, size, ctypes.addressof(pieces), 1, 0, 0, 0)
to_bad, to_good = header(ctypes.addressof(bad)), header(ctypes.addressof(good))
told = ctypes.create_string_buffer(to_good)
def swap(): ctypes.memmove(told, to_bad, 56); ctypes.memmove(told, to_good, 56)
def send():
    with unix() as s: return libc.sendmsg(s.fileno(), told, 0) == 6""",
    "a stream becomes the socket": """
one, other = socket.socketpair(); number = os.dup(one.fileno())
drop = unix()
def swap(): os.dup2(drop.fileno(), number); os.dup2(one.fileno(), number)
def send():
    size = len(to) + 3
    address = ctypes.create_string_buffer(struct.pack("=H", 1) + to.encode() + b"\\0")
    libc.sendto(number, b"stolen", 6, 0, address, size); return True""",
}


@pytest.fixture(params=["path", "abstract name"])
def foreign(
    request: pytest.FixtureRequest, short_path: Path
) -> Iterator[tuple[str, socket.socket]]:
    """A program of the person's that takes datagrams, as a log does, and its address."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        if request.param == "path":
            made.bind(str(short_path / "log"))
        else:
            made.bind("")
        made.setblocking(False)
        name = made.getsockname()
        yield (name if isinstance(name, str) else "\0" + name[1:].decode()), made


def python(folder: Path, code: str, to: str = "") -> str:
    """The command line that runs a piece of Python; ``to`` is an address that it knows."""
    address = f"to = bytes.fromhex('{to.encode().hex()}').decode()\n"
    (folder / "attempt.py").write_text(PRELUDE + address + code)
    return f"{BARE_PYTHON} -I attempt.py"


@pytest.mark.requirement("sandbox:unix-datagrams")
@pytest.mark.parametrize("way", AMONG_THEMSELVES)
async def test_datagrams_between_the_processes_of_a_command_arrive(
    run: Run, workspace: Path, way: str
) -> None:
    person = Person()
    with closing(Sandbox()) as unused:  # its first socket waits for threads that had sent before
        result = await run(python(workspace, AMONG_THEMSELVES[way]), ask=person, box=unused)
    assert result.output.strip() == ANSWERS[way]
    assert person.asked == []


@pytest.mark.requirement("sandbox:unix-datagrams")
async def test_none_is_made_while_a_thread_may_not_have_looked_yet_which_socket_it_sends_by(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datagrams, "_LEAVING_SECONDS", 0.0)
    code = """
one, other = socket.socketpair(); went = threading.Event(); piece = bytearray(16_000_000)
def work():
    with open("/dev/urandom", "rb", 0) as source:
        one.sendmsg([b"early"]); went.set(); os.readv(source.fileno(), [piece] * 1000)
thread = threading.Thread(target=work, daemon=True); thread.start(); went.wait()
def in_kernel():
    with open(f"/proc/self/task/{thread.native_id}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[12])
while in_kernel() < 3: pass
try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as error: print(error.strerror, flush=True)
os._exit(0)"""
    with closing(Sandbox(live="thread")) as unused:
        result = await run(python(workspace, code), box=unused)
    assert result.output.strip() == "No buffer space available"


@pytest.mark.requirement("sandbox:unix-datagrams")
async def test_they_arrive_where_the_network_is_held_to_hosts(held: Held) -> None:
    for code, answer in ((AMONG_THEMSELVES[w], ANSWERS[w]) for w in ("pair", "path", "abstract")):
        assert (await held(PRELUDE + code)).output.strip() == answer


@pytest.mark.requirement("sandbox:unix-datagrams")
@pytest.mark.parametrize("way", ATTACKS)
async def test_sockets_of_other_programs_take_no_datagram_unasked(
    run: Run, workspace: Path, foreign: tuple[str, socket.socket], way: str
) -> None:
    address, log = foreign
    if address[0] == "\0" and way in BY_PATH_ALONE:
        return
    said = await run(python(workspace, ATTACKS[way], address))
    assert "PermissionError" in said.output
    assert paths(said) == [address.replace("\0", "@")]
    with pytest.raises(BlockingIOError):
        log.recv(99)
    person = Person()
    await run(python(workspace, ATTACKS[way], address), ask=person)
    assert (person.kinds, log.recv(99)) == (["connect"], b"stolen")


@pytest.mark.requirement("sandbox:unix-datagrams")
@pytest.mark.parametrize("race", RACES)
async def test_no_exchange_sends_a_datagram_to_another_program(
    run: Run, workspace: Path, short_path: Path, race: str
) -> None:
    code = f"""{RACES[race]}
libc = ctypes.CDLL(None, use_errno=True)
inner = unix(); inner.bind("in"); inner.setblocking(False)
over = threading.Event()
def swapping():
    while not over.is_set(): swap()
threads = [threading.Thread(target=swapping) for _ in range(2)]
for thread in threads: thread.start()
done = 0
for _ in range(200):
    done += send()
    try: inner.recv(99)
    except BlockingIOError: pass
over.set()
for thread in threads: thread.join()
print("some" if done else "none")"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(short_path / "log"))
        log.setblocking(False)
        said = await run(python(workspace, code, str(short_path / "log")))
        assert said.output.strip() == "some"
        with pytest.raises(BlockingIOError):
            log.recv(99)
