"""The network by a list of hosts, from a policy file to the question and the words of the result."""

import asyncio
import os
import re
import shutil
import socket
from collections.abc import Iterator

import pytest

from sam_tui.core.inquiry import Approval
from tests.fakes.interpreter import BARE_PYTHON
from tests.outside.conftest import YES, Harness

pytestmark = pytest.mark.usefixtures("no_package_tools")
watched = pytest.mark.confined("live")
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2]))); print(1)"


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def other() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def line(host: str, port: int) -> str:
    return f"{BARE_PYTHON} -I -c '{CONNECT}' {host} {port}"


@watched
@pytest.mark.requirement("outside:hosts")
async def test_a_listed_host_is_reached_and_another_is_asked_for(
    harness: Harness, port: int, other: int
) -> None:
    harness.write_policy(f'network = "hosts"\nhosts = ["127.0.0.1:{port}"]\n')
    harness.open()
    assert (await harness.run(line("127.0.0.1", port))).finished.text == "1"
    assert harness.asked == []
    refused = await harness.run(line("127.0.0.1", other))
    assert f"connect 127.0.0.1:{other} (python" in refused.finished.text
    assert harness.asked[0].targets == (f"connect to 127.0.0.1:{other}",)
    assert harness.asked[0].operation == "commands.connect_outside"
    assert f"wants to connect to 127.0.0.1:{other}" in harness.asked[0].summary
    harness.answers = [Approval("scope", scope="session")]
    assert (await harness.run(line("127.0.0.1", other))).finished.text == "1"
    assert (await harness.run(line("127.0.0.1", other))).finished.text == "1"
    assert len(harness.asked) == 2


@watched
@pytest.mark.requirement("outside:hosts-default")
async def test_without_a_setting_hosts_are_asked_for_and_a_refusal_says_what_allows_it(
    harness: Harness, port: int
) -> None:
    harness.open()
    refused = await harness.run(line("127.0.0.1", port))
    assert harness.asked[0].targets == (f"connect to 127.0.0.1:{port}",)
    assert f'hosts = ["127.0.0.1:{port}"] in the policy.toml' in refused.finished.text
    assert "--network on" in refused.finished.text
    await harness.runtime.close()
    harness.open(network="on")
    assert (await harness.run(line("127.0.0.1", port))).finished.text == "1"
    await harness.runtime.close()
    harness.write_policy('network = "on"\n')
    harness.open()
    assert (await harness.run(line("127.0.0.1", port))).finished.text == "1"
    assert len(harness.asked) == 1


@watched
@pytest.mark.requirement("outside:hosts-default")
async def test_a_server_in_the_agents_terminal_is_reached_by_its_commands(
    harness: Harness, other: int
) -> None:
    harness.open()
    made = await harness.call("terminal_operations.create_session")
    session = made.data["session_id"]
    serve = (
        f'{BARE_PYTHON} -uIc \'import socket; s = socket.create_server(("127.0.0.1", 0));'
        ' print("port:%d." % s.getsockname()[1]); s.accept(); s.accept()\''
    )
    terminal = harness.runtime.terminals.find(session)
    assert terminal is not None
    typed = {"session_id": session, "input": f"{serve}\r\n", "timeout": 0.1}
    await harness.call("terminal_operations.send_input", **typed)
    async with asyncio.timeout(90):
        while not (found := re.search(r"port:(\d+)\.", terminal.output(0).text)):
            await terminal.activity.quiet(silence=0.05, within=1)
    assert (await harness.run(line("127.0.0.1", int(found[1])))).finished.text == "1"
    assert harness.asked == []
    await harness.run(line("127.0.0.1", other))
    assert len(harness.asked) == 1


@watched
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.requirement("outside:hosts-sources")
async def test_what_the_persons_tools_are_configured_to_use_is_one_scope(
    harness: Harness,
) -> None:
    (harness.folder / "bin/npm").write_text("#!/bin/sh\necho https://npm.asked.test/\n")
    (harness.folder / "ws/.git").mkdir()
    for name in ("objects", "refs"):
        (harness.folder / "ws/.git" / name).mkdir()
    (harness.folder / "ws/.git/HEAD").write_text("ref: refs/heads/main\n")
    (harness.folder / "ws/.git/config").write_text(
        '[remote "origin"]\n\turl = git@code.asked.test:me/x.git\n'
        '[remote "up"]\n\turl = https://up.asked.test/x\n'
    )
    cargo = harness.folder / "home/.cargo"
    cargo.mkdir()
    (cargo / "config.toml").write_text(
        '[source.a]\nregistry = "sparse+https://crates.asked.test/"\n'
    )
    harness.answers = [Approval("scope", scope="session-sources")]
    harness.open()
    await harness.run(line("up.asked.test", 443))
    choices = {choice.id: choice for choice in harness.asked[0].choices}
    hosts = ("up.asked.test", "code.asked.test", "npm.asked.test", "crates.asked.test")
    assert set(choices["session-sources"].targets) == set(hosts)
    assert (
        "the package sources and git remotes of this folder (" in choices["session-sources"].words
    )
    for host in hosts:
        await harness.run(line(host, 443))
    assert len(harness.asked) == 1
    await harness.run(line("other.asked.test", 443))
    assert [choice.id for choice in harness.asked[1].choices if "sources" in choice.id] == []


@watched
@pytest.mark.requirement("outside:hosts-sources")
@pytest.mark.parametrize("trusted", [True, False])
async def test_a_tool_on_the_search_path_is_held_like_a_command(
    harness: Harness, trusted: bool
) -> None:
    for name in (".npmrc", ".netrc"):
        (harness.folder / "home" / name).write_text(f"registry=https://{name[1:]}.asked.test/\n")
    if trusted:
        harness.write_policy("", project=True)
    harness.open()
    out, home = harness.outside, harness.folder / "home"
    files = f"{out}/made {home}/.profile {harness.folder}/ws/made"
    tool = f"#!/bin/sh\nfor f in {files}; do echo x > $f; done\n"
    tool += f"cat {home}/.netrc {home}/.npmrc\n"
    for name in ("npm", "pip"):
        (harness.folder / "bin" / name).write_text(tool)
    await harness.run(line("npmrc.asked.test", 443))
    offered = {choice.id: choice.targets for choice in harness.asked[0].choices}
    assert offered["session-sources"] == ("npmrc.asked.test",)
    assert sorted(path.name for path in out.iterdir()) == ["victim"]
    assert not (home / ".profile").exists()
    assert not (harness.folder / "ws/made").exists()


@watched
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.requirement("outside:hosts-sources")
async def test_no_source_is_one_that_the_agent_named(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, settings = harness.folder / "ws", harness.folder / "ws/own.conf"
    monkeypatch.setenv("PATH", f"{workspace}/.venv/bin:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{workspace}/lib")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    pip = f'#!/bin/sh\ncat "$PIP_CONFIG_FILE"; {BARE_PYTHON} -c 1\n'
    (harness.folder / "bin/pip").write_text(pip)
    (harness.folder / "home/.npmrc").write_text("registry=https://npmrc.asked.test/\n")
    (workspace / ".git/objects").mkdir(parents=True)
    (workspace / ".git/refs").mkdir()
    (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (workspace / ".git/config").write_text('[remote "o"]\n\turl = https://o.asked.test/x\n')
    harness.open()
    await harness.run(
        "mkdir -p .venv/bin lib; git remote add p https://a.evil.test/x"
        "; echo index-url https://b.evil.test/ > own.conf"
        "; echo 'print(\"index-url https://c.evil.test/\")' > lib/sitecustomize.py"
        "; echo 'echo https://d.evil.test/' > .venv/bin/npm; chmod +x .venv/bin/npm"
    )
    assert "a.evil.test" in (workspace / ".git/config").read_text()
    assert harness.asked == []
    await harness.run(line("o.asked.test", 443))
    offered = {choice.id: choice.targets for choice in harness.asked[0].choices}
    assert offered["session-sources"] == ("o.asked.test", "npmrc.asked.test")


@watched
@pytest.mark.requirement("outside:hosts")
async def test_a_name_is_asked_for_by_name_and_a_rule_of_the_person_decides(
    harness: Harness,
) -> None:
    harness.write_policy(
        '[[rule]]\neffect = "deny"\nhost = "*.never.test"\ncomment = "Not there."\n'
    )
    harness.open(network="hosts")
    result = await harness.run(line("a.asked.test", 443))
    assert harness.asked[0].targets == ("connect to a.asked.test:443",)
    assert [c.targets for c in harness.asked[0].choices[2:]] == [("a.asked.test",)] * 3 + [
        ("*.asked.test",)
    ] * 3
    assert "connect a.asked.test:443 (python" in result.finished.text
    result = await harness.run(line("a.never.test", 443))
    assert len(harness.asked) == 1
    assert "connect a.never.test:443 (python" in result.finished.text


@watched
@pytest.mark.requirement("outside:hosts")
async def test_a_projects_list_tightens_the_persons(
    harness: Harness, port: int, other: int
) -> None:
    harness.write_policy(f'network = "hosts"\nhosts = ["127.0.0.1:{port}", "127.0.0.1:{other}"]\n')
    harness.write_policy(f'network = "hosts"\nhosts = ["127.0.0.1:{port}"]\n', project=True)
    harness.open()
    assert (await harness.run(line("127.0.0.1", port))).finished.text == "1"
    assert not (await harness.run(line("127.0.0.1", other))).finished.ok


@watched
@pytest.mark.requirement("outside:hosts")
async def test_servers_of_the_persons_web_list_are_reached_by_commands_as_well(
    harness: Harness, port: int
) -> None:
    harness.write_policy(f'network = "hosts"\nlocal = ["localhost:{port}"]\n')
    harness.open()
    assert (await harness.run(line("localhost", port))).finished.text == "1"


@pytest.mark.confined("bubblewrap")
@pytest.mark.requirement("outside:hosts")
async def test_where_nothing_can_watch_the_network_is_asked_for_by_command(
    harness: Harness, port: int
) -> None:
    harness.write_policy(f'network = "hosts"\nhosts = ["127.0.0.1:{port}"]\n')
    harness.open(sandbox="strict")
    alone = f"there=/dev/tcp/127.0.0.1/{port}; exec 3<>$there && echo 1"
    known = "curl -sS -m 9 http://127.0.0.1:1/; "
    assert not (await harness.run(alone)).finished.ok
    assert harness.asked == []
    assert not (await harness.run(known + alone)).finished.ok
    assert harness.asked[0].why.startswith("the list of hosts cannot be enforced here")
    harness.answers = [YES]
    assert (await harness.run(known + alone)).finished.text.endswith("1")
    assert not (await harness.run(alone)).finished.ok
