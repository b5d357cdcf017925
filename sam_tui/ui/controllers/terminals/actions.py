"""The actions on terminals, by their names; recordings: made, listed, played, copied."""

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from sam_tui.core.errors import SamError
from sam_tui.core.ids import SessionId
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.terminals.requests import TerminalRequests
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.widgets.terminal.panel import MOST_TABS
from sam_tui.ui.widgets.terminal.view import TerminalView

_MASKED = ".masked.cast"


class TerminalRecordings:
    """The person's actions on recordings."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recordings = context.runtime.recordings
        self._root = context.runtime.workspace.root
        self._running: dict[SessionId, tuple[str, TerminalView, Callable[[], None]]] = {}

    def record(self, target: str) -> None:
        """Begin to record the terminal on show, or end its recording."""
        view = self._context.screen.terminals.current
        session = view.session
        if session is None:
            self._context.notify("There is no terminal to record.")
            return
        if session.id in self._running:
            self._end(session.id)
            return
        try:
            path = self._path(target) if target.strip() else self._recordings.fresh()
            self._running[session.id] = (path, view, session.record(path))
        except SamError as error:
            self._context.notify(error.explain())
            return
        view.mark_recording(True)
        self._context.notify(
            f"Recording the output of this terminal to {path}. Alt+R or /record ends it."
        )

    def _end(self, session: SessionId) -> None:
        path, view, stop = self._running.pop(session)
        stop()
        view.mark_recording(False)
        self._context.notify(
            f"Recorded: {path}. /replay plays it; e exports it without secrets there."
        )

    def replay(self, target: str) -> None:
        """Play a recording in a tab: the one named, or one of a list."""
        if target.strip():
            self._play(self._path(target))
            return
        options = [
            (
                Choice(
                    recording.name,
                    f"{datetime.fromtimestamp(recording.at):%b %d %H:%M} · {_size(recording.size)}",
                ),
                partial(self._play, recording.path),
            )
            for recording in self._recordings.recordings(self._root)
        ]
        empty = "There are no recordings yet. Alt+R or /record records this terminal."
        self._context.pick("play a recording", options, empty=empty)

    def _play(self, path: str) -> None:
        try:
            playback = self._recordings.open(path)
        except SamError as error:
            self._context.notify(error.explain())
            return
        self._context.screen.show_side(True)
        view = self._context.screen.terminals.add_replay(playback, path)
        if view is None:
            playback.close()
            self._context.notify(f"There are {MOST_TABS} terminals already: close one first.")
        else:
            self._context.screen.set_focus(view)

    def export(self, path: str) -> None:
        """Write a copy without secrets next to a recording."""
        self._context.app.run_worker(self._export(path), group="export")

    async def _export(self, path: str) -> None:
        copy = path.removesuffix(".cast") + _MASKED
        try:
            masked = await self._recordings.export(path, copy)
        except SamError as error:
            self._context.notify(error.explain())
            return
        count = "no secret was" if not masked else f"{masked} secret{'s' * (masked > 1)} masked"
        summary = f"{count} found in it" if not masked else count
        self._context.notify(f"{copy}: {summary}.")

    def _path(self, target: str) -> str:
        return os.path.join(self._root, os.path.expanduser(target.strip()))


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{max(1, count // 1000)} kB"


class TerminalActions:
    """Ends commands, records, reads the output, and takes or hands over the agent's terminal."""

    def __init__(self, context: Context, requests: TerminalRequests) -> None:
        self._context = context
        self._panel = context.screen.terminals
        recordings = TerminalRecordings(context)
        self.table: Mapping[str, Callable[[str], object]] = {
            "end_command": lambda _: requests.end_command(self._panel.current),
            "watch_only": lambda _: self._watch_only(),
            "take": lambda _: self._take(),
            "record": recordings.record,
            "replay": recordings.replay,
            "export": recordings.export,
            "output_pager": lambda _: requests.use("pager", self._panel.current),
            "output_editor": lambda _: requests.use("editor", self._panel.current),
            "output_send": lambda _: requests.use("send", self._panel.current),
        }

    def _watch_only(self) -> None:
        """Let nobody type in the agent's terminal, or the agent again."""
        view = self._agents()
        if view is None or view.session is None:
            return
        view.session.turns.pass_to("agent" if view.session.turns.holder == "watch" else "watch")
        view.painted()

    def _take(self) -> None:
        """Take the agent's terminal, or hand it back."""
        view = self._agents()
        if view is None or view.session is None:
            return
        if view.session.turns.holder == "person":
            view.session.turns.pass_to("agent")
        else:
            view.session.turns.pass_to("person")
            self._context.screen.set_focus(view)
        view.painted()

    def _agents(self) -> TerminalView | None:
        """The agent's terminal, on show: the one on show already, or the first."""
        panel = self._panel
        mine = panel.current if not panel.owned(panel.current) else panel.agent
        view = mine if mine.session is not None else panel.agent
        if view.session is None or not view.session.running:
            self._context.notify_briefly("The agent has no terminal here.")
            return None
        self._context.screen.show_side(True)
        panel.show(view)
        return view
