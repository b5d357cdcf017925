"""What confined commands read: secrets by their names, and in untrusted folders what lies outside."""

import os
import select
import shutil
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path

import pytest

from sam_tui.adapters.policy.readable_paths import free_reads
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import ReadTerms
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON, INTERPRETER
from tests.fakes.preloaded import SCRIPT
from tests.sandbox.hosts_kit import Person, paths

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")


@pytest.fixture
def house(tmp_path: Path, workspace: Path) -> Path:
    """A workspace with an environment file, another project, and a home."""
    folder = tmp_path.resolve()
    for name in ("other", "home", "home/.m2", "home/.gradle", "venv/lib/a/b"):
        (folder / name).mkdir(parents=True)
    for name in (
        "workspace/.env",
        "workspace/deploy.key.pem",
        "other/.env",
        "other/.env.local",
        "venv/.env",
        "other/letter.txt",
        "home/.bash_history",
        "home/.python_history",
        "home/.m2/settings.xml",
        "home/.gradle/gradle.properties",
        "home/diary.txt",
    ):
        (folder / name).write_text("hunter2\n")
    (workspace / "link").symlink_to(".env")
    (workspace / "plain.txt").write_text("plain\n")
    (workspace / ".env.example").write_text("plain\n")
    (folder / "venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "venv/lib/a/b/c.py").touch()
    return folder


@pytest.fixture(params=[False, True], ids=["trusted", "untrusted"])
def box(
    request: pytest.FixtureRequest, house: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> Sandbox:
    """That of all tests here: what is read is settled by command."""
    home = str(house / "home")
    terms = ReadTerms(home, free_reads(home, dict(os.environ)), restricted=request.param)
    monkeypatch.setattr(sandbox, "reads", lambda: terms)
    return sandbox


WAYS = [
    "cat {f}",
    "cp {f} copy; cat copy",
    "grep -r hunter2 {f}",
    "exec 3< {f}; cat <&3",
    "exec 3<> {f}; cat <&3",
    "ln {f} other-name && cat other-name",
    "mv {f} other-name && cat other-name",
    "ln -s {f} other-link && cat other-link",
    "tar cf - {f} | tar xOf - ",
    f"{BARE_PYTHON} -c 'import os; print(open(os.open(\"{{f}}\", 0)).read())'",
    'while read -r line; do echo "$line"; done < {f}',
    "cat /proc/self/root{f}",
    "cd $(dirname {f}) && cat ./$(basename {f})",
]


@pytest.mark.requirement("sandbox:reads")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["workspace/.env", "other/.env.local", "home/.bash_history"])
async def test_a_secret_by_its_name_is_read_by_no_command_that_was_not_allowed(
    run: Run, house: Path, box: Sandbox, way: str, name: str
) -> None:
    result = await run(way.format(f=house / name), box=box)
    assert "hunter2" not in result.output
    assert str(house / name) in paths(result)
    assert (house / name).read_text() == "hunter2\n"


@pytest.mark.requirement("sandbox:reads")
async def test_a_question_for_a_secret_waits_and_the_answer_is_what_is_read(
    run: Run, workspace: Path, house: Path, box: Sandbox
) -> None:
    person = Person(says=True)
    result = await run(
        "cat link .env .env plain.txt .env.example deploy.key.pem", box=box, ask=person
    )
    assert result.output.split() == ["hunter2"] * 3 + ["plain"] * 2 + ["hunter2"]
    assert [(a.kind, a.path) for a in person.asked] == [
        ("read", str(workspace / ".env")),
        ("read", str(workspace / "deploy.key.pem")),
    ]
    person = Person(says=False)
    result = await run("cat .env; cp .env.example .env.new && echo made", box=box, ask=person)
    assert result.output.endswith("made\n")
    assert len(person.asked) == 1


@pytest.mark.requirement("sandbox:reads")
async def test_a_secret_within_a_toolchain_waits_for_the_person_as_well(
    run: Run, house: Path, box: Sandbox
) -> None:
    person = Person(says=False)
    result = await run(f"cat {house}/venv/pyvenv.cfg {house}/venv/.env", box=box, ask=person)
    assert [(a.kind, a.path) for a in person.asked] == [("read", f"{house}/venv/.env")]
    assert "home = /usr/bin" in result.output and "hunter2" not in result.output


@pytest.mark.requirement("sandbox:reads-outside")
async def test_in_an_untrusted_folder_what_lies_outside_waits_for_the_person(
    run: Run, house: Path, box: Sandbox
) -> None:
    restricted = box.reads().restricted
    person = Person(says=False)
    names = [str(house / "other/letter.txt"), str(house / "home/diary.txt")]
    result = await run(f"cat {' '.join(names)}; ls {house}/other", box=box, ask=person)
    assert [a.path for a in person.asked] == (names if restricted else [])
    assert ("hunter2" in result.output) != restricted
    assert "letter.txt" in result.output
    person = Person(says=True)
    result = await run(f"cat {names[0]} {names[0]}", box=box, ask=person)
    assert result.output == "hunter2\nhunter2\n"
    assert len(person.asked) == restricted


@pytest.mark.requirement("sandbox:reads-outside")
async def test_ordinary_work_reads_the_system_and_its_toolchains_without_a_question(
    run: Run, workspace: Path, house: Path, box: Sandbox
) -> None:
    programs = [
        "git init -q . && git add plain.txt && git -c user.name=a -c user.email=a@b commit -qm x",
        "git status --short >/dev/null; git log -1 --format=%s",
        f"{INTERPRETER} -c 'import json, ssl, sqlite3, asyncio'",
        f"{INTERPRETER} -m venv --without-pip made && made/bin/python -c 'import json'",
        "printf '#!/bin/sh\\necho ran\\n' > tool && chmod +x tool && ./tool",
        f"cat {house}/venv/lib/a/b/c.py",
        f"cat {house}/venv/pyvenv.cfg /etc/passwd /proc/self/status /dev/null > /dev/null",
        "env PATH=/usr/bin:/bin sh -c 'ls / /etc > /dev/null'",
        "exec 77< plain.txt; cat /proc/self/fd/77 /dev/fd/77 /proc/thread-self/fd/77",
        "mkfifo pipe && (echo through > pipe & cat pipe)",
        "bash -c 'cat <(echo substituted)' && cat <<< text | cat /dev/stdin",
        "setsid sleep 60 & cat /proc/$!/environ > /dev/null && : < /proc/self/ns/net"
        "; ended=$?; kill $!; exit $ended",
    ]
    if shutil.which("node"):
        programs.append('node -e \'require("fs").readFileSync("plain.txt")\'')
    for program in programs:
        person = Person(says=False)
        result = await run(program, box=box, ask=person)
        assert (result.exit_code, person.asked, paths(result)) == (0, [], []), (
            program,
            result.output,
        )


@pytest.mark.requirement("sandbox:reads")
async def test_of_other_processes_a_command_reads_what_everybody_may(
    run: Run, box: Sandbox, bystander: subprocess.Popen[bytes]
) -> None:
    there = f"/proc/{bystander.pid}"
    result = await run(
        f"cat {there}/comm /proc/self/comm; cat {there}/environ {there}/maps {there}/fd/0", box=box
    )
    first, own, *rest = result.output.splitlines()
    assert (first, own) == ("sleep", "cat")
    assert rest and all("denied" in line for line in rest)


@pytest.mark.requirement("sandbox:outside-unchanged")
@pytest.mark.parametrize("flags", [os.O_TRUNC, os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_TRUNC])
@pytest.mark.parametrize("name", ["venv/pyvenv.cfg", "other/letter.txt", "other/.env"])
async def test_nothing_is_emptied_by_an_open_that_reads(
    run: Run, house: Path, box: Sandbox, flags: int, name: str
) -> None:
    before = (house / name).read_text()
    await run(f"{BARE_PYTHON} -c 'import os; os.open(\"{house / name}\", {flags})'", box=box)
    assert (house / name).read_text() == before


@pytest.mark.requirement("sandbox:reads")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_the_same_holds_for_a_normal_user(short_path: Path) -> None:
    for name in ("workspace/.env", "other/.env.local", "home/.bash_history"):
        (short_path / name).parent.mkdir()
        (short_path / name).write_text("hunter2\n")
    for path in (short_path, *short_path.rglob("*")):
        os.chown(path, 65534, 65534)
    code = f"""
import asyncio, os, tempfile
from sam_tui.adapters.policy.readable_paths import free_reads
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import ReadTerms
from sam_tui.core.ports.processes.terminals import CommandRequest
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.environ["HOME"] = tempfile.tempdir = {str(short_path / "home")!r}
folder = {str(short_path)!r}
async def main():
    for restricted in (False, True):
        terms = ReadTerms(f"{{folder}}/home", free_reads("", {{}}), restricted=restricted)
        box = Sandbox(live="thread", reads=lambda: terms)
        for name in ("workspace/.env", "other/.env.local", "home/.bash_history"):
            for line in ("cat {{0}}", "cp {{0}} x; cat x", "mv {{0}} x && cat x", "ln {{0}} x && cat x"):
                line, own = line.format(f"{{folder}}/{{name}}"), f"{{folder}}/workspace"
                request = CommandRequest(line, own, True, (own,), 60.0, lambda _: None)
                result = await ShellCommands(box).run(request)
                assert "hunter2" not in result.output, line
                assert result.refused, (line, result)
        box.close()
asyncio.run(main())
print("held")
"""
    ended = subprocess.run([*SCRIPT, code], capture_output=True, text=True, check=False)
    assert ended.stdout == "held\n", ended.stderr


def open_files() -> list[str]:
    """What the descriptors of this process lead to."""
    return [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]


def await_closed(path: str) -> None:
    """Wait until this process has it open nowhere: the supervisor closes it in a thread of its own."""
    while path in open_files():
        select.select([], [], [], 0.02)


@pytest.mark.requirement("sandbox:reads")
async def test_a_pipe_that_was_opened_without_waiting_stays_open_nowhere(
    run: Run, workspace: Path
) -> None:
    pipe = workspace / "pipe"
    os.mkfifo(pipe)
    opening = "import os; os.close(os.open('pipe', os.O_RDONLY | os.O_NONBLOCK))"
    with closing(Sandbox(live="thread")) as box:  # a supervisor whose descriptors can be seen
        assert (await run(f'{BARE_PYTHON} -c "{opening}"', box=box)).exit_code == 0
    await_closed(str(pipe))
