"""The network by a list of hosts: real commands, a real name server and servers on loopback."""

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement import Sandbox
from sam_tui.adapters.terminal.sandbox.island import Islands
from sam_tui.core.ports.sandbox import HostTerms, OutsideAccess
from sam_tui.core.ports.terminals import CommandResult
from tests.fakes.name_server import NameServer

pytestmark = pytest.mark.skipif(
    Sandbox().confinement.kind != "live", reason="the kernel offers no supervised sandbox"
)


def _islands() -> bool:
    islands = Islands()
    try:
        for made in islands.make(1):
            made.close()
    except OSError:
        return False
    finally:
        islands.close()
    return True


datagrams = pytest.mark.skipif(not _islands(), reason="no networks of one's own here")

PRELUDE = """
import ctypes, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def reach(host, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(20)
        s.connect((host, port))
        return s.recv(9).decode()
def said(what):
    try:
        print(what())
    except OSError as error:
        print(type(error).__name__)
def question(name, kind=1):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">6H", 7, 256, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">HH", kind, 1)
given = sys.argv[1:]
"""


class Answerer:
    """A server of the person's on loopback that says hello to whoever connects."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.accepted = 0
        self._server = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client:
                self.accepted += 1
                client.sendall(b"hello")
                client.shutdown(socket.SHUT_WR)
                while client.recv(999):
                    pass  # what was sent must have been read, or the end is a reset

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.close()


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, *, says: bool) -> None:
        self.asked: list[OutsideAccess] = []
        self._says = says

    async def __call__(self, access: OutsideAccess) -> bool:
        self.asked.append(access)
        return self._says

    @property
    def hosts(self) -> list[str]:
        return [access.path for access in self.asked]


@pytest.fixture
def server() -> Iterator[Answerer]:
    made = Answerer()
    yield made
    made.close()


@pytest.fixture
def names() -> Iterator[NameServer]:
    with NameServer() as made:
        yield made


Held = Callable[..., Coroutine[None, None, CommandResult]]


@pytest.fixture
async def held(
    run: Callable[..., Coroutine[None, None, CommandResult]], workspace: Path, names: NameServer
) -> AsyncIterator[Held]:
    """Run Python, or a command, whose network is held to hosts."""
    boxes: list[Sandbox] = []

    async def running(
        code: str = "",
        *arguments: object,
        hosts: tuple[str, ...] = (),
        local: tuple[str, ...] = (),
        command: str = "",
        says: Person | None = None,
    ) -> CommandResult:
        if not boxes:
            boxes.append(Sandbox())
            terms = HostTerms((hosts,), local, resolvers=(names.address,))
            boxes[0].hold_network("hosts", terms)
        (workspace / "attempt.py").write_text(PRELUDE + code)
        words = " ".join(f"'{argument}'" for argument in arguments)
        line = command or f"{sys.executable} -I attempt.py {words}"
        return await run(line, ask=says, box=boxes[0])

    yield running
    for box in boxes:
        box.close()


def paths(result: CommandResult) -> list[str]:
    return [access.path for access in result.refused]


@pytest.mark.requirement("sandbox:hosts")
async def test_a_listed_name_is_reached_and_another_is_refused_by_name_and_process(
    held: Held, names: NameServer, server: Answerer
) -> None:
    names.names.update({"good.test": "127.0.0.1", "bad.test": "127.0.0.1"})
    code = "said(lambda: reach('good.test', int(given[0])))\nsaid(lambda: reach('bad.test', 80))"
    listed = f"good.test:{server.port}"
    result = await held(code, server.port, hosts=(listed,), local=(listed,))
    assert result.output.splitlines() == ["hello", "gaierror"]
    assert paths(result) == ["bad.test"]
    assert result.refused[0].process.startswith("python")
    assert result.refused[0].pid > 0
    assert set(names.heard + names.by_stream) == {"good.test"}


@pytest.mark.requirement("sandbox:hosts")
async def test_a_name_that_is_not_listed_waits_for_a_yes_at_the_connection(
    held: Held, names: NameServer, server: Answerer
) -> None:
    names.names["other.test"] = "127.0.0.1"
    code = "said(lambda: reach('other.test', int(given[0])))\n" * 2
    local = ("other.test",)
    person = Person(says=True)
    result = await held(code, server.port, local=local, says=person)
    assert result.output.split() == ["hello", "hello"]
    assert person.hosts == [f"other.test:{server.port}"]
    assert person.asked[0].process.startswith("python")
    refusing = Person(says=False)
    result = await held(code, server.port, says=refusing)
    assert result.output.split() == ["PermissionError"] * 2
    assert paths(result) == refusing.hosts == [f"other.test:{server.port}"]


@pytest.mark.requirement("sandbox:hosts")
async def test_no_name_leaves_the_machine_before_a_yes(held: Held, names: NameServer) -> None:
    code = "for kind in ('secret.attacker.test', 'x.test'): said(lambda: reach(kind, 80))"
    await held(code, says=Person(says=False))
    await held(code)
    assert names.heard == names.by_stream == []


@pytest.mark.requirement("sandbox:hosts")
@pytest.mark.parametrize("spelling", ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0.0.0.0"])
async def test_an_address_is_asked_for_in_every_spelling(
    held: Held, server: Answerer, spelling: str
) -> None:
    code = "said(lambda: reach(given[0], int(given[1])))"
    result = await held(code, spelling, server.port)
    assert result.output.strip() == "PermissionError"
    canonical = "0.0.0.0" if spelling == "0.0.0.0" else "127.0.0.1"
    assert paths(result) == [f"{canonical}:{server.port}"]
    assert server.accepted == 0


@pytest.mark.requirement("sandbox:hosts")
async def test_addresses_in_ipv6_clothes_are_the_same_ones(held: Held, server: Answerer) -> None:
    code = "said(lambda: reach(given[0], int(given[1]), socket.AF_INET6))"
    result = await held(code, "::ffff:127.0.0.1", server.port)
    assert paths(result) == [f"127.0.0.1:{server.port}"]
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        result = await held(code, "::1", unheard.getsockname()[1], says=Person(says=False))
    assert result.output.strip() == "ConnectionRefusedError"
    result = await held(code, "2001:db8::1", 80)
    assert paths(result) == ["[2001:db8::1]:80"]


@pytest.mark.requirement("sandbox:hosts")
async def test_a_listed_address_is_reached_on_its_port_alone(held: Held, server: Answerer) -> None:
    other = Answerer()
    try:
        code = "for port in map(int, given): said(lambda: reach('127.0.0.1', port))"
        hosts = (f"127.0.0.1:{server.port}",)
        result = await held(code, server.port, other.port, hosts=hosts)
        assert result.output.split() == ["hello", "PermissionError"]
        assert other.accepted == 0
    finally:
        other.close()


@pytest.mark.requirement("sandbox:hosts-rebinding")
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "100.64.0.1", "::1", "fd00::1"]
)
async def test_a_listed_name_with_an_address_of_here_is_refused(
    held: Held, names: NameServer, server: Answerer, address: str
) -> None:
    names.names["good.test"] = address
    family = "socket.AF_INET6" if ":" in address else "socket.AF_INET"
    code = f"said(lambda: reach('good.test', int(given[0]), {family}))"
    result = await held(code, server.port, hosts=("good.test",))
    assert result.output.strip() == "gaierror"
    assert paths(result) == [f"good.test at {address}"]
    assert server.accepted == 0


@pytest.mark.requirement("sandbox:hosts-rebinding")
async def test_a_name_that_changes_after_a_yes_leads_nowhere(
    held: Held, names: NameServer, server: Answerer
) -> None:
    names.names["other.test"] = "127.0.0.1"
    person = Person(says=True)
    code = "said(lambda: reach('other.test', int(given[0])))"
    result = await held(code, server.port, says=person)
    assert person.hosts == [f"other.test:{server.port}"]
    assert result.output.strip() == "PermissionError"
    assert paths(result) == ["other.test at 127.0.0.1"]
    assert server.accepted == 0


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


@pytest.mark.requirement("sandbox:hosts-doors")
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


@pytest.mark.requirement("sandbox:hosts-doors")
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
        command=f"mkfifo ready; ({sys.executable} serve.py > /dev/null 2>&1 &); cat ready"
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


@pytest.mark.requirement("sandbox:hosts")
@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
async def test_curl_and_getent_are_held_as_well(
    held: Held, names: NameServer, server: Answerer
) -> None:
    names.names["good.test"] = "127.0.0.1"
    line = f"curl -sS --http0.9 -m 20 http://good.test:{server.port}; echo; getent hosts bad.test"
    listed = ("good.test",)
    result = await held(command=line, hosts=listed, local=listed)
    assert result.output.splitlines() == ["hello"]
    assert [(access.path, access.process) for access in result.refused] == [("bad.test", "getent")]


@pytest.mark.requirement("sandbox:hosts")
async def test_a_list_below_a_list_tightens_it_and_what_a_rule_names_is_asked(
    run: Callable[..., Coroutine[None, None, CommandResult]], server: Answerer, workspace: Path
) -> None:
    (workspace / "attempt.py").write_text(
        PRELUDE + "for port in map(int, given): said(lambda: reach('127.0.0.1', port))"
    )
    line = f"{sys.executable} -I attempt.py {server.port}"
    one, any_port, other = f"127.0.0.1:{server.port}", "127.0.0.1", "127.0.0.2"
    for lists, judged, said in (
        (((any_port,), (one,)), (), "hello"),
        (((any_port,), (other,)), (), "PermissionError"),
        (((one,),), (any_port,), "PermissionError"),
    ):
        box = Sandbox()
        box.hold_network("hosts", HostTerms(lists, judged=judged))
        assert (await run(line, box=box)).output.strip() == said
        box.close()


@pytest.mark.requirement("sandbox:hosts")
async def test_where_nobody_watches_a_list_lets_nothing_through(
    run: Callable[..., Coroutine[None, None, CommandResult]], server: Answerer, workspace: Path
) -> None:
    (workspace / "attempt.py").write_text(
        PRELUDE + "said(lambda: reach('127.0.0.1', int(given[0])))"
    )
    box = Sandbox(live=False)
    box.hold_network("hosts", HostTerms((("127.0.0.1",),)))
    result = await run(f"{sys.executable} -I attempt.py {server.port}", box=box)
    assert result.output.strip() == "PermissionError"
    assert server.accepted == 0
    box.close()
