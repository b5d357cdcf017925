"""Recordings of terminals: begun and ended, listed, played in a tab, copied without secrets."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.core.ids import SessionId
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker
from sam_tui.ui.widgets.terminal.panel import MOST_TABS
from sam_tui.ui.widgets.terminal.view import TerminalView

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime

_MASKED = ".masked.cast"


class RecordingDesk:
    """What the person does with recordings."""

    def __init__(self, app: App[None], screen: ChatScreen) -> None:
        self._app = app
        self._screen = screen
        self._runtime: Runtime | None = None
        self._running: dict[SessionId, tuple[str, TerminalView, Callable[[], None]]] = {}

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is something to record and to play."""
        self._runtime = runtime

    def record(self, target: str) -> None:
        """Begin to record the terminal on show, or end its recording."""
        view = self._screen.terminals.current
        session = view.session
        if session is None or self._runtime is None:
            self._tell("There is no terminal to record.")
            return
        if session.id in self._running:
            self._end(session.id)
            return
        try:
            path = self._path(target) if target.strip() else self._runtime.recordings.fresh()
            self._running[session.id] = (path, view, session.record(path))
        except SamError as error:
            self._tell(error.explain())
            return
        view.mark_recording(True)
        self._tell(f"Recording what this terminal prints to {path}. Alt+R or /record ends it.")

    def _end(self, session: SessionId) -> None:
        path, view, stop = self._running.pop(session)
        stop()
        view.mark_recording(False)
        self._tell(f"Recorded: {path}. /replay plays it; e there exports it without secrets.")

    def replay(self, target: str) -> None:
        """Play a recording in a tab: the one named, or one of a list."""
        runtime = self._runtime
        if runtime is None:
            return
        if target.strip():
            self._play(self._path(target))
            return
        listed = runtime.recordings.recordings(runtime.workspace.root)

        async def load() -> Sequence[Choice]:
            return [
                Choice(
                    recording.name,
                    f"{datetime.fromtimestamp(recording.at):%b %d %H:%M} · {_size(recording.size)}",
                )
                for recording in listed
            ]

        def chosen(index: int | None) -> None:
            if index is not None:
                self._play(listed[index].path)

        empty = "Nothing was recorded yet. Alt+R or /record records the terminal on show."
        self._app.push_screen(Picker("play a recording", load, empty=empty), chosen)

    def _play(self, path: str) -> None:
        if self._runtime is None:
            return
        try:
            playback = self._runtime.recordings.open(path)
        except SamError as error:
            self._tell(error.explain())
            return
        self._screen.show_side(True)
        view = self._screen.terminals.add_replay(playback, path)
        if view is None:
            playback.close()
            self._tell(f"There are {MOST_TABS} terminals already: close one first.")
        else:
            view.focus()

    def export(self, path: str) -> None:
        """Write a copy without secrets beside a recording."""
        if self._runtime is not None:
            self._app.run_worker(self._export(self._runtime, path), group="export")

    async def _export(self, runtime: "Runtime", path: str) -> None:
        copy = path.removesuffix(".cast") + _MASKED
        try:
            masked = await runtime.recordings.export(path, copy)
        except SamError as error:
            self._tell(error.explain())
            return
        count = "no secret was" if not masked else f"{masked} secret{'s' * (masked > 1)} masked"
        summary = f"{count} found in it" if not masked else count
        self._tell(f"{copy}: {summary}.")

    def _path(self, target: str) -> str:
        root = self._runtime.workspace.root if self._runtime is not None else "."
        return os.path.join(root, os.path.expanduser(target.strip()))

    def _tell(self, text: str) -> None:
        self._app.notify(text, markup=False)


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{max(1, count // 1000)} kB"
