"""A command whose supervisor is gone can do less, not more, and is ended."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.preloaded import SCRIPT

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.skipif(
    Sandbox().confinement.kind != "live", reason="the kernel offers no supervised sandbox"
)


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_without_its_supervisor_a_command_can_do_less_not_more(
    run: Run, outside: Path
) -> None:
    box = Sandbox()

    async def end_it(_: OutsideAccess) -> bool:
        box.close()
        return True

    result = await run(
        f"echo x > {outside}/new; chmod 600 {outside}/victim; while echo x > inside; do :; done",
        ask=end_it,
        box=box,
    )
    assert sorted(os.listdir(outside)) == ["folder", "link", "script", "victim"]
    assert (outside / "victim").stat().st_mode & 0o777 != 0o600
    assert not result.timed_out  # sooner or later nothing is written inside either
    box.close()


BEREFT = """
import asyncio, ctypes, os, signal, sys
from pathlib import Path
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.terminals import CommandRequest
folder, outside = sys.argv[1:]
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # its supervisor becomes a child of this process
async def end_it(access):
    for pid in map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()):
        if b"sandbox.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    return True
async def main():
    box = Sandbox()
    line = f"sleep 300 & echo x > {outside}/new; while :; do :; done"
    request = CommandRequest(line, folder, True, (folder,), 60.0, lambda _: None, ask=end_it)
    result = await ShellCommands(box).run(request)
    print(result.abandoned, result.signal, result.timed_out, result.left)
    result = await ShellCommands(box).run(
        CommandRequest("echo again > a; cat a", folder, True, (folder,), 60.0, lambda _: None)
    )
    print(result.output)
    box.close()
asyncio.run(main())
"""


@pytest.mark.requirement("sandbox:supervisor-gone")
async def test_a_command_whose_supervisor_was_killed_is_ended_and_the_next_gets_another(
    workspace: Path, outside: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *SCRIPT, BEREFT, str(workspace), str(outside), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert said.decode() == "True SIGKILL False None\nagain\n\n"
    assert not (outside / "new").exists()
