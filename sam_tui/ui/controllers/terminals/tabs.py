"""The tabs of the terminal panel: added, closed, named, chosen."""

from collections.abc import Callable, Mapping

from textual.app import App

from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.terminal.messages import ShellDropped
from sam_tui.ui.widgets.terminal.panel import MOST_TABS
from sam_tui.ui.widgets.terminal.view import TerminalView


class Tabs:
    """The person's actions on tabs. Sessions are opened and ended elsewhere."""

    def __init__(self, app: App[None], screen: ChatScreen) -> None:
        self._app = app
        self._screen = screen
        self._armed: TerminalView | None = None
        """The view in which a command runs; a second attempt to close it succeeds."""

    @property
    def actions(self) -> Mapping[str, Callable[[str], object]]:
        """Every action on tabs by its name."""
        return {
            "tab": self._tab,
            "tab_previous": lambda _: self._step(-1),
            "tab_new": lambda _: self._add(),
            "tab_close": lambda _: self._close(),
            "tab_rename": lambda _: self._rename(),
            **{f"tab_{n}": lambda _, n=n: self._pick(str(n)) for n in range(1, 10)},
        }

    def _tab(self, argument: str) -> None:
        """Carry out ``/tab``: new, close, rename NAME, next, previous, a number or a name."""
        word, _, title = argument.strip().partition(" ")
        match word:
            case "" | "next":
                self._step(1)
            case "previous":
                self._step(-1)
            case "new":
                self._add()
            case "close":
                self._screen.show_side(True)
                self._close()
            case "rename":
                self._show_side()
                self._screen.terminals.rename(title)
            case _:
                self._pick(argument.strip())

    def _show_side(self) -> None:
        self._armed = None
        self._screen.show_side(True)

    def _step(self, by: int) -> None:
        self._show_side()
        self._screen.terminals.step(by)

    def _pick(self, name: str) -> None:
        self._show_side()
        if not self._screen.terminals.pick(name):
            self._warn(f"There is no terminal {name[:40]!r}.")

    def _add(self) -> None:
        """Another shell."""
        self._show_side()
        view = self._screen.terminals.add_shell()
        if view is None:
            self._warn(f"There are {MOST_TABS} terminals already: close one first.")
        else:
            self._screen.set_focus(view)

    def _close(self) -> None:
        """Take the tab on show away, and let its shell end; asked again where a command runs in it."""
        panel = self._screen.terminals
        view = panel.current
        session = view.session
        if session is not None and session.running and not panel.owned(view):
            self._warn("The agent uses this terminal: it closes with its conversation.")
            return
        busy = session is not None and session.running and session.activity.state.name != "finished"
        if busy and self._armed is not view:
            self._armed = view
            self._warn("A command is running in this terminal: close the tab again to end it.")
            return
        self._armed = None
        panel.drop(view)
        if session is not None and session.conversation is None:
            panel.post_message(ShellDropped(session))

    def _rename(self) -> None:
        """Let the person type a name in the prompt."""
        area = self._screen.prompt.area
        self._screen.focus_bottom()
        if not area.text:
            area.put("/tab rename ")

    def _warn(self, text: str) -> None:
        self._app.notify(text, severity="warning", markup=False)
