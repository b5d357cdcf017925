"""Drives a fleet from the command line: queues, workers, patches and progress."""

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING

import click

from sam_tui.cli.options import Values, open_runtime, settings
from sam_tui.core.ids import CallId, ConversationId, mint, mint_conversation
from sam_tui.core.messages import ToolCall
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.adapters.fleet.database import QueueDatabase
    from sam_tui.adapters.fleet.messages import AnswerMessage
    from sam_tui.adapters.fleet.records import FleetFolder, FleetQuestion, TaskRecord
    from sam_tui.core.runtime import Runtime

_PASSED = (
    ("model", "--model"),
    ("api_base", "--api-base"),
    ("provider", "--provider"),
    ("request_timeout", "--request-timeout"),
    ("context_tokens", "--context-tokens"),
    ("sandbox", "--sandbox"),
    ("network", "--network"),
)
"""Options that a fleet passes on to its workers and their tasks."""


def passed_options(values: Values) -> tuple[str, ...]:
    """The options for a task's process; the key of the model is passed by the environment."""
    return tuple(
        word
        for name, option in _PASSED
        if values.get(name) not in (None, "", "auto")
        for word in (option, str(values[name]))
    )


def open_database(values: Values, *, patient: bool = True) -> "QueueDatabase":
    """The queues that these options and the environment name. Raises ``SamError``."""
    from sam_tui.adapters.fleet.database import open_database as opened

    data_dir = settings({**values, "workspace": os.sep}).data_dir
    return opened(os.environ, data_dir, patient=patient)


async def drive_fleet(
    fleet: "FleetFolder", values: Values, bundle: str, interrupts: Interrupts
) -> None:
    """Drive a fleet to its end. Raises ``SamError``; cancelled, it leaves the rest for later."""
    from sam_tui.adapters.fleet.crew import WorkerCrew
    from sam_tui.adapters.fleet.driver import Driver

    limits = fleet.settings.limits
    runtime = open_runtime(
        {**values, "workspace": fleet.settings.workspace, "max_cost": None, "max_tokens": None},
        attended=limits.answer_seconds > 0,
        program="sam-tui fleet",
    )
    database = await asyncio.to_thread(open_database, values, patient=False)
    data_dir = settings(values).data_dir
    if bundle:
        await asyncio.to_thread(database.keep_bundle, fleet.settings.id, bundle)
    crew = WorkerCrew(
        fleet.settings.workers,
        ("--data-dir", data_dir, *fleet.settings.options),
        {**os.environ, **({"SAM_TUI_API_KEY": values["api_key"]} if values["api_key"] else {})},
    )
    intake = PatchIntake(runtime, fleet.settings.id, limits.answer_seconds)
    driver = Driver(
        fleet,
        database,
        crew,
        intake.apply,
        Progress(fleet).report,
        intake.questions,
        intake.answer,
        _say,
    )
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    interrupts.cancel_with(lambda: loop.call_soon_threadsafe(task.cancel) and None)
    try:
        crew.start()
        await driver.drive()
    finally:
        await asyncio.to_thread(crew.stop)
        await asyncio.to_thread(database.close)
        await runtime.close()


def _say(text: str) -> None:
    click.echo(terminal_safe(text), err=True)


class PatchIntake:
    """Applies patches as a tool call, so the guard judges every path; its questions go to the inbox."""

    def __init__(self, runtime: "Runtime", fleet: str, seconds: float) -> None:
        self._runtime, self._fleet, self._seconds = runtime, fleet, seconds
        self._conversation: ConversationId = mint_conversation()
        runtime.conversations.claim(self._conversation)

    async def apply(self, patch: str) -> str:
        """Apply a patch. Returns why it does not fit or was refused; empty if it was applied."""
        arguments = json.dumps({"operation": "apply_patch", "patchContent": patch})
        call = ToolCall(CallId(mint("call")), "file_operations", arguments)
        try:
            async with asyncio.timeout(self._seconds or None):
                executed = await self._runtime.executor.execute(call, self._conversation)
        except TimeoutError:
            return "Nobody answered in time."
        return "" if executed.finished.ok else executed.finished.text[:20_000]

    def questions(self) -> "list[FleetQuestion]":
        """Return the guard's questions about the patch that is being applied."""
        from sam_tui.adapters.fleet.messages import Ask
        from sam_tui.adapters.fleet.records import FleetQuestion
        from sam_tui.headless.inquiries_line import question_of

        return [
            FleetQuestion(
                task="apply", work=self._fleet, ask=Ask.model_validate(question_of(inquiry))
            )
            for inquiry in self._runtime.inquiries.pending()
        ]

    def answer(self, answer: "AnswerMessage") -> None:
        """Pass an answer on."""
        from sam_tui.headless.inquiries_line import give_answer

        give_answer(self._runtime.inquiries, answer.ask, answer.reply)


class Progress:
    """One line on standard error for each task that ended."""

    def __init__(self, fleet: "FleetFolder") -> None:
        self._fleet, self._begun, self._ended = fleet, time.monotonic(), 0

    def report(self, record: "TaskRecord") -> None:
        """Say how a task ended, how many are over, and how long the rest may take."""
        status = self._fleet.status()
        self._ended += 1
        left = (time.monotonic() - self._begun) / self._ended * (status.total - status.ended)
        why = f": {record.error.splitlines()[0][:200]}" if record.error else ""
        more = f"; about {left:.0f} s left" if left else ""
        line = f"[{status.ended}/{status.total}] {record.id} {record.state}{why}{more}"
        click.echo(terminal_safe(line), err=True)
