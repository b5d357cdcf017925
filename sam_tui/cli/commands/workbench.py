"""``sam-tui``: the workbench, or with ``--print`` one headless run."""

import asyncio
import gc
import importlib
import os
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli import options
from sam_tui.cli.roles import hand_out_option
from sam_tui.cli.settings import (
    HeadlessCommand,
    data_dir_of,
    is_given,
    option,
    overlay_settings,
    user_settings,
)
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import UsageError

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime


class MainContext(click.Context):
    """Of a command without a name: usage texts show the program's alone."""

    @property
    def command_path(self) -> str:
        """The program's name."""
        return super().command_path.strip()


class MainCommand(HeadlessCommand):
    """The command line without a subcommand: it goes by the program's own name."""

    context_class = MainContext

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Make a context as every command does, but without a name in usage texts."""
        return super().make_context("", args, parent, **extra)

    def is_headless(self, values: dict[str, Any]) -> bool:
        """Whether it is one headless run."""
        return bool(values.get("headless"))


@click.command("workbench", cls=MainCommand, hidden=True)
@click.argument("prompt", required=False)
@click.option(
    "-p", "--print", "headless", is_flag=True, help="The same as “run”: print the answer and exit."
)
@option("--inline", is_flag=True, help="Draw in the last rows and keep the terminal's scrollback.")
@option(
    "--screen-reader",
    is_flag=True,
    envvar="SAM_TUI_SCREEN_READER",
    help="Print plain lines with labels for screen readers.",
)
@hand_out_option
@options.agent_options
@options.run_options
def workbench_command(**values: object) -> int:
    """Open the workbench here, or run one prompt with --print."""
    if values["headless"]:
        from sam_tui.cli.commands.run import run_once

        return run_once(values)
    option_name = next((n for n in options.RUN_ONLY if values[n] and is_given(n, values)), None)
    if option_name is not None:
        word = {"wait_stdin": "stdin"}.get(option_name, option_name).replace("_", "-")
        raise UsageError(f"--{word} needs --print.", hint="Or use “sam-tui run”.")
    if not _on_a_terminal():
        raise UsageError(
            "The workbench needs a terminal on standard input and output.",
            hint='Without one, use: sam-tui run "what to do"',
        )
    if os.environ.get("TERM") == "dumb":
        raise UsageError(
            "The workbench cannot draw on a terminal with TERM=dumb.",
            hint='Set TERM to the type of the terminal, or use: sam-tui run "what to do"',
        )
    return _open(values)


def _open(values: options.Values) -> int:
    """Draw the first frame, and build the runtime behind it."""
    from sam_tui.adapters.preferences import PreferenceFile
    from sam_tui.ui.preferences import ModelWishes, ScreenTerms

    workspace = Workspace.open(options.workspace_of(values)).root
    preferences = PreferenceFile(data_dir_of(values))
    first = ModelWishes.read(preferences).folders.get(workspace)
    # A key that is given without a model may be meant for another host.
    if first and not any(is_given(name, values) for name in ("model", "api_base", "api_key")):
        values = {**values, "model": first[0], "api_base": first[1]}
    conversation, runtime, how = None, None, options.opening_of(values)
    chooses = values["resume"] == options.CHOOSE
    if values["latest"] or (values["resume"] and not chooses):
        # The store has the conversation; a wrong id is reported before the screen is drawn.
        runtime = options.open_runtime(
            values, attended=True, keeps_terminals=True, program="the workbench"
        )
        conversation = options.conversation_of(values, runtime.conversations, workspace)
        if how != "continue":
            conversation = runtime.open_session(conversation, how=how).conversation

    async def start(progress: Callable[[str], None]) -> "Runtime":
        if runtime is not None:
            return runtime
        progress("starting")
        await asyncio.to_thread(importlib.import_module, "sam_tui.assembly")
        preload = await asyncio.to_thread(importlib.import_module, "sam_tui.cli.preload")
        await asyncio.to_thread(preload.load_workbench)
        built = options.open_runtime(
            values, attended=True, keeps_terminals=True, program="the workbench"
        )
        preload.warm(built)
        waits = bool(app.queue.waiting)
        parts = preload.prepare(built, awaited=waits)
        app.run_worker(_prepared(parts), name="prepare")
        return built

    from sam_tui.settings.user import UserSettings
    from sam_tui.ui.app import SamApp
    from sam_tui.ui.driver.output import unheed_signals

    settings = user_settings()  # a folder has no say in any of these
    app = SamApp(
        start,
        workspace=workspace,
        prompt=values["prompt"] or "",
        conversation=conversation,
        resume=chooses,
        terms=ScreenTerms(
            preferences,
            settings.text("screen.notify"),
            settings.text("screen.notify_command"),
            UserSettings(os.environ, data_dir_of(values), overlay_settings()),
            inline=values["inline"] or values["screen_reader"],
            reader=values["screen_reader"],
            first_run=not os.path.exists(os.path.join(data_dir_of(values), "sam.db")),
        ),
    )
    try:
        app.run()
    finally:
        unheed_signals()
    return app.return_code or 0


async def _prepared(parts: Coroutine[object, object, None]) -> None:
    """Have the parts loaded; later garbage collections skip the loaded objects."""
    await parts
    gc.collect(1)  # young objects alone: all would take long enough to hold up keys
    gc.freeze()


def _on_a_terminal() -> bool:
    return all(
        stream is not None and stream.isatty()  # pyright: ignore[reportUnnecessaryComparison]
        for stream in (sys.stdin, sys.stdout)
    )
