"""The person's own program whose output is shown in the status bar."""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sam_tui.ui.plain import one_line
from sam_tui.ui.programs import started
from sam_tui.ui.widgets.status_bar import Standing, StatusBar

WITHIN = 2.0
"""Seconds that one run of the command may take."""
_LONGEST = 60
_MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class StatusCommand:
    """``words`` run every so many seconds; the first line of their output is shown."""

    words: Sequence[str]
    seconds: float
    bar: StatusBar

    async def follow(self) -> None:
        """Run it again and again, for a worker."""
        while True:
            line = await output_of(self.words, state_of(self.bar.standing, self.bar.activity.busy))
            if line != self.bar.standing.custom:
                self.bar.standing.custom = line
                self.bar.show()
            await asyncio.sleep(self.seconds)


def state_of(standing: Standing, busy: bool) -> str:
    """The state of the conversation as JSON, the input of the command."""
    usage = standing.figures.usage
    state = {
        "workspace": standing.workspace,
        "model": standing.model,
        "mode": standing.mode,
        "sandbox": standing.sandbox,
        "busy": busy,
        "context": standing.figures.context,
        "todos": {"done": standing.figures.todos[0], "total": standing.figures.todos[1]},
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
    }
    return json.dumps(state)


async def output_of(words: Sequence[str], state: str) -> str:
    """Return the first line that a program prints, in plain text; the fault in its place."""
    try:
        process = await started(words, answers=True)
    except (OSError, ValueError) as error:
        return f"status: {one_line(str(error), _LONGEST)}"
    try:
        async with asyncio.timeout(WITHIN):
            return await _first_line(process, state)
    except TimeoutError:
        return f"status: took over {WITHIN:g} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the command and its descendants
        await process.wait()


async def _first_line(process: asyncio.subprocess.Process, state: str) -> str:
    assert process.stdin is not None and process.stdout is not None
    with suppress(OSError):
        process.stdin.write(state.encode())
        await process.stdin.drain()
    process.stdin.close()
    data = await process.stdout.read(_MOST_BYTES)
    if not data and await process.wait():
        return f"status: ended with {process.returncode}"
    return one_line(data.decode(errors="replace").partition("\n")[0], _LONGEST)
