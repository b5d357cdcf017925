"""The actions on what runs in terminals, by their names."""

from collections.abc import Callable, Mapping

from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.terminals.recordings import TerminalRecordings
from sam_tui.ui.controllers.terminals.requests import TerminalRequests
from sam_tui.ui.widgets.terminal.view import TerminalView


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
