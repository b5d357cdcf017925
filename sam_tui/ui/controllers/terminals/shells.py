"""The person's shells: opens them when their tab is first displayed, restarts and ends them."""

from functools import partial

from sam_tui.core.errors import SamError
from sam_tui.core.ports.processes.terminals import SessionSpec, TerminalSession
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.widgets.terminal.canvas import TerminalCanvas
from sam_tui.ui.widgets.terminal.view import TerminalView

_LEAST = 2
"""The least columns and rows of a visible shell."""
_STARTS_WITHIN = 20.0
"""Seconds that a new shell has to show its prompt."""
_HIDDEN = (80, 24)
"""The columns and rows of a hidden shell."""


class Shells:
    """Opens sessions that belong to no conversation."""

    def __init__(self, context: Context) -> None:
        self._app = context.app
        self._screen = context.screen
        self._runtime = context.runtime
        self._refused = False
        """Whether opening a shell failed; then none is opened without a request of the person."""
        self._closed = False

    def close(self) -> None:
        """Open no more shells: nothing would end them."""
        self._closed = True

    def want_current(self) -> None:
        """Open a shell in the tab on show if it is one for shells."""
        panel = self._screen.terminals
        if panel.owned(panel.current):
            self.want(panel.current)

    def want(self, view: TerminalView) -> None:
        """Open a shell in a tab if it is on show and none runs."""
        room = self._screen.side_shown and view.size.height >= _LEAST
        current = self._screen.terminals.current is view
        if room and current and view.session is None:
            if self._refused:
                view.refuse()
            else:
                self.restart(view)

    def restart(self, view: TerminalCanvas) -> None:
        """Open a shell in a tab, in place of the ended one."""
        if not self._closed and isinstance(view, TerminalView):
            # Called by the worker: if it is replaced before it begins, no coroutine remains unawaited.
            opening = partial(self._open, view)
            self._app.run_worker(opening, group=f"shell-{view.id}", exclusive=True)

    async def ready(self, view: TerminalView) -> TerminalSession | None:
        """The shell of a tab, started if none is running; None if it cannot be started, which is then on
        the screen."""
        if view.session is None or not view.session.running:
            await self._open(view)
        if view.session is not None and not view.session.end:
            await view.session.activity.settled(within=_STARTS_WITHIN)
        return view.session

    async def _open(self, view: TerminalView) -> None:
        if self._closed:
            return
        old = view.session
        spec = SessionSpec(
            conversation=None,
            cwd=self._runtime.workspace.root,
            columns=view.size.width if view.size.width >= _LEAST else _HIDDEN[0],
            rows=view.size.height if view.size.height >= _LEAST else _HIDDEN[1],
        )
        try:
            session, _ = await self._runtime.terminals.open(spec)
        except SamError as error:
            self._refused = True
            view.refuse()
            self._screen.transcript.add_error(error)
            return
        if not view.is_attached:
            await self._runtime.terminals.close(session.id)
            return
        self._refused = False
        view.attach(session)
        if old is not None:
            await self._runtime.terminals.close(old.id)

    def end(self, session: TerminalSession) -> None:
        """End a shell whose tab is gone."""
        closing = self._runtime.terminals.close(session.id)
        self._app.run_worker(closing, group="shell-close")
