"""Nobody is asked about what fails by itself: it fails in the kernel's own words."""

import os
import shlex
import subprocess
import textwrap
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.preloaded import SCRIPT

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

FAILING = {
    "rm -f {o}/none": "",
    "rm {o}/none": "No such file or directory",
    "rmdir {o}/none": "No such file or directory",
    "rmdir {o}/victim": "",
    "mv {o}/none {o}/other": "No such file or directory",
    "ln {o}/none {o}/other": "No such file or directory",
    "mkdir {o}": "File exists",
    "mkdir {o}/none/below": "No such file or directory",
    "ln -s x {o}/victim": "File exists",
    "echo x > {o}/none/below": "No such file or directory",
    "echo x > {o}": "Is a directory",
    "set -C; echo x > {o}/victim": "cannot overwrite existing file",
    "{py} -c 'import os; os.truncate(\"{o}/none\", 1)'": "No such file or directory",
    "{py} -c 'import os; os.open(\"{o}/none\", os.O_WRONLY)'": "No such file or directory",
    "{py} -c 'import os; os.open(\"{o}/victim\", os.O_WRONLY|os.O_CREAT|os.O_EXCL)'": "File exists",
}


@pytest.mark.requirement("sandbox:asked-worthwhile")
@pytest.mark.parametrize("command", FAILING)
async def test_what_cannot_succeed_is_not_asked(run: Run, outside: Path, command: str) -> None:
    asked: list[OutsideAccess] = []

    async def consent(access: OutsideAccess) -> bool:
        asked.append(access)
        return True

    result = await run(command.format(o=outside, py=BARE_PYTHON), ask=consent)
    if command != "rmdir {o}/victim":
        assert asked == []
        assert result.refused == ()
    assert FAILING[command] in result.output
    assert (outside / "victim").read_text() == "precious\n"


@pytest.mark.requirement("sandbox:asked-worthwhile")
@pytest.mark.parametrize("kept", [False, True], ids=["nothing kept yet", "beside what is kept"])
async def test_python_does_without_bytecode_outside_and_nobody_is_asked(
    run: Run, outside: Path, kept: bool
) -> None:
    (outside / "module.py").write_text("said = 'loaded'\n", encoding="utf-8")
    if kept:
        (outside / "__pycache__").mkdir()
    asked: list[OutsideAccess] = []

    async def consent(access: OutsideAccess) -> bool:
        asked.append(access)
        return True

    load = f"import sys; sys.path.insert(0, {str(outside)!r}); import module; print(module.said)"
    result = await run(
        f"env -u PYTHONDONTWRITEBYTECODE {BARE_PYTHON} -c {shlex.quote(load)}", ask=consent
    )
    assert (result.output, asked, result.refused) == ("loaded\n", [], ())
    removed = await run(f"rm -rf {outside}/__pycache__", ask=consent)
    assert removed.exit_code == 0
    assert bool(asked) == kept


@pytest.mark.requirement("sandbox:asked-worthwhile")
async def test_of_a_long_path_only_the_missing_folders_are_asked(run: Run, outside: Path) -> None:
    asked: list[str] = []

    async def consent(access: OutsideAccess) -> bool:
        asked.append(access.path)
        return True

    assert (await run(f"mkdir -p {outside}/deep/er", ask=consent)).exit_code == 0
    assert asked == [f"{outside}/deep", f"{outside}/deep/er"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.requirement("sandbox:asked-worthwhile")
def test_nobody_is_asked_for_what_is_not_theirs(short_path: Path) -> None:
    script = """
        import asyncio, os, sys
        folder, outside = sys.argv[1:]
        from sam_tui.adapters.terminal.commands.shell import ShellCommands
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
        from sam_tui.core.ports.processes.terminals import CommandRequest
        asked = []
        async def consent(access):
            asked.append(access.path)
            return True
        async def main():
            for command in ("echo x >> victim", "echo x > new", "rm victim", "mkdir new", "mv victim v"):
                request = CommandRequest(
                    f"cd {outside}; {command}", folder, True, (folder,), 20.0, print, ask=consent
                )
                result = await ShellCommands(box).run(request)
                assert result.exit_code and not result.refused, result
                assert "Permission denied" in result.output, result
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        box = Sandbox(live="thread")
        asyncio.run(main())
        box.close()
        print("asked", asked)
    """
    folder, outside = short_path / "theirs", short_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "victim").write_text("precious\n")
    short_path.chmod(0o755)
    os.chown(folder, 65534, 65534)
    done = subprocess.run(
        [*SCRIPT, textwrap.dedent(script), str(folder), str(outside)],
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.endswith("asked []\n"), done.stdout + done.stderr
