"""Shows commands of the agent that run for more than a moment, each live in its own tab."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sam_tui.core.events import ToolFinished, ToolProgressed, ToolStarted
from sam_tui.core.ids import CallId
from sam_tui.ui.controllers.context import Context

if TYPE_CHECKING:
    from sam_tui.ui.widgets.terminal.replay import CommandView

RUN_COMMAND = "terminal_operations.run_command"
SOON = 1.0
"""Seconds after which a running command gets a tab."""
_MOST_OUTPUT = 100_000
"""The most characters of output that are stored until the command has a tab."""


@dataclass(slots=True)
class WatchedCommand:
    """A command of the displayed conversation; ``printed`` is the output before its ``view``."""

    command: str
    since: float
    printed: str = ""
    view: "CommandView | None" = None


class WatchedCommands:
    """Shows the output of a running command, if the column of terminals is open.

    The output comes from the call's progress, which the shield has redacted like the result. The tab
    stays after the command's end, until another command needs one or another conversation is displayed.
    """

    def __init__(self, context: Context) -> None:
        self._screen = context.screen
        self._recordings = context.runtime.recordings
        self._running: dict[CallId, WatchedCommand] = {}

    def started(self, event: ToolStarted) -> None:
        """A call began."""
        if event.operation == RUN_COMMAND:
            command = event.summary.partition(": ")[2] or event.summary
            self._running[event.call] = WatchedCommand(command, time.monotonic())

    def progressed(self, event: ToolProgressed) -> None:
        """Show further output of a command."""
        running = self._running.get(event.call)
        if running is None:
            return
        if running.view is not None:
            running.view.output.feed(event.text)
            return
        running.printed = (running.printed + event.text)[-_MOST_OUTPUT:]
        if self._screen.side_shown and time.monotonic() - running.since >= SOON:
            output = self._recordings.follow()
            running.view = self._screen.terminals.add_command(output, running.command)
            if running.view is not None:
                output.feed(running.printed)

    def finished(self, event: ToolFinished) -> None:
        """It ended, or went to the background."""
        running = self._running.pop(event.call, None)
        if running is not None and running.view is not None:
            goes_on = any(getattr(display, "running", False) for display in event.display)
            style = "$accent" if goes_on else "$success" if event.ok else "$error"
            words = "in the background: /jobs" if goes_on else "ended" if event.ok else "failed"
            running.view.finish(words, style)
