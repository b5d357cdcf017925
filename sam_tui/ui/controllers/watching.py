"""What goes on in the terminals, for the status bar: looked at after they change, never in turns."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sam_tui.ui.later import after
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.widgets.terminal_view import TerminalView

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from sam_tui.core.ports.processes.terminals import TerminalSession
    from sam_tui.ui.session_state import SessionNotice

_PACE = 1.0
"""Seconds between two looks at least, however much the terminals print."""


class Watching:
    """Looks at a session soon after it printed something, and when time alone changes what is told.

    While nothing happens in any of them no timer runs.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._followed: dict[TerminalView, tuple[TerminalSession, Callable[[], None]]] = {}
        self._timer: TimerHandle | None = None
        self._due = 0.0
        self._looked = 0.0

    @property
    def at_rest(self) -> bool:
        """Whether nothing will be looked at before something happens."""
        return self._timer is None

    def follow(self, view: TerminalView) -> None:
        """A view shows another session now, or none."""
        old = self._followed.pop(view, None)
        if old is not None:
            old[1]()
        if view.session is not None:
            self._followed[view] = (view.session, view.session.watch(self.look_soon))
        self.look_soon()

    def look_soon(self) -> None:
        """Something changed: look once a second has passed since the last time."""
        self._look_in(max(0.05, self._looked + _PACE - time.monotonic()))

    def _look_in(self, seconds: float) -> None:
        if not self._screen.is_running:
            return  # sessions end after the screen does
        now = time.monotonic()
        due = now + seconds
        if self._timer is not None:
            if self._due <= due and now < self._due + _PACE:
                return
            self._timer.cancel()
        self._due = due
        self._timer = after(self._screen, seconds, self._look)

    def _look(self) -> None:
        from sam_tui.ui.session_state import told_of  # no first frame needs it

        self._timer = None
        self._looked = time.monotonic()
        panel = self._screen.terminals
        states = [
            state
            for view, (session, _) in self._followed.items()
            if (state := told_of(session, panel.name_of(view), watched=view.has_focus))
        ]
        self._tell(sorted(states, key=lambda state: state.weight))
        again = [state.again for state in states if state.again is not None]
        if again:
            self._look_in(max(_PACE, min(again)))

    def _tell(self, states: "list[SessionNotice]") -> None:
        standing = self._screen.status.standing
        more = f" +{len(states) - 1}" if len(states) > 1 else ""
        line = (f"{states[0].words}{more}", states[0].style) if states else ("", "")
        if line != standing.sessions:
            standing.sessions = line
            self._screen.status.show()
