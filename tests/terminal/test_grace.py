"""A command that is ended has a moment for what it does at its end."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands import shell
from sam_tui.core.ports.processes.terminals import CommandResult

Run = Callable[..., Coroutine[None, None, CommandResult]]


@pytest.mark.requirement("terminal:cancel-ends-all")
@pytest.mark.parametrize("confined", [False, True])
async def test_what_is_cancelled_cleans_up_before_it_is_killed(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch, *, confined: bool
) -> None:
    monkeypatch.setattr(shell, "_STAGES", ((signal.SIGTERM, 60.0), (signal.SIGKILL, 60.0)))
    heard = asyncio.Queue[str]()
    command = (
        "trap 'sleep 0.2; echo gone > cleaned; exit' TERM; echo on; while :; do sleep 0.01; done"
    )
    task = asyncio.get_running_loop().create_task(
        run(command, confined=confined, heard=heard.put_nowait)
    )
    await asyncio.wait_for(heard.get(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (workspace / "cleaned").read_text() == "gone\n"
