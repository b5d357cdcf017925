"""Files that confined commands may not read."""

import os
import stat
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox.kernel.devices import raw_devices
from sam_tui.core.ports.processes.sandbox import SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandResult

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live", "landlock")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "home"
    (folder / ".ssh" / "deep").mkdir(parents=True)
    (folder / ".ssh" / "id").write_text("hunter2\n")
    (folder / ".ssh" / "deep" / "id").write_text("hunter2\n")
    (folder / ".netrc").write_text("hunter2\n")
    (folder / "notes").write_text("notes\n")
    (folder / "link").symlink_to(".ssh/id")
    (folder / "project").mkdir()
    (folder / "project" / "file").write_text("file\n")
    return folder


@pytest.fixture(params=[True, False], ids=["live", "fixed"])
def box(request: pytest.FixtureRequest, home: Path) -> Iterator[Sandbox]:
    secrets = (str(home / ".ssh"), str(home / ".netrc"), str(home / ".absent"))
    made = Sandbox(SandboxPlan(secrets=secrets), live=None if request.param else False)
    yield made
    made.close()


@pytest.mark.requirement("sandbox:secrets")
@pytest.mark.parametrize(
    "command",
    [
        "cat {h}/.ssh/id",
        "cat {h}/.ssh/deep/id",
        "cat {h}/.netrc",
        "cat {h}/link",
        "cat /proc/self/root{h}/.ssh/id",
        "cd {h}/.ssh && cat id",
        "exec 3< {h}/.ssh && cat /proc/self/fd/3/id",
        "cp {h}/.netrc copy",
        "tar c {h}/.ssh > t.tar",
        "ln {h}/.netrc here && cat here",
        "mv {h}/.netrc here && cat here",
        "python3 -c 'print(open(\"{h}/.netrc\").read())'",
        "exec 3<> {h}/.netrc && cat <&3",
    ],
)
async def test_secrets_cannot_be_read(run: Run, home: Path, box: Sandbox, command: str) -> None:
    result = await run(command.format(h=home), box=box)
    assert result.exit_code != 0
    assert "hunter2" not in result.output
    assert (home / ".netrc").read_text() == "hunter2\n"


@pytest.mark.requirement("sandbox:secrets")
async def test_everything_beside_the_secrets_can_be_read(
    run: Run, home: Path, box: Sandbox
) -> None:
    command = f"cat {home}/notes {home}/project/file && echo x > f && cat f /etc/passwd > /dev/null"
    result = await run(f"{command}; ls -a {home} > /dev/null && git --version", box=box)
    assert result.exit_code == 0
    assert result.output.startswith("notes\nfile\ngit version")


@pytest.mark.requirement("sandbox:secrets")
async def test_what_is_new_beside_a_secret_can_be_read_by_the_next_command(
    run: Run, home: Path, box: Sandbox
) -> None:
    assert (await run(f"cat {home}/new", box=box)).exit_code != 0
    (home / "new").write_text("new\n")
    assert (await run(f"cat {home}/new", box=box)).output == "new\n"
    (home / ".absent").write_text("hunter2\n")
    assert "hunter2" not in (await run(f"cat {home}/.absent", box=box)).output


@pytest.mark.requirement("sandbox:secrets")
async def test_a_workspace_that_is_itself_a_secret_can_be_worked_in(
    run: Run, workspace: Path
) -> None:
    (workspace / "old").write_text("mine\n")
    box = Sandbox(SandboxPlan(secrets=(str(workspace),)))
    try:
        assert (await run("cat old; echo x > new; cat new", box=box)).output == "mine\nx\n"
    finally:
        box.close()


def _disk() -> str:
    """A block device of this machine that somebody may open; empty where there is none."""
    found = (p for p in raw_devices() if stat.S_ISBLK(os.stat(p).st_mode) and os.access(p, os.R_OK))
    return next(found, "")


@pytest.mark.requirement("sandbox:devices-read")
async def test_disks_memory_and_consoles_are_not_read(run: Run, box: Sandbox) -> None:
    device = _disk()
    if not device:
        pytest.skip("nobody may read a disk here")
    others = [p for p in raw_devices() if os.access(p, os.R_OK)]
    listed = " ".join(others)
    result = await run(
        f"for d in {listed}; do (: < $d) 2>/dev/null && echo $d; done; true", box=box
    )
    assert result.output == ""
    result = await run(f"ln -s {device} d; head -c 1 d; mknod e b 7 0 && head -c 1 e", box=box)
    assert result.exit_code != 0


@pytest.mark.requirement("sandbox:devices-read")
async def test_usual_devices_are_read_as_ever(run: Run, box: Sandbox) -> None:
    read = "head -c 8 /dev/urandom | wc -c; head -c 3 /dev/zero | wc -c; cat /dev/null; ls /dev"
    result = await run(
        f"{read}; echo x | cat /dev/stdin > /dev/null && echo ok > /dev/stderr", box=box
    )
    assert result.exit_code == 0
    assert result.output.split()[:2] == ["8", "3"]


@pytest.mark.requirement("sandbox:devices-read")
def test_devices_are_told_by_kind_and_name() -> None:
    found = set(raw_devices())
    assert not found & {
        "/dev/null",
        "/dev/zero",
        "/dev/urandom",
        "/dev/tty",
        "/dev/kvm",
        "/dev/fuse",
    }
    blocks = {
        p.path for p in os.scandir("/dev") if not p.is_symlink() and p.stat().st_mode >> 12 == 6
    }
    assert found >= blocks
