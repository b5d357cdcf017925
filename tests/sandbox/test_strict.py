"""Strict mode under bubblewrap, and the profile for macOS."""

import os
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement import sandbox
from sam_tui.adapters.terminal.confinement.run import Wanted
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox import strict
from sam_tui.adapters.terminal.sandbox.kernel.landlock import Bounds
from sam_tui.adapters.terminal.sandbox.seatbelt import profile, seatbelt_command
from sam_tui.core.ports.processes.sandbox import HostTerms, SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandResult, Confinement

Run = Callable[..., Coroutine[None, None, CommandResult]]

installed = pytest.mark.confined("bubblewrap")


@pytest.fixture
def box(outside: Path) -> Iterator[Sandbox]:
    made = Sandbox(SandboxPlan("strict", (str(outside / "victim"), str(outside / "folder"))))
    yield made
    made.close()


@installed
@pytest.mark.requirement("sandbox:strict")
async def test_strict_commands_work_inside_and_change_nothing_outside(
    run: Run, box: Sandbox, outside: Path, workspace: Path
) -> None:
    assert box.confinement.kind == "bubblewrap"
    result = await run("echo x > f && chmod 600 f && cat f && mktemp > /dev/null", box=box)
    assert (result.exit_code, result.output) == (0, "x\n")
    assert (workspace / "f").stat().st_mode & 0o777 == 0o600
    await run(
        f"echo x > {outside}/new; rm -rf {outside}; chmod 1 /etc/hostname; touch /etc", box=box
    )
    assert sorted(os.listdir(outside)) == ["folder", "link", "script", "victim"]
    assert (outside / "victim").read_text() == "precious\n"


@installed
@pytest.mark.requirement("sandbox:strict")
async def test_strict_commands_see_no_secrets_no_processes_and_no_network(
    run: Run, box: Sandbox, outside: Path
) -> None:
    said = (await run(f"cat {outside}/victim {outside}/folder/inner", box=box)).output
    assert "precious" not in said
    assert "inner\n" not in said
    assert int((await run("ls -d /proc/[0-9]* | wc -l", box=box)).output) < 10
    assert (await run(f"kill -0 {os.getpid()}", box=box)).exit_code != 0
    links = (
        await run(
            "ls /sys/class/net /proc/self/ns > /dev/null; cat /proc/net/dev", box=box, network="off"
        )
    ).output
    assert [line.split(":")[0].strip() for line in links.splitlines()[2:]] == ["lo"]
    assert (await run("unshare -Ur true", box=box)).exit_code != 0


@installed
@pytest.mark.requirement("sandbox:strict")
async def test_strict_commands_reach_no_socket_that_others_bound_outside_temporary_folders(
    run: Run, box: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict, "_EMPTIED", ("/run",))  # the test's own folder is a temporary one
    outside = workspace.parent / "o.sock"
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as own:
        server.bind(str(outside))
        server.listen()
        own.bind(str(workspace / "i.sock"))
        own.listen()
        for path, wanted in ((outside, "ConnectionRefusedError"), (workspace / "i.sock", "")):
            result = await run(f"{sys.executable} -ISc '{connect}' {path}", box=box)
            assert wanted in result.output, result.output
            assert (result.exit_code == 0) is not wanted


@installed
@pytest.mark.requirement("sandbox:strict")
async def test_strict_commands_keep_their_exit_code_and_their_deadline(
    run: Run, box: Sandbox
) -> None:
    assert (await run("exit 3", box=box)).exit_code == 3
    result = await run("sleep 60", box=box, limit=0.5)
    assert result.timed_out


@pytest.mark.requirement("sandbox:refused-guessed")
async def test_without_a_supervisor_refusals_are_read_from_what_was_printed(
    run: Run, outside: Path
) -> None:
    box = Sandbox(live=False)
    if box.confinement.kind != "landlock":
        pytest.skip("no Landlock")
    try:
        result = await run(
            f"echo x > {outside}/new; rm {outside}/victim; mv {outside}/victim {outside}/b;"
            f' python3 -c \'open("{outside}/c", "w")\'; touch {outside}/d; false',
            box=box,
        )
    finally:
        box.close()
    o = str(outside)
    assert [(a.kind, a.path, a.to) for a in result.refused] == [
        ("write", f"{o}/new", ""),
        ("delete", f"{o}/victim", ""),
        ("rename", f"{o}/victim", f"{o}/b"),
        ("write", f"{o}/c", ""),
        ("metadata", f"{o}/d", ""),
    ]
    assert {a.process for a in result.refused} == {""}


@pytest.mark.requirement("sandbox:seatbelt")
def test_a_profile_for_macos_names_folders_secrets_and_the_network(tmp_path: Path) -> None:
    secret = tmp_path.resolve() / ".ssh"
    text = profile(Bounds(('/work "a"\\b',), secrets=(str(secret),)), "off")
    lines = text.splitlines()
    assert lines[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    assert r'(allow file-write* (subpath "/work \"a\"\\b"))' in lines
    devices = [line for line in lines if line.startswith("(allow file-write-data file-ioctl")]
    assert '(allow file-write-data file-ioctl (literal "/dev/null"))' in devices
    assert len(devices) == 5
    assert "(deny network* (remote ip))" in lines
    assert lines[-1] == f'(deny file-read* file-write* (subpath "{secret}"))'
    assert text.count("(") == text.count(")") + 0
    assert "(deny network* (remote ip))" not in profile(Bounds(("/w",)), "on")
    assert seatbelt_command(Bounds(("/w",)), "on")[:2] == ("/usr/bin/sandbox-exec", "-p")


@pytest.mark.requirement("sandbox:seatbelt")
def test_a_profile_for_macos_reaches_of_a_list_of_hosts_the_servers_of_this_machine() -> None:
    lists = (("localhost:8080", "127.0.0.1:9", "a.test:443"), ("localhost", "a.test"))
    text = profile(Bounds(("/w",)), "hosts", HostTerms(lists))
    network = [
        line for line in text.splitlines() if "network" in line and "unix-socket" not in line
    ]
    assert network == [
        "(deny network* (remote ip))",
        "(deny network-bind (local ip))",
        '(allow network-bind network-inbound (local ip "localhost:*"))',
        '(allow network-outbound (remote ip "localhost:8080"))',
        '(allow network-outbound (remote ip "localhost:9"))',
    ]
    assert "localhost" not in profile(Bounds(("/w",)), "off", HostTerms(lists))
    assert profile(Bounds(("/w",)), "hosts") == profile(Bounds(("/w",)), "hosts", HostTerms(()))


@pytest.mark.requirement("sandbox:seatbelt")
def test_a_path_that_no_profile_can_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no profile"):
        profile(Bounds(("/a\n(allow default)",)), "on")


@pytest.mark.requirement("sandbox:seatbelt")
def test_on_macos_terminals_begin_with_the_same_profile(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    def described(_: object, *, strict: bool) -> Confinement:
        return Confinement("seatbelt", f"sandbox-exec on Darwin, strict {strict}")

    monkeypatch.setattr(sandbox, "describe", described)
    box = Sandbox(live=False)
    try:
        words = box.prefix((str(workspace),), "off")
        assert box.ruleset(Wanted((str(workspace),))) is None
        assert words[:2] == ("/usr/bin/sandbox-exec", "-p")
        for line in (f'(subpath "{workspace}")', f'(subpath "{box.scratch}")', "(deny network*"):
            assert line in words[2]
    finally:
        box.close()
    assert Sandbox(SandboxPlan("off")).prefix((str(workspace),)) == ()
