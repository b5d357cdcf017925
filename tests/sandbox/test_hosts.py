"""The network by a list of hosts: real commands, a real name server and servers on loopback."""

import shutil
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import HostTerms, SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.name_server import NameServer
from tests.sandbox.hosts_kit import PRELUDE, Answerer, Held, Person, paths

pytestmark = pytest.mark.confined("live")


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
@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("GOOD.Test", 1),
        ("good.test.", 1),
        ("_good.test", 0),
        ("a.good.test", 0),
        ("good.test.test", 0),
    ],
)
async def test_a_listed_name_is_itself_in_any_case_and_no_other(
    held: Held, names: NameServer, server: Answerer, name: str, reached: int
) -> None:
    names.names.update(dict.fromkeys((name.lower().rstrip("."), "good.test"), "127.0.0.1"))
    code = "said(lambda: reach(given[0], int(given[1])))"
    result = await held(code, name, server.port, hosts=("good.test",), local=("good.test",))
    assert result.output.count("hello") == server.accepted == reached
    assert set(names.heard + names.by_stream) <= {"good.test"}
    assert paths(result) == ([] if reached else [name])


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


@pytest.mark.requirement("sandbox:hosts-rebinding")
async def test_a_listed_name_that_turns_to_this_machine_is_refused_from_then_on(
    held: Held, names: NameServer, server: Answerer
) -> None:
    answers = iter(["1.2.3.4"])
    names.names["good.test"] = lambda: next(answers, "127.0.0.1")
    code = """
look = lambda: socket.getaddrinfo("good.test", 80, socket.AF_INET)[0][4][0]
for _ in range(3): said(look)
said(lambda: reach("127.0.0.1", int(given[0])))
"""
    result = await held(code, server.port, hosts=("good.test",))
    assert set(result.output.split()) <= {"1.2.3.4", "gaierror", "PermissionError"}
    assert result.output.split()[-1] == "PermissionError"
    assert server.accepted == 0


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
    line = f"{BARE_PYTHON} -I attempt.py {server.port}"
    one, any_port, other = f"127.0.0.1:{server.port}", "127.0.0.1", "127.0.0.2"
    for lists, judged, said in (
        (((any_port,), (one,)), (), "hello"),
        (((any_port,), (other,)), (), "PermissionError"),
        (((one,),), (any_port,), "PermissionError"),
    ):
        box = Sandbox(SandboxPlan(network="hosts", hosts=HostTerms(lists, judged=judged)))
        assert (await run(line, box=box)).output.strip() == said
        box.close()


@pytest.mark.requirement("sandbox:hosts")
async def test_where_nobody_watches_a_list_lets_nothing_through(
    run: Callable[..., Coroutine[None, None, CommandResult]], server: Answerer, workspace: Path
) -> None:
    (workspace / "attempt.py").write_text(
        PRELUDE + "said(lambda: reach('127.0.0.1', int(given[0])))"
    )
    plan = SandboxPlan(network="hosts", hosts=HostTerms((("127.0.0.1",),)))
    box = Sandbox(plan, live=False)
    result = await run(f"{BARE_PYTHON} -I attempt.py {server.port}", box=box)
    assert result.output.strip() == "PermissionError"
    assert server.accepted == 0
    box.close()
