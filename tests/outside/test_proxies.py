"""A list of hosts and proxies: what is reached through one is what the proxy itself may reach."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy import sandbox_settings
from sam_tui.adapters.policy.tool_settings import proxies_of
from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.processes.sandbox import HostTerms
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.name_server import NameServer
from tests.fakes.proxy import Proxy
from tests.sandbox.hosts_kit import Answerer

Harness = Any
"""See conftest."""

pytestmark = [
    pytest.mark.confined("live"),
    pytest.mark.usefixtures("no_package_tools"),
]
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as s:
    print(s.recv(9).decode() or "nothing")
"""
RELAY = """
import socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    print("port:%d." % server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()
        with client:
            try:
                with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as there:
                    client.sendall(there.recv(9))
            except OSError as error:
                print(type(error).__name__, flush=True)
"""


@pytest.fixture
def service() -> Iterator[Answerer]:
    """A server of the person's that no command started."""
    made = Answerer()
    yield made
    made.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    """The name server that is asked for what may be looked up."""
    terms = sandbox_settings.host_terms

    def host_terms(*words: Any) -> HostTerms:
        return replace(terms(*words), resolvers=(made.address,))

    with NameServer() as made:
        monkeypatch.setattr(sandbox_settings, "host_terms", host_terms)
        yield made


def python(code: str, *words: object) -> str:
    """A command line that runs some Python."""
    return f"{BARE_PYTHON} -Ic '{code}' {' '.join(map(str, words))}"


@pytest.mark.requirement("outside:hosts")
@pytest.mark.parametrize("how", ["address", "name"])
async def test_a_relay_that_a_command_runs_reaches_no_more_than_the_command(
    harness: Harness, service: Answerer, names: NameServer, how: str
) -> None:
    host = "127.0.0.1" if how == "address" else "shop.asked.test"
    names.names["shop.asked.test"] = "127.0.0.1"
    harness.open()
    relay = python(RELAY, host, service.port)
    made = await harness.call("terminal_operations.run_command", command=relay, isBackground=True)
    running = json.loads(made.finished.text)["terminalId"]
    port, start = "", 0
    while not port:
        read = await harness.call(
            "terminal_operations.get_terminal_output", id=running, wait=0.1, from_index=start
        )
        port = (re.findall(r"port:(\d+)\.", read.finished.text) or [""])[0]
    through = python(CLIENT, "127.0.0.1", port)
    # Its own server is free; where that leads is asked for by the host that the relay names.
    assert (await harness.run(through)).finished.text == "nothing"
    assert [asked.targets for asked in harness.asked] == [(f"connect to {host}:{service.port}",)]
    assert service.accepted == 0
    assert names.heard == names.by_stream == []


ASKING = """
import socket, sys
for request in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as s:
        steps = [bytes.fromhex(step) for step in request.split(",")]
        got = b""
        for step in steps:
            s.sendall(step)
            got += s.recv(999)
        try:
            while piece := s.recv(999):
                got += piece
        except OSError:
            pass
    print(got[:12].hex() + (" hello" if got.endswith(b"hello") else ""))
"""
HELLO, NO, ODD = " hello", b"HTTP/1.1 403".hex(), b"HTTP/1.1 400".hex()
OTHER = "GET http://other.asked.test/ HTTP/1.1\r\n\r\n"


def http(line: str, *headers: str, more: str = "") -> str:
    return "\r\n".join((line + " HTTP/1.1", *headers, "", more)).encode().hex()


def socks5(host: str, port: int, *, key: bool = False) -> str:
    steps = [b"\5\1\2", b"\1\2me\4pass"] if key else [b"\5\1\0"]
    target = b"\3" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big")
    return ",".join(step.hex() for step in (*steps, b"\5\1\0" + target))


def socks4(host: str, port: int) -> str:
    return (b"\4\1" + port.to_bytes(2, "big") + b"\0\0\0\1me\0" + host.encode() + b"\0").hex()


THROUGH: tuple[tuple[str, str, str, list[str]], ...] = (
    # What is asked of the proxy, the question that it raises, the answer, what reaches the proxy.
    (http("CONNECT good.asked.test:443"), "", HELLO, ["CONNECT good.asked.test:443 HTTP/1.1"]),
    (http("CONNECT a.asked.test:443", more=OTHER), "a.asked.test:443", HELLO,
     ["CONNECT a.asked.test:443 HTTP/1.1"]),
    (http("CONNECT no.asked.test:443"), "no.asked.test:443", NO, []),
    (http("GET http://B.asked.test/x?y", "Host: other.asked.test", more=OTHER), "b.asked.test:80",
     HELLO, ["GET http://b.asked.test/x?y HTTP/1.1"]),
    (http("GET http://no.asked.test/x"), "no.asked.test:80", NO, []),
    (socks5("c.asked.test", 22), "c.asked.test:22", HELLO, ["socks5 c.asked.test:22"]),
    (socks5("d.asked.test", 22, key=True), "d.asked.test:22", HELLO,
     ["key me pass", "socks5 d.asked.test:22"]),
    (socks5("no.asked.test", 22), "no.asked.test:22", "05000502", []),
    (socks4("e.asked.test", 22), "e.asked.test:22", HELLO, ["socks4 e.asked.test:22"]),
    (socks4("no.asked.test", 23), "no.asked.test:23", "005b", []),
    (http("GET /x", "Host: other.asked.test"), "", ODD, []),
    (http("CONNECT good.asked.test:443\nX: y"), "", ODD, []),
    (http("CONNECT good.asked.test@other.asked.test:443"), "", ODD, []),
    (http("CONNECT other.asked.test\0good.asked.test:443"), "", ODD, []),
    (http("GET http://good.asked.test/", "Transfer-Encoding: chunked"), "", ODD, []),
    (http("GET http://good.asked.test/", "Content-Length: 1", "Content-Length: 99"), "", ODD, []),
    (http("GET http://good.asked.test\\@other.asked.test/"), "", ODD, []),
    (b"\5\1\0".hex() + "," + b"\5\3\0\1\x7f\0\0\1\0\x35".hex(), "", "05000507", []),
)  # fmt: skip


@pytest.mark.requirement("outside:proxies")
async def test_what_a_proxy_of_the_environment_is_asked_for_is_asked_for_by_host(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy()
    try:
        monkeypatch.setenv("ALL_PROXY", f"socks5h://user:key@localhost:{proxy.port}")
        harness.write_policy('hosts = ["good.asked.test"]\n')
        harness.open()
        questions = [f"connect to {question}" for _, question, *_ in THROUGH if question]
        harness.answers = [
            Approval("deny" if "to no." in question else "once") for question in questions
        ]
        done = await harness.run(python(ASKING, proxy.port, *(request for request, *_ in THROUGH)))
        lines = done.finished.text.splitlines()[: len(THROUGH)]
        assert [asked.targets for asked in harness.asked] == [(question,) for question in questions]
        for line, (request, _, answer, _) in zip(lines, THROUGH, strict=True):
            assert answer in line, bytes.fromhex(request.rpartition(",")[2])
        assert proxy.requests == [line for *_, reached in THROUGH for line in reached]
        # A proxy that refuses, and would hear another request, hears none.
        assert "connect no.asked.test:443 (python" in done.finished.text
        proxy.status = 407
        refused = http("CONNECT good.asked.test:1", more=OTHER)
        await harness.run(python(ASKING, proxy.port, refused + "," + OTHER.encode().hex()))
        assert proxy.requests[-1] == "CONNECT good.asked.test:1 HTTP/1.1"
    finally:
        proxy.close()


SETTINGS = {
    ".gitconfig": "[user]\n\tname = proxy\n[http]\n\tproxy = {}\n",
    ".config/git/config": '[http "https://one.test"] proxy = "{}"\n',
    ".npmrc": "noproxy=localhost\nhttps-proxy={}\n//x/:_authToken=proxy\n",
    ".config/pip/pip.conf": "[global]\nproxy = {}\nextra = https://other.test/x\n",
    ".curlrc": '# proxy = "http://other.test:1"\n--proxy {}\n',
    ".yarnrc.yml": 'httpsProxy: "{}"\n',
    ".cargo/config.toml": '[http]\nproxy = "{}" # ours\n',
}
"""How programs are told of a proxy in settings of their own."""


@pytest.mark.requirement("outside:proxies")
def test_a_proxy_is_known_from_the_settings_of_each_program_and_from_none_of_the_project(
    tmp_path: Path,
) -> None:
    home, project = tmp_path / "home", tmp_path / "home/project"
    for number, (name, text) in enumerate(SETTINGS.items(), 1):
        for folder, port in ((home, number), (project, number + 100)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text.format(f"http://me:key@localhost:{port}"))
    (home / ".wgetrc").symlink_to(project / ".curlrc")
    os.mkfifo(home / ".yarnrc")
    expected = tuple(("localhost", number) for number in range(1, len(SETTINGS) + 1))
    environ = {"no_proxy": "b.test:2"}
    assert set(proxies_of(environ, str(home), changeable=[str(project)])) == set(expected)
    assert proxies_of(environ, str(home), changeable=[str(home)]) == ()
    assert proxies_of({"Http_Proxy": "b.test"}, "/nowhere", changeable=()) == (
        ("b.test", 80), ("b.test", 1080),
    )  # fmt: skip


@pytest.mark.requirement("outside:proxies")
async def test_what_a_proxy_of_a_programs_own_settings_is_asked_for_is_asked_for_by_host(
    harness: Harness,
) -> None:
    proxy = Proxy()
    try:
        (harness.folder / "home/.gitconfig").write_text(f"[http]\nproxy = localhost:{proxy.port}\n")
        harness.open()
        harness.answers = [Approval("deny")]
        done = await harness.run(python(ASKING, proxy.port, http("CONNECT no.asked.test:443")))
        assert [asked.targets for asked in harness.asked] == [("connect to no.asked.test:443",)]
        assert NO in done.finished.text
        assert proxy.requests == []
    finally:
        proxy.close()


@pytest.mark.requirement("outside:hosts")
async def test_a_new_public_name_is_one_question_and_is_looked_up_after_a_yes_alone(
    harness: Harness, names: NameServer
) -> None:
    names.names["shop.asked.test"] = "192.0.2.7"
    names.names["beside.asked.test"] = "192.0.2.7"
    harness.open()
    line = python(CLIENT, "shop.asked.test", 443)
    assert "Permission denied" in (await harness.run(line)).finished.text
    assert names.heard == names.by_stream == []
    harness.answers = [Approval("scope", scope="session")]
    for _ in range(2):
        await harness.run(line)
    assert len(harness.asked) == 2
    assert set(names.heard + names.by_stream) == {"shop.asked.test"}
    # A name beside it, also at the same address, is another question.
    await harness.run(python(CLIENT, "beside.asked.test", 443))
    assert harness.asked[2].targets == ("connect to beside.asked.test:443",)
    assert set(names.heard + names.by_stream) == {"shop.asked.test"}
