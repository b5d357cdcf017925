"""Gets the attention of a person who looks elsewhere, and shows the state in the window's title."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

from textual.app import App

from sam_tui.settings.values import words_of
from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.driver.notifications import (
    BEHIND_TMUX,
    Channel,
    channel_behind_tmux,
    channel_of,
    notification_sequences,
)
from sam_tui.ui.driver.sequences import KEEP_TITLE, RESTORE_TITLE, title_sequence, tmux_question
from sam_tui.ui.key_guard import Keyboard
from sam_tui.ui.plain import one_line
from sam_tui.ui.preferences import ScreenTerms
from sam_tui.ui.programs import printed, started

_LONGEST = 80


class _Terminal(Protocol):
    def emit(self, sequence: str) -> None: ...


class WindowTitle:
    """The title of the window around: state and folder, or the title of the program in the terminal."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._state = self._program = self._written = ""

    def of_state(self, activity: ActivityLine, folder: str) -> None:
        """Show state and folder in the title."""
        name = os.path.basename(folder.rstrip("/")) or folder
        state = "? waiting · " if activity.waiting else "* working · " if activity.busy else ""
        self._state = f"{state}{name} · sam"
        self._write()

    def of_program(self, title: str) -> None:
        """Put the title of the focused program into the window's title; empty takes it out."""
        self._program = one_line(title, _LONGEST)
        self._write()

    def restore(self) -> None:
        """Give the window its earlier title back."""
        if self._written:
            self._emit(RESTORE_TITLE)

    def _write(self) -> None:
        title = one_line(self._program or self._state or "sam", _LONGEST)
        if title != self._written:
            keep = "" if self._written else KEEP_TITLE
            self._written = title
            self._emit(f"{keep}{title_sequence(title)}")


class Attention:
    """The bell, the terminal's notifications and a command of the person's own."""

    def __init__(self, app: App[None], keyboard: Keyboard, terms: ScreenTerms) -> None:
        emit = cast("_Terminal", app).emit
        self._app = app
        self._emit = emit
        self._keyboard = keyboard
        self._terms = terms
        self.title = WindowTitle(emit)
        self.focus_reported = False
        """Whether the outer terminal reports when it gains and loses the focus."""

    @property
    def away(self) -> bool:
        """Whether the window lacks focus; if the terminal reports none, whether no key came lately."""
        if self.focus_reported or not self._app.app_focus:
            return not self._app.app_focus
        return self._keyboard.idle >= self._keyboard.patience.reminder

    def call(self, words: str) -> None:
        """Notify a person who looks elsewhere. ``words`` must be ours, because they leave the screen."""
        if not self.away or self._terms.notify == "off":
            return
        self._app.bell()
        self._app.run_worker(self._tell(words), group="tell")
        if command := words_of(self._terms.notify_command):
            command_run = partial(_run, [*command, "sam", one_line(words)])
            self._app.run_worker(command_run, group="notify", exclusive=True)

    async def _tell(self, words: str) -> None:
        """Tell the terminal around, in its own way."""
        channel = cast("Channel", self._terms.notify)
        if channel == "auto" and os.environ.get("TMUX"):
            answer = await printed(*tmux_question(os.environ, BEHIND_TMUX))
            channel = channel_behind_tmux(answer, os.environ)
        elif channel == "auto":
            channel = channel_of(os.environ)
        for sequence in notification_sequences(channel, "sam", words):
            self._emit(sequence)


async def _run(command: list[str]) -> None:
    """Run the person's notification command. Its failure is not reported."""
    try:
        process = await started(command, answers=False)
    except (OSError, ValueError):
        return
    try:
        await process.wait()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
