"""The actions of the terminals by their names."""

from collections.abc import Callable, Mapping

from sam_tui.ui.controllers.terminals.recordings import RecordingDesk
from sam_tui.ui.controllers.terminals.requests import Requests
from sam_tui.ui.controllers.terminals.shells import ShellController
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.terminal.view import TerminalView


class TerminalDeeds:
    """``all`` is what the desk adds to its own."""

    def __init__(
        self,
        screen: ChatScreen,
        shell: ShellController,
        requests: Requests,
        recordings: RecordingDesk,
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
            "end_command": lambda _: self._requests.end_command(self._screen.terminals.current),
            "watch_only": lambda _: self._watch_only(),
            "take": lambda _: self._take(),
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
        screen.set_focus(screen.terminals.current)

    def _look_back(self) -> None:
        self._screen.show_side(True)
        view = self._screen.terminals.current
        self._screen.set_focus(view)
        view.look_back(True)

    def _watch_only(self) -> None:
        """Let nobody type in the agent's terminal, or the agent again."""
        view = self._agents()
        if view is None or view.session is None:
            return
        view.session.pass_to("agent" if view.session.holder == "watch" else "watch")
        view.painted()

    def _take(self) -> None:
        """Take the agent's terminal, or hand it back."""
        view = self._agents()
        if view is None or view.session is None:
            return
        if view.session.holder == "person":
            view.session.pass_to("agent")
        else:
            view.session.pass_to("person")
            view.focus()
        view.painted()

    def _agents(self) -> TerminalView | None:
        """The agent's terminal, on show: the one on show already, or the first."""
        panel = self._screen.terminals
        mine = panel.current if not panel.owned(panel.current) else panel.agent
        view = mine if mine.session is not None else panel.agent
        if view.session is None or not view.session.running:
            self._requests.notify_briefly("The agent has no terminal here.")
            return None
        self._screen.show_side(True)
        panel.show(view)
        return view

    def _use(self, target: str) -> None:
        self._requests.use(target, self._screen.terminals.current)
