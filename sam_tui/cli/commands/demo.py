"""``sam-tui demo``: the workbench on a sample project, with a model that plays a script."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sam_tui.core.events import InquiryOpened, TurnFinished
from sam_tui.core.inquiry import Approval
from sam_tui.demo.material import TASK, Material, unpack

if TYPE_CHECKING:
    from sam_tui.assembly import Options
    from sam_tui.core.bus import Subscription
    from sam_tui.core.inquiries import Inquiries, Responder
    from sam_tui.core.runtime import Runtime
    from sam_tui.ui.app import SamApp

LOOK_SECONDS = 4.0
"""Seconds for which ``--auto`` shows a question, and the last screen."""


@click.command("demo", short_help="Show the workbench on a sample project.")
@click.option("--auto", is_flag=True, help="Play to the end unattended; the write is approved.")
def demo_command(auto: bool) -> int:
    """Open the workbench on a scratch copy of a sample project, with the scripted model.

    It plans, reads, edits, runs the tests, and tries a write outside that you approve or deny.
    Without a terminal it plays to the end and prints the transcript.
    """
    scratch = Path(tempfile.mkdtemp(prefix="sam-tui-demo-"))
    material = unpack(scratch)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        return _show(material, auto=auto) if interactive else asyncio.run(_tell(material))
    finally:
        if interactive and not auto:
            click.echo(f"The demo's files are in {scratch}.", err=True)
        else:
            shutil.rmtree(scratch, ignore_errors=True)


async def _tell(material: Material) -> int:
    from sam_tui.assembly import build
    from sam_tui.headless.answers import approve_all
    from sam_tui.headless.transcript import tell_turn

    runtime = build(_options(material, responder=approve_all), os.environ)
    try:
        return await tell_turn(runtime, TASK, sys.stdout)
    finally:
        await runtime.close()


def _show(material: Material, *, auto: bool) -> int:
    from sam_tui.ui.app import SamApp
    from sam_tui.ui.driver.output import unheed_signals

    pilots: list[asyncio.Task[None]] = []

    async def start(progress: Callable[[str], None]) -> "Runtime":
        from sam_tui.assembly import build

        progress("unpacking the demo")
        runtime = build(_options(material, attended=True), os.environ)
        if auto:
            loop = asyncio.get_running_loop()
            pilot = _play(app, runtime.bus.subscribe(), runtime.inquiries)
            pilots.append(loop.create_task(pilot))
        return runtime

    app = SamApp(start, workspace=str(material.workspace), prompt=TASK)
    try:
        app.run()
    finally:
        unheed_signals()
    return app.return_code or 0


async def _play(app: "SamApp", subscription: "Subscription", inquiries: "Inquiries") -> None:
    """Answer each question and end the app with the turn, each after a moment to look."""
    while True:
        for event in await subscription.batch():
            if isinstance(event, InquiryOpened):
                await asyncio.sleep(LOOK_SECONDS)
                inquiries.answer(event.inquiry.id, Approval("once"))
            elif isinstance(event, TurnFinished):
                await asyncio.sleep(LOOK_SECONDS)
                app.exit(return_code=event.exit_code)
                return


def _options(
    material: Material, *, attended: bool = False, responder: "Responder | None" = None
) -> "Options":
    from sam_tui.assembly import Options

    return Options(
        workspace=str(material.workspace),
        data_dir=str(material.data),
        model=f"scripted:{material.script}",
        attended=attended,
        responder=responder,
    )
