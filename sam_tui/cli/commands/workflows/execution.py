"""An execution that our agent drives from the command line: reports on standard error, and an exit code."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from sam_tui.cli.claude import responder_of
from sam_tui.cli.options import Values, open_runtime, workspace_of
from sam_tui.core.runtime import Runtime
from sam_tui.core.workflow.views import ExecutionView
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.outcome import EXIT_CODES
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.headless.dialogue.terminal import TerminalPerson

DONE, FAILED, WAITS = 0, 1, 3
_UNANSWERED = (
    "Questions were denied because nobody could answer: run this at a terminal, or with --answers."
)


@dataclass(frozen=True, slots=True)
class AttendedRuntime:
    """A runtime that drives, and the person at the terminal whom it asks."""

    runtime: Runtime
    person: "TerminalPerson"


def open_attended(values: Values, program: str) -> AttendedRuntime:
    """The agent of these options; at a terminal the person there answers what ``--answers`` does not."""
    from sam_tui.headless.dialogue.terminal import TerminalPerson

    person = TerminalPerson(lambda text: click.echo(text, err=True, nl=False))
    attended = person.attends if person.is_there else False
    runtime = open_runtime(
        values,
        attended=attended,
        responder=responder_of(values, workspace_of(values)),
        program=program,
    )
    return AttendedRuntime(runtime, person)


async def drive(attended: AttendedRuntime, execution: str, interrupts: Interrupts) -> int | None:
    """Let our agent drive an execution as far as it goes; the exit code of an interrupt, or None."""
    runtime, person = attended.runtime, attended.person
    runner = runtime.open_runner(lambda line: click.echo(terminal_safe(line), err=True))
    loop = asyncio.get_running_loop()
    try:
        async with person.answering(runtime):
            work = loop.create_task(runner.run(execution), name="workflow")
            interrupts.cancel_with(lambda: loop.call_soon_threadsafe(work.cancel) and None)
            await work
    except asyncio.CancelledError:
        return EXIT_CODES[interrupts.subtype or "cancelled"]
    finally:
        interrupts.cancel_with(None)
    if person.unanswered:
        click.echo(_UNANSWERED, err=True)
    return None


def exit_code(view: ExecutionView) -> int:
    """0 if the execution is completed, 3 if it waits for a person, else 1."""
    return {"completed": DONE, "paused": WAITS}.get(view.state, FAILED)
