"""A workspace that holds secrets and the program's own data: the home folder, or everything."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import OutsideAccess, SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.programs import needs

Portrait = Callable[[Path], dict[str, tuple[object, ...]]]

pytestmark = pytest.mark.confined("live")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder: a key, settings of the program, a project, and a place for what is not there yet."""
    made = tmp_path.resolve() / "home"
    for folder in (".ssh", ".config/sam-tui", ".config/other", "project"):
        (made / folder).mkdir(parents=True)
    (made / ".ssh/id").write_text("key\n")
    (made / ".config/sam-tui/policy.toml").write_text("mine\n")
    (made / "project/f").write_text("work\n")
    return made


@pytest.fixture
def box(home: Path) -> Iterator[Sandbox]:
    places = (".ssh", ".config/sam-tui", ".data/share/sam-tui", ".netrc")
    made = Sandbox(SandboxPlan(secrets=tuple(f"{home}/{place}" for place in places)))
    yield made
    made.close()


async def at_home(
    box: Sandbox, home: Path, command: str, asked: list[OutsideAccess] | None = None
) -> CommandResult:
    async def refuse(access: OutsideAccess) -> bool:
        assert asked is not None
        asked.append(access)
        return False

    ask = None if asked is None else refuse
    folder = str(home)
    return await ShellCommands(box).run(
        CommandRequest(command, folder, True, (folder,), 60.0, lambda _: None, ask=ask)
    )


@pytest.mark.requirement("sandbox:kept-inside")
@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > .ssh/id",
        "echo x >> .config/sam-tui/policy.toml",
        "rm -rf .ssh .config",
        "mv .ssh project/s; echo x > project/s/id",
        "mv .config c; echo x > c/sam-tui/policy.toml",
        "mkdir e; echo x > e/policy.toml; mv -T --exchange e .config/sam-tui || mv -T e .config/sam-tui",
        "echo x > f; mv f .config/sam-tui/policy.toml; ln -f f .ssh/id; cp f .ssh/new",
        "ln .ssh/id project/k; echo x > project/k",
        "ln -s .ssh s; echo x > s/id",
        "echo x > .netrc; mkdir -p .data/share/sam-tui; echo x > .data/share/sam-tui/db",
        "mkdir -p evil/share/sam-tui; echo x > evil/share/sam-tui/db; ln -s evil .data; mv evil .data",
        "chmod 777 .ssh .ssh/id; touch .ssh/id; truncate -s 0 .ssh/id",
        "cd .config; rm sam-tui/policy.toml; rmdir sam-tui; mv sam-tui other/",
        '{py} -c \'import os; d=os.open(".", os.O_RDONLY); os.rename(".ssh", "x", src_dir_fd=d)\'',
        '{py} -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b".config", -100, b"project", 2)\'',
    ],
)
async def test_what_is_kept_stays_as_it_is(
    box: Sandbox, home: Path, portrait: Portrait, attempt: str
) -> None:
    before = portrait(home / ".ssh"), (home / ".ssh").stat().st_mode
    result = await at_home(box, home, attempt.format(py=BARE_PYTHON))
    assert (home / ".ssh/id").read_text() == "key\n", result.output
    assert (portrait(home / ".ssh"), (home / ".ssh").stat().st_mode) == before
    assert os.listdir(home / ".ssh") == ["id"]
    assert (home / ".config/sam-tui/policy.toml").read_text() == "mine\n", result.output
    assert os.listdir(home / ".config/sam-tui") == ["policy.toml"]
    assert not (home / ".netrc").exists()
    assert not (home / ".data/share/sam-tui/db").exists()


@pytest.mark.requirement("sandbox:kept-inside")
async def test_secrets_inside_cannot_be_read_and_all_else_can(box: Sandbox, home: Path) -> None:
    result = await at_home(box, home, "cat .ssh/id .config/sam-tui/policy.toml; cat project/f")
    assert "key" not in result.output
    assert "mine" not in result.output
    assert result.output.endswith("work\n")


@needs("git")
@pytest.mark.requirement("sandbox:kept-inside")
async def test_work_beside_it_goes_on_also_with_what_is_new(box: Sandbox, home: Path) -> None:
    asked: list[OutsideAccess] = []
    script = """
        echo one > new; cat new; echo two >> new; cat < new; mv new newer; ln newer same; cat same
        mkdir d d/e; echo x > d/e/f; cat d/e/f; mv d/e/f d/g; mv d project/d; cat project/d/g
        ln -s project/f link; cat link; rm newer same link; echo y > .config/other/y; cat .config/other/y
        mkdir .data; echo z > .data/z; cat .data/z; cp project/f .; sed -i s,wo,pla, f; cat f
        git init -q r; cd r; echo a > a; git add a; git -c user.name=a -c user.email=a@b commit -qm a
        git log --oneline | wc -l; python3 -c 'open("p", "w").write("q"); print(open("p").read())'
    """
    result = await at_home(box, home, script, asked)
    expected = "one one two one two x x work y z plark 1 q"
    assert result.output.split() == expected.split(), result.output
    assert asked == []
    again = await at_home(box, home, "cat .data/z r/a; echo more >> r/a; ls project/d", asked)
    assert again.output.split() == ["z", "a", "e", "g"]


@pytest.mark.requirement("sandbox:kept-inside")
async def test_a_swap_between_look_and_use_reaches_nothing_that_is_kept(
    box: Sandbox, home: Path
) -> None:
    (home / "swap.py").write_text(
        """
import ctypes, os, sys, threading
sys.setswitchinterval(1e-5)  # else each call waits its turn behind the thread that swaps
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b"project/f", 4096)
stop, leaked = False, []
def swap():
    while not stop:
        path.value = b".ssh/id"
        path.value = b"project/f"
thread = threading.Thread(target=swap)
thread.start()
for _ in range(1500):
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT):
        d = libc.open(path, flags, 0o600)
        if d >= 0:
            if flags:
                os.write(d, b"")
                leaked += [os.readlink(f"/proc/self/fd/{d}")]
            else:
                leaked += [os.read(d, 100)]
            os.close(d)
stop = True
thread.join()
print(any(b"key" in x if isinstance(x, bytes) else "ssh" in x for x in leaked))
"""
    )
    result = await at_home(box, home, f"{BARE_PYTHON} swap.py")
    assert result.output == "False\n", result
    assert (home / ".ssh/id").read_text() == "key\n"


@pytest.mark.requirement("sandbox:kept-inside")
async def test_everything_may_be_the_workspace(home: Path) -> None:
    box = Sandbox(SandboxPlan(secrets=(f"{home}/.ssh",)))
    try:
        request = CommandRequest(
            f"echo x > {home}/.ssh/id; cat {home}/.ssh/id; echo y > {home}/made; cat {home}/made",
            str(home),
            True,
            ("/",),
            20.0,
            lambda _: None,
        )
        result = await ShellCommands(box).run(request)
    finally:
        box.close()
    assert result.output.endswith("y\n")
    assert "key" not in result.output
    assert (home / ".ssh/id").read_text() == "key\n"
