"""What is approved while a command waits goes on; nothing runs twice; everything else is refused."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.clocks import pass_time
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.programs import needs
from tests.sandbox.hosts_kit import Person

Run = Callable[..., Coroutine[None, None, CommandResult]]

LIMIT = 90.0
pytestmark = pytest.mark.confined("live")


PYTHON = f"{BARE_PYTHON} -c"
MARK = f"""{PYTHON} 'import os, sys; os.setxattr(sys.argv[1], "user.a", b"b")'"""
UNMARK = f"""{PYTHON} 'import os, sys; os.removexattr(sys.argv[1], "user.a")'"""


@pytest.mark.requirement("sandbox:asked-live")
@pytest.mark.parametrize(
    ("command", "kinds", "expected"),
    [
        ("echo x > {o}/victim", ["write"], {"victim": "x\n"}),
        ("echo x >> {o}/victim", ["write"], {"victim": "precious\nx\n"}),
        ("echo x > {o}/new", ["write"], {"new": "x\n"}),
        ("cd {o} && echo x > victim", ["write"], {"victim": "x\n"}),
        ("ln -s {o}/victim l; echo x > l", ["write"], {"victim": "x\n"}),
        ("ln -s {o}/new l; echo x > l", ["write"], {"new": "x\n"}),
        ("echo x > /proc/self/root{o}/victim", ["write"], {"victim": "x\n"}),
        ('{py} -c \'open("{o}/victim", "a").write("x")\'', ["write"], {"victim": "precious\nx"}),
        ("(sleep 0.1; echo x > {o}/victim) & wait", ["write"], {"victim": "x\n"}),
        ("setsid -w sh -c 'echo x > {o}/victim'", ["write"], {"victim": "x\n"}),
        ("truncate -s 3 {o}/victim", ["write"], {"victim": "pre"}),
        ("{py} -c 'import os; os.truncate(\"{o}/victim\", 3)'", ["write"], {"victim": "pre"}),
        ("rm {o}/victim", ["delete"], {"victim": None}),
        ("mv {o}/victim {o}/other", ["rename"], {"victim": None, "other": "precious\n"}),
        ("mv {o}/victim here; cat here > /dev/null", ["rename"], {"victim": None}),
        ("echo x > f; mv f {o}/in", ["rename"], {"in": "x\n"}),
        ("mkdir {o}/made", ["write"], {"made": ""}),
        ("ln -s victim {o}/name", ["write"], {"name": "precious\n"}),
        ("echo x > f; ln f {o}/name", ["write"], {"name": "x\n"}),
        ("echo x > f; install -m 640 f {o}/put", ["write"], {"put": "x\n"}),
        ("tar c -C / etc/hostname | tar x -C {o} --transform s,.*,t,", ["write"], None),
    ],
)
async def test_an_approved_change_happens_once_and_the_command_goes_on(
    run: Run, outside: Path, workspace: Path, command: str, kinds: list[str], expected: object
) -> None:
    person = Person()
    told = command.format(o=outside, py=BARE_PYTHON)
    result = await run(f"echo ran >> count; {told} && echo went on", ask=person)
    assert result.output == "went on\n", result.output
    assert person.kinds == kinds
    assert (workspace / "count").read_text() == "ran\n"
    assert result.refused == ()
    if isinstance(expected, dict):
        for name, content in expected.items():  # pyright: ignore[reportUnknownVariableType]
            path = outside / str(name)  # pyright: ignore[reportUnknownArgumentType]
            assert path.exists() == (content is not None)
            assert not content or path.read_text() == content


@pytest.mark.requirement("sandbox:asked-live")
async def test_the_question_says_what_which_path_who_and_how(run: Run, outside: Path) -> None:
    person = Person()
    await run(f"bash -c 'echo $$ > pid; exec cp /etc/hostname {outside}/new'", ask=person)
    access = person.asked[0]
    assert (access.kind, access.path, access.process) == ("write", f"{outside}/new", "cp")
    assert access.syscall == "openat"
    assert access.pid > 0


@pytest.mark.requirement("sandbox:metadata-outside")
async def test_an_approved_change_of_metadata_is_the_one_that_was_asked_for(
    run: Run, outside: Path
) -> None:
    victim = outside / "victim"
    person = Person()
    result = await run(
        f"chmod 640 {victim} && touch -d @1234567890 {victim} && {MARK} {victim}",
        ask=person,
    )
    assert (result.exit_code, result.output) == (0, "")
    # touch opens the file for writing before it sets the time.
    assert [(a.kind, a.path) for a in person.asked] == [
        ("metadata", str(victim)),
        ("write", str(victim)),
    ]
    found = victim.stat()
    assert (found.st_mode & 0o777, found.st_mtime) == (0o640, 1234567890)
    assert os.getxattr(victim, "user.a") == b"b"


@needs("git")
@pytest.mark.requirement("sandbox:metadata-inside")
async def test_metadata_inside_changes_without_a_question(run: Run, workspace: Path) -> None:
    person = Person()
    result = await run(
        "touch f; mkdir d; chmod 750 f d; touch -d @1000 f; touch -h -d @1000 f; cp -a f g; ln -s f l;"
        " touch -h -d @2000 l; chown $(id -u) f; chown -h $(id -u) l; "
        f"{MARK} f; {UNMARK} f; cd d; chmod 700 .; chmod 711 ../f; tar cf t ../f; tar xf t;"
        " git init -q . && stat -c '%a %Y' ../f ../g",
        ask=person,
    )
    assert (result.exit_code, result.output.splitlines()[-2:]) == (0, ["711 1000", "750 1000"])
    assert person.asked == []
    assert (workspace / "d").stat().st_mode & 0o777 == 0o700
    assert (workspace / "l").lstat().st_mtime == 2000


@pytest.mark.requirement("sandbox:asked-once")
async def test_the_same_access_is_asked_for_once_in_a_run(run: Run, outside: Path) -> None:
    person = Person(refuses="other")
    command = (
        f"for i in 1 2 3; do echo $i >> {outside}/new; echo $i >> {outside}/other; done;"
        f" chmod 600 {outside}/new"
    )
    result = await run(command, ask=person)
    assert [os.path.basename(access.path) for access in person.asked] == ["new", "other"]
    assert (outside / "new").read_text() == "1\n2\n3\n"
    assert [access.path for access in result.refused] == [f"{outside}/other"]
    await run(command, ask=person)
    assert len(person.asked) == 4, "another run is asked anew"


@pytest.mark.requirement("sandbox:asked-once")
async def test_processes_that_want_the_same_at_once_share_a_question(
    run: Run, outside: Path
) -> None:
    person = Person()
    result = await run(f"for i in 1 2 3 4 5 6; do echo x >> {outside}/new & done; wait", ask=person)
    assert result.exit_code == 0
    assert len(person.asked) == 1
    assert (outside / "new").read_text() == "x\n" * 6


@pytest.mark.requirement("sandbox:refused-told")
async def test_what_was_refused_is_told_with_the_result(run: Run, outside: Path) -> None:
    result = await run(
        f"echo x > {outside}/a; rm {outside}/victim; mv {outside}/victim v;"
        f" chmod 1 {outside}/victim; echo x > {outside}/a; true"
    )
    assert [(a.kind, os.path.basename(a.path)) for a in result.refused] == [
        ("write", "a"),
        ("delete", "victim"),
        ("rename", "victim"),
        ("metadata", "victim"),
    ]
    assert all(access.process for access in result.refused)


@pytest.mark.requirement("sandbox:refused-told")
async def test_a_flood_of_refusals_stays_bounded(run: Run, outside: Path) -> None:
    person = Person(says=False)
    result = await run(f"for i in $(seq 400); do : > {outside}/$i; done 2> /dev/null", ask=person)
    assert len(result.refused) == len(person.asked) == 200


@pytest.mark.requirement("sandbox:asked-time")
async def test_the_time_a_person_takes_does_not_count(
    run: Run, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slowly(_: OutsideAccess) -> bool:
        pass_time(2 * LIMIT, monkeypatch)
        return True

    with closing(Sandbox()) as box:  # it remembers moments, which are not of this clock afterwards
        line = f"echo x > {outside}/new; echo done"
        result = await run(line, ask=slowly, limit=LIMIT, box=box)
        assert (result.output, result.timed_out) == ("done\n", False)
        result = await run("sleep 60", ask=slowly, limit=0.1, box=box)
        assert result.timed_out


@pytest.mark.requirement("sandbox:asked-withdrawn")
async def test_a_cancelled_command_withdraws_its_question(run: Run, outside: Path) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def forever(_: OutsideAccess) -> bool:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return True

    running = asyncio.get_running_loop().create_task(run(f"echo x > {outside}/new", ask=forever))
    async with asyncio.timeout(90):
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await withdrawn.wait()
    assert not (outside / "new").exists()


@pytest.mark.requirement("sandbox:asked-withdrawn")
async def test_an_answer_after_the_caller_was_killed_harms_nobody(run: Run, outside: Path) -> None:
    async def kill_it(access: OutsideAccess) -> bool:
        if access.path.endswith("first"):
            handle = os.pidfd_open(access.pid)
            over = asyncio.Event()
            asyncio.get_running_loop().add_reader(handle, over.set)
            os.kill(access.pid, signal.SIGKILL)
            await over.wait()
            asyncio.get_running_loop().remove_reader(handle)
            os.close(handle)
        return True

    result = await run(
        f"sh -c 'echo x > {outside}/first'; echo x > {outside}/second; echo done", ask=kill_it
    )
    assert result.output.endswith("done\n")
    assert not (outside / "first").exists()
    assert (outside / "second").exists()


@pytest.mark.requirement("sandbox:asked-live")
async def test_a_question_that_fails_is_a_no(
    run: Run, outside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: OutsideAccess) -> bool:
        raise ValueError("nobody there")

    result = await run(f"echo x > {outside}/new", ask=broken)
    assert result.exit_code != 0
    assert not (outside / "new").exists()
    assert "nobody there" in caplog.text


@pytest.mark.requirement("sandbox:left-behind")
async def test_what_a_command_leaves_behind_is_still_held_and_asks_no_more(
    run: Run, outside: Path, workspace: Path
) -> None:
    person = Person()
    for name in ("go", "code"):
        os.mkfifo(workspace / name)
    await run(
        "exec > /dev/null 2>&1;"
        f" (read -r _ < go; echo x > {outside}/late; chmod 1 {outside}/victim; echo $? > code) &",
        ask=person,
    )
    await asyncio.to_thread((workspace / "go").write_text, "go\n")
    assert await asyncio.to_thread((workspace / "code").read_text) == "1\n"
    assert person.asked == []
    assert not (outside / "late").exists()


@pytest.mark.requirement("sandbox:network-off")
async def test_the_network_is_off_when_it_shall_be_and_one_yes_turns_it_on(run: Run) -> None:
    command = (
        f"{PYTHON} 'import socket;"
        ' s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname());'
        " socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print(1)' 2>&1 | tail -1"
    )
    person = Person(says=False)
    refused = await run(command, network="off", ask=person)
    assert "Permission" in refused.output
    assert [(a.kind, a.path) for a in refused.refused] == [("connect", "the network")]
    person = Person()
    assert (await run(command, network="off", ask=person)).output == "1\n"
    assert person.kinds == ["connect"]
    assert (await run(command)).output == "1\n"
