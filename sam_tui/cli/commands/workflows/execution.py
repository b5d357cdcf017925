"""An execution that our agent drives from the command line: told on standard error, ended by a code."""

import asyncio
from typing import TYPE_CHECKING

import click

from sam_tui.core.runtime import Runtime
from sam_tui.core.workflow.views import ExecutionView
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.outcome import EXIT_CODES
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.workflow.drivers.run import StepHandOut

DONE, FAILED, WAITS = 0, 1, 3


async def drive(
    runtime: Runtime, execution: str, interrupts: Interrupts, hand_out: "StepHandOut | None" = None
) -> int | None:
    """Let our agent drive an execution as far as it goes; the exit code of an interrupt, or None."""
    runner = runtime.open_runner(lambda line: click.echo(terminal_safe(line), err=True), hand_out)
    loop = asyncio.get_running_loop()
    work = loop.create_task(runner.run(execution), name="workflow")
    interrupts.cancel_with(lambda: loop.call_soon_threadsafe(work.cancel) and None)
    try:
        await work
    except asyncio.CancelledError:
        return EXIT_CODES[interrupts.subtype or "cancelled"]
    finally:
        interrupts.cancel_with(None)
        if hand_out is not None:
            hand_out.forget(execution)
    return None


def exit_code(view: ExecutionView) -> int:
    """0 when it is completed, 3 when it waits for somebody, else 1."""
    return {"completed": DONE, "paused": WAITS}.get(view.state, FAILED)
