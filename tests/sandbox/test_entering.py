"""How a command enters the sandbox: by a gate, and by a way in that was made ready before."""

from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")


@pytest.mark.requirement("sandbox:ready")
async def test_a_way_in_made_ready_ahead_is_used_only_if_all_is_as_it_was(
    run: Run, workspace: Path, outside: Path, sandbox: Sandbox
) -> None:
    asked: list[str] = []

    async def consent(access: OutsideAccess) -> bool:
        asked.append(access.path)
        return True

    attempt = f"echo x > {outside}/new"
    await run("sleep 0.1")  # beside it the next is made ready, for whom nobody is asked yet
    assert (await run(attempt)).exit_code != 0
    await run("sleep 0.1")
    assert (await run(attempt, ask=consent)).exit_code == 0
    assert asked == [f"{outside}/new"]
    await run("sleep 0.1")
    result = await run("python3 -c 'import socket; socket.socket()'", network="off")
    assert result.exit_code != 0
    await run("sleep 0.1", ask=consent)
    (workspace / "inner").mkdir()
    wider = CommandRequest(
        f"echo y > {outside}/new", str(workspace), True, (str(outside),), 20.0, print
    )
    assert (await ShellCommands(sandbox).run(wider)).exit_code == 0


@pytest.mark.requirement("sandbox:ready")
async def test_the_gate_leaves_no_trace_and_reads_the_persons_own_file(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = 'echo "[${BASH_ENV-unset}]"; cat; echo $0; readlink /proc/self/fd/0'
    monkeypatch.delenv("BASH_ENV", raising=False)
    assert (await run(show)).output == "[unset]\nbash\n/dev/null\n"
    own = workspace / "it's mine"
    own.write_text("greet() { echo hello; }\n")
    monkeypatch.setenv("BASH_ENV", str(own))
    assert (await run(f"greet; {show}")).output == f"hello\n[{own}]\nbash\n/dev/null\n"
    own.unlink()
    assert (await run("echo fine")).output == "fine\n"
