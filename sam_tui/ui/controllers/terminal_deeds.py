"""The actions of the terminals by their names."""

from collections.abc import Callable, Mapping

from sam_tui.ui.controllers.recordings import RecordingDesk
from sam_tui.ui.controllers.requests import Requests
from sam_tui.ui.controllers.shell import Shell
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.terminal_view import TerminalView


class TerminalDeeds:
    """``all`` is what the desk adds to its own."""

    def __init__(
        self, screen: ChatScreen, shell: Shell, requests: Requests, recordings: RecordingDesk
    ) -> None:
        self._screen = screen
        self._shell = shell
        self._requests = requests
        self._recordings = recordings

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
            "zoom": lambda _: self._screen.zoom(),
            "look_back": lambda _: self._look_back(),
            "record": self._recordings.record,
            "replay": self._recordings.replay,
            "export": self._recordings.export,
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

    def _use(self, way: str) -> None:
        self._requests.use(way, self._screen.terminals.current)
