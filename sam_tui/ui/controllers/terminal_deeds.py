"""The actions of the terminals by their names."""

import os
import time
from collections.abc import Callable, Mapping

from sam_tui.core.errors import SamError
from sam_tui.core.ids import SessionId
from sam_tui.ui.controllers.requests import Requests
from sam_tui.ui.controllers.shell import Shell
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.terminal_view import TerminalView


class TerminalDeeds:
    """``all`` is what the desk adds to its own."""

    def __init__(self, screen: ChatScreen, shell: Shell, requests: Requests) -> None:
        self._screen = screen
        self._shell = shell
        self._requests = requests
        self._recordings: dict[SessionId, tuple[str, Callable[[], None]]] = {}

    @property
    def all(self) -> Mapping[str, Callable[[str], object]]:
        """Every action of the terminals, and what it does with its argument."""
        return {
            "terminal": lambda _: self._go(),
            "tab": self._shell.tab,
            "tab_previous": lambda _: self._shell.tab("previous"),
            "tab_new": lambda _: self._shell.add(),
            "tab_close": lambda _: self._shell.close(),
            "tab_rename": lambda _: self._shell.rename(),
            **{f"tab_{n}": lambda _, n=n: self._shell.tab(str(n)) for n in range(1, 10)},
            "look_back": lambda _: self._look_back(),
            "record": self._record,
            "output_pager": lambda _: self._use("pager"),
            "output_editor": lambda _: self._use("editor"),
            "output_send": lambda _: self._use("send"),
        }

    def _go(self) -> None:
        screen = self._screen
        if isinstance(screen.focused, TerminalView):
            screen.focus_bottom()
            return
        screen.show_side(True)
        screen.terminals.current.focus()

    def _look_back(self) -> None:
        self._screen.show_side(True)
        view = self._screen.terminals.current
        view.focus()
        view.look_back(True)

    def _record(self, given: str) -> None:
        """Begin to record the session on show, or end its recording."""
        session = self._screen.terminals.current.session
        if session is None:
            self._requests.tell("There is no terminal to record.")
            return
        if session.id in self._recordings:
            path, stop = self._recordings.pop(session.id)
            stop()
            self._requests.tell(
                f"Recorded: {path}. “sam-tui term export” makes a copy without secrets."
            )
            return
        path = os.path.abspath(given.strip() or time.strftime("terminal-%Y%m%d-%H%M%S.cast"))
        try:
            self._recordings[session.id] = (path, session.record(path))
        except SamError as error:
            self._requests.tell(error.explain())
            return
        self._requests.tell(f"Recording what this terminal prints to {path}. /record ends it.")

    def _use(self, way: str) -> None:
        self._requests.use(way, self._screen.terminals.current)
