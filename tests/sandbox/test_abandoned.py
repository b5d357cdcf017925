"""A program that is killed leaves no command running; one that ends in order leaves what it knew of."""

import os
import select
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sandbox.ability import ability

pytestmark = pytest.mark.skipif(
    ability().host != "process", reason="the supervisor lives in the program itself"
)

PROGRAM = """
    import asyncio, os, signal, sys
    from sam_tui.adapters.terminal.commands import ShellCommands
    from sam_tui.adapters.terminal.confinement import Sandbox
    from sam_tui.core.ports.terminals import CommandRequest

    async def main():
        folder, how = sys.argv[1:]
        box = Sandbox()
        commands = ShellCommands(box)
        def request(text):
            return CommandRequest(text, folder, True, (folder,), 60, lambda _: None)
        await commands.run(request("sleep 600 > /dev/null 2>&1 & echo $! > left"))
        text = "sleep 600 & echo $! > child; echo $$ > shell; wait"
        running = asyncio.create_task(commands.run(request(text)))
        while not os.path.exists(f"{folder}/shell") or not open(f"{folder}/shell").read():
            await asyncio.sleep(0.01)
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        box.close()

    asyncio.run(main())
"""


def ends(pid: int, seconds: float) -> bool:
    """Whether a process ends within some seconds."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


@pytest.mark.requirement("sandbox:abandoned")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_runs_ends_with_the_program_however_it_ends(workspace: Path, how: str) -> None:
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(workspace), how],
        check=how == "ended",
        timeout=60,
    )
    pids = {name: int((workspace / name).read_text()) for name in ("left", "child", "shell")}
    try:
        assert ends(pids["shell"], 20)
        assert ends(pids["child"], 20)
        assert not ends(pids["left"], 0)
    finally:
        os.kill(pids["left"], 9)
