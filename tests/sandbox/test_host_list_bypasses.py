"""Ways past a list of hosts: datagrams, other protocols, races, and servers of commands."""

import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox.kernel.listeners import listening
from sam_tui.core.ports.processes.sandbox import HostTerms, SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.name_server import NameServer
from tests.sandbox.hosts_kit import PRELUDE, Answerer, Held, Person, paths

pytestmark = pytest.mark.confined("live")
datagrams = pytest.mark.confined("networks")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody outside who would hear datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        yield made


@pytest.mark.requirement("sandbox:hosts-datagrams")
@pytest.mark.parametrize(
    "code",
    [
        "s.sendto(b'secret', there)",
        "s.sendmsg([b'secret'], [], 0, there)",
        "s.connect(there); s.send(b'secret')",
        "s.sendmsg([b'secret'], [(0, 8, struct.pack('=I8x', 1))], 0, there)",
        "a = struct.pack('=H', 2) + struct.pack('>H', there[1]) + bytes([127, 0, 0, 1]) + bytes(8);"
        "n = ctypes.create_string_buffer(a); b = ctypes.create_string_buffer(b'secret');"
        "v = struct.pack('=QQ', ctypes.addressof(b), 6); v = ctypes.create_string_buffer(v);"
        "m = struct.pack('=QIIQQQQIIII', ctypes.addressof(n), 16, 0, ctypes.addressof(v), 1, 0, 0,"
        " 0, 0, 0, 0); print(libc.sendmmsg(s.fileno(), ctypes.create_string_buffer(m), 1, 0))",
    ],
)
async def test_datagrams_go_nowhere(held: Held, listener: socket.socket, code: str) -> None:
    port = listener.getsockname()[1]
    await held(
        "there = ('127.0.0.1', int(given[0]))\n"
        "try:\n s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f" {code}\nexcept OSError as error: print(error)",
        port,
        says=Person(says=True),
    )
    with pytest.raises(BlockingIOError):
        listener.recv(100)


@pytest.mark.requirement("sandbox:hosts-datagrams")
@datagrams
async def test_a_resolver_of_ones_own_is_answered_whatever_server_it_asks(
    held: Held, names: NameServer
) -> None:
    names.names["good.test"] = "127.0.0.9"
    code = """
for family, server in ((2, "8.8.8.8"), (2, "127.0.0.53"), (10, "2001:db8::1")):
    for name in ("good.test", "bad.test"):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.settimeout(20)
            s.sendto(question(name), (server, 53))
            answer, sender = s.recvfrom(999)
            print(answer[3] & 15, answer[-1] if answer[7] else "", sender[0] == server)
"""
    result = await held(code, hosts=("good.test",), local=("good.test",))
    assert result.output.splitlines() == ["0 9 True", "3  True"] * 3
    assert paths(result) == ["bad.test"]
    assert set(names.heard) == {"good.test"}


@pytest.mark.requirement("sandbox:hosts-datagrams")
async def test_a_resolver_that_asks_by_stream_is_answered_whatever_server_it_asks(
    held: Held, names: NameServer
) -> None:
    names.names["good.test"] = "127.0.0.9"
    names.shortened.add("good.test")
    code = """
for server in ("8.8.8.8", "127.0.0.53", "127.0.0.1"):
    with socket.create_connection((server, 53), 20) as s:
        for name in ("good.test", "bad.test"):
            s.sendall(struct.pack(">H", len(question(name))) + question(name))
            answer = s.recv(2) and s.recv(999)
            print(answer[3] & 15, answer[-1] if answer[7] else "")
"""
    result = await held(code, hosts=("good.test",), local=("good.test",))
    assert result.output.splitlines() == ["0 9", "3 "] * 3
    assert set(names.by_stream) == {"good.test"}


@pytest.mark.requirement("sandbox:hosts-datagrams")
@datagrams
async def test_datagrams_between_commands_of_one_run_arrive(held: Held) -> None:
    code = """
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab")
a.bind(("127.0.0.1", 0)); b.sendto(b"here", a.getsockname()); a.settimeout(20); print(a.recv(9))
"""
    assert (await held(code)).output.strip() == "b'here'"


@pytest.mark.requirement("sandbox:hosts-ways")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("socket.socket(2, 1, 132)", "Protocol"),  # SCTP
        ("socket.socket(2, 5, 132)", "Protocol"),
        ("socket.socket(2, 1, 262)", "Protocol"),  # MPTCP
        ("socket.socket(2, 2, 1)", "Protocol"),  # ping
        ("socket.socket(2, 2, 136)", "Protocol"),  # UDP-Lite
        ("socket.socket(2, 3, 1)", "Protocol"),  # raw
        ("socket.socket(2, 10, 768)", "Protocol"),  # packets, by the old name
        ("socket.socket(17, 3)", "Address family"),
        ("socket.socket(40, 1)", "Address family"),  # VSOCK
        ("socket.socket(43, 1)", "Address family"),  # SMC
        ("socket.socket().sendto(b'x', 0x20000000, there)", "not supported"),
        ("socket.socket().sendmsg([b'x'], [], 0x20000000, there)", "not supported"),
        ("socket.socket().setsockopt(6, 30, 1)", "not supported"),
    ],
)
async def test_other_ways_to_connect_are_shut(
    held: Held, server: Answerer, code: str, error: str
) -> None:
    result = await held(
        f"there = ('127.0.0.1', int(given[0]))\ntry: print({code})\n"
        "except OSError as error: print(error)",
        server.port,
    )
    assert error in result.output
    assert server.accepted == 0


@pytest.mark.requirement("sandbox:hosts-ways")
async def test_a_swapped_socket_or_address_reaches_nobody(held: Held, server: Answerer) -> None:
    """Another thread changes the address and the socket while the call is looked at."""
    code = """
here = socket.create_server(("127.0.0.1", 0))
good = struct.pack("=H", 2) + struct.pack(">H", here.getsockname()[1]) + bytes([127, 0, 0, 1])
evil = struct.pack("=H", 2) + struct.pack(">H", int(given[0])) + bytes([127, 0, 0, 1])
place = ctypes.create_string_buffer(good + bytes(8))
stop = threading.Event()
def swap():
    while not stop.is_set():
        ctypes.memmove(place, evil, 8); ctypes.memmove(place, good, 8)
thread = threading.Thread(target=swap); thread.start()
for _ in range(100):
    s = socket.socket()
    if libc.connect(s.fileno(), place, 16) == 0 and s.getpeername()[1] == int(given[0]):
        print("escaped")
    s.close()
stop.set(); thread.join()
"""
    result = await held(code, server.port)
    assert result.output == ""
    assert server.accepted == 0


@pytest.mark.requirement("sandbox:hosts-servers")
async def test_servers_that_commands_start_are_reached_by_this_and_later_commands(
    held: Held, workspace: Path
) -> None:
    (workspace / "serve.py").write_text(
        "import os, socket\ns = socket.create_server(('127.0.0.1', 0))\n"
        "open('ready', 'w').write(f'{os.getpid()} {s.getsockname()[1]}\\n')\n"
        "while True: s.accept()[0].sendall(b'mine')"
    )
    result = await held(
        command=f"mkfifo ready; ({BARE_PYTHON} serve.py > /dev/null 2>&1 &); cat ready"
    )
    process, port = map(int, result.output.split())
    try:
        code = "said(lambda: reach('localhost', int(given[0])))"
        result = await held(code, port)
        assert result.output.strip() == "mine"
        assert result.refused == ()
    finally:
        os.kill(process, signal.SIGKILL)


@pytest.mark.requirement("sandbox:hosts-servers")
async def test_a_server_of_a_command_hears_this_machine_alone(held: Held) -> None:
    code = """
s = socket.create_server(("0.0.0.0", 0))
print(s.getsockopt(1, 25, 16))
try: s.setsockopt(1, 25, b"\\0")
except OSError as error: print(type(error).__name__)
with socket.create_connection(("127.0.0.1", s.getsockname()[1]), 20): print(s.accept()[1][0])
"""
    result = await held(code)
    assert result.output.splitlines() == ["b'lo\\x00'", "PermissionError", "127.0.0.1"]


@pytest.mark.requirement("sandbox:hosts-servers")
def test_those_who_listen_are_known_and_nobody_else() -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server, socket.socket(family) as other:
            server.bind((host, 0))
            port = server.getsockname()[1]
            assert listening(port) == frozenset()
            server.listen()
            other.connect((host, port))
            assert listening(port) == {os.fstat(server.fileno()).st_ino}


class Service(Protocol):
    heard: list[bytes]


@pytest.mark.requirement("sandbox:hosts-ways")
async def test_a_resolver_behind_a_socket_file_is_asked_for_like_any_other(
    held: Held, service: Service, short_path: Path
) -> None:
    code = (
        "s = socket.socket(socket.AF_UNIX)\nsaid(lambda: s.connect(given[0]) or s.sendall(b'name'))"
    )
    person = Person(says=False)
    result = await held(code, short_path / "service", says=person)
    assert result.output.strip() == "PermissionError"
    assert person.hosts == paths(result) == [str(short_path / "service")]
    assert service.heard == []


@pytest.mark.requirement("sandbox:hosts")
@datagrams
async def test_a_supervisor_within_this_process_holds_to_hosts_as_well(
    run: Callable[..., Coroutine[None, None, CommandResult]],
    names: NameServer,
    server: Answerer,
    workspace: Path,
) -> None:
    names.names["good.test"] = "127.0.0.1"
    code = """
said(lambda: reach("good.test", int(given[0])))
said(lambda: reach("bad.test", 80))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20); s.sendto(question("good.test"), ("8.8.8.8", 53)); print(s.recv(999)[-1])
"""
    (workspace / "attempt.py").write_text(PRELUDE + code)
    listed = ("good.test",)
    hosts = HostTerms((listed,), listed, resolvers=(names.address,))
    box = Sandbox(SandboxPlan(network="hosts", hosts=hosts), live="thread")
    result = await run(f"{BARE_PYTHON} -I attempt.py {server.port}", box=box)
    assert result.output.split() == ["hello", "gaierror", "1"]
    assert paths(result) == ["bad.test"]
    box.close()
