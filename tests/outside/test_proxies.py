"""A list of hosts and proxies: what is reached through one is what the proxy itself may reach."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.processes.sandbox import HostTerms, Network
from tests.fakes.interpreter import INTERPRETER
from tests.fakes.name_server import NameServer
from tests.sandbox.hosts_kit import LIVE, Answerer

Desk = Any
"""See conftest."""

pytestmark = [
    pytest.mark.skipif(not LIVE, reason="the kernel offers no supervised sandbox"),
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
FETCH = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read())
except OSError as error:
    print(error)
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
    hold = Sandbox.hold_network

    def hold_network(box: Sandbox, network: Network, hosts: HostTerms) -> None:
        hold(box, network, replace(hosts, resolvers=(made.address,)))

    with NameServer() as made:
        monkeypatch.setattr(Sandbox, "hold_network", hold_network)
        yield made


def python(code: str, *words: object) -> str:
    """A command line that runs some Python."""
    return f"{INTERPRETER} -Ic '{code}' {' '.join(map(str, words))}"


@pytest.mark.requirement("outside:hosts")
@pytest.mark.parametrize("how", ["address", "name"])
async def test_a_relay_that_a_command_runs_reaches_no_more_than_the_command(
    desk: Desk, service: Answerer, names: NameServer, how: str
) -> None:
    host = "127.0.0.1" if how == "address" else "shop.asked.test"
    names.names["shop.asked.test"] = "127.0.0.1"
    desk.open()
    relay = python(RELAY, host, service.port)
    made = await desk.call("terminal_operations.run_command", command=relay, isBackground=True)
    running = json.loads(made.finished.text)["terminalId"]
    port, start = "", 0
    while not port:
        read = await desk.call(
            "terminal_operations.get_terminal_output", id=running, wait=0.1, from_index=start
        )
        port = (re.findall(r"port:(\d+)\.", read.finished.text) or [""])[0]
    through = python(CLIENT, "127.0.0.1", port)
    # Its own server is free; where that leads is asked for by the host that the relay names.
    assert (await desk.run(through)).finished.text == "nothing"
    assert [asked.targets for asked in desk.asked] == [(f"connect to {host}:{service.port}",)]
    assert service.accepted == 0
    assert names.heard == names.by_stream == []


@pytest.mark.requirement("outside:hosts")
async def test_a_proxy_of_the_environment_is_asked_for_though_the_host_behind_it_is_listed(
    desk: Desk, service: Answerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{service.port}")
    desk.write_policy('hosts = ["good.asked.test"]\n')
    desk.open()
    refused = await desk.run(python(FETCH, "http://good.asked.test/"))
    assert desk.asked[0].targets == (f"connect to 127.0.0.1:{service.port}",)
    assert "Permission denied" in refused.finished.text
    assert service.accepted == 0


@pytest.mark.requirement("outside:hosts")
async def test_a_new_public_name_is_one_question_and_is_looked_up_after_a_yes_alone(
    desk: Desk, names: NameServer
) -> None:
    names.names["shop.asked.test"] = "192.0.2.7"
    names.names["beside.asked.test"] = "192.0.2.7"
    desk.open()
    line = python(CLIENT, "shop.asked.test", 443)
    assert "Permission denied" in (await desk.run(line)).finished.text
    assert names.heard == names.by_stream == []
    desk.answers = [Approval("scope", scope="session")]
    for _ in range(2):
        await desk.run(line)
    assert len(desk.asked) == 2
    assert set(names.heard + names.by_stream) == {"shop.asked.test"}
    # A name beside it, also at the same address, is another question.
    await desk.run(python(CLIENT, "beside.asked.test", 443))
    assert desk.asked[2].targets == ("connect to beside.asked.test:443",)
    assert set(names.heard + names.by_stream) == {"shop.asked.test"}
