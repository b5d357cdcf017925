"""The tabs of the terminal panel: opened when first seen, restarted, added, closed, named."""

from functools import partial
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.terminal.canvas import TerminalCanvas
from sam_tui.ui.widgets.terminal.panel import MOST_TABS
from sam_tui.ui.widgets.terminal.view import TerminalView

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime

_LEAST = 2


class ShellController:
    """Opens sessions that belong to no conversation, and keeps the tabs."""

    def __init__(self, app: App[None], screen: ChatScreen) -> None:
        self._app = app
        self._screen = screen
        self._runtime: Runtime | None = None
        self._refused = False
        self._armed: TerminalView | None = None

    def begin(self, runtime: "Runtime") -> None:
        """From here on there are terminals."""
        self._runtime = runtime
        panel = self._screen.terminals
        if panel.owned(panel.current):
            self.want(panel.current)

    def end(self) -> None:
        """From here on no shell is opened: nobody would end it."""
        self._runtime = None

    def want(self, view: TerminalView) -> None:
        """Open a shell in a tab if it is on show and none runs."""
        panel = self._screen.terminals
        room = self._screen.side_shown and view.size.height >= _LEAST
        if room and not self._refused and panel.current is view and view.session is None:
            self.restart(view)

    def restart(self, view: TerminalCanvas) -> None:
        """Open a shell in a tab, in place of the one that ended there."""
        if self._runtime is not None and isinstance(view, TerminalView):
            # Called by the worker: one that is replaced before it began leaves no coroutine behind.
            opening = partial(self._open, self._runtime, view)
            self._app.run_worker(opening, group=f"shell-{view.id}", exclusive=True)

    async def _open(self, runtime: "Runtime", view: TerminalView) -> None:
        if self._runtime is None:
            return  # the workbench ended meanwhile
        # The ports come with the runtime, after the first frame.
        from sam_tui.core.ports.processes.terminals import SessionSpec

        old = view.session
        spec = SessionSpec(
            conversation=None,
            cwd=runtime.workspace.root,
            columns=max(_LEAST, view.size.width),
            rows=max(_LEAST, view.size.height),
        )
        try:
            session, _ = await runtime.terminals.open(spec)
        except SamError as error:
            self._refused = True
            self._screen.transcript.add_error(error)
            return
        if not view.is_attached:
            await runtime.terminals.close(session.id)
            return
        view.attach(session)
        if old is not None:
            await runtime.terminals.close(old.id)

    # ---- tabs

    def tab(self, argument: str) -> None:
        """What ``/tab`` asks: new, close, rename NAME, next, previous, a number or a name."""
        self._screen.show_side(True)
        word, _, title = argument.strip().partition(" ")
        if word != "close":
            self._armed = None
        match word:
            case "" | "next":
                self._screen.terminals.step(1)
            case "previous":
                self._screen.terminals.step(-1)
            case "new":
                self.add()
            case "close":
                self.close()
            case "rename":
                self._screen.terminals.rename(title)
            case _:
                if not self._screen.terminals.pick(argument.strip()):
                    self._say(f"There is no terminal {argument.strip()[:40]!r}.")

    def add(self) -> None:
        """Another shell."""
        self._screen.show_side(True)
        view = self._screen.terminals.add_shell()
        if view is None:
            self._say(f"There are {MOST_TABS} terminals already: close one first.")
        else:
            view.focus()

    def close(self) -> None:
        """End the shell on show and take its tab away; asked again where a command runs in it."""
        panel = self._screen.terminals
        view = panel.current
        session = view.session
        if session is not None and session.running and not panel.owned(view):
            self._say("The agent uses this terminal: it goes with its conversation.")
            return
        busy = session is not None and session.running and session.state.name != "finished"
        if busy and self._armed is not view:
            self._armed = view
            self._say("A command runs in this terminal: close it again to end it.")
            return
        self._armed = None
        panel.drop(view)
        if session is not None and self._runtime is not None and session.conversation is None:
            self._app.run_worker(self._runtime.terminals.close(session.id), group="shell-close")

    def rename(self) -> None:
        """Let the person type a name in the prompt."""
        area = self._screen.prompt.area
        self._screen.focus_bottom()
        if not area.text:
            area.put("/tab rename ")

    def _say(self, text: str) -> None:
        self._app.notify(text, severity="warning", markup=False)
