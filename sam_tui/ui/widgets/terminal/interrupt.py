"""Ctrl+C that is not heeded: offered to be followed by TERM and KILL, and how that goes."""

from asyncio import TimerHandle
from typing import TYPE_CHECKING

from sam_tui.ui.timers import after
from sam_tui.ui.widgets.terminal.canvas import TerminalCanvas

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import TerminalSession

_PATIENCE = 1.0
"""Seconds after which a command that still runs did not heed an interrupt."""
_OFFERED = 10.0
_WORDS = {"INT": "interrupted", "TERM": "asked to end (TERM)", "KILL": "killed (KILL)"}


class Interrupting:
    """The ladder of one view. ``words`` are for its border.

    The offer is made for a command that works; one that waits for keys has its own use for Ctrl+C.
    """

    def __init__(self, view: TerminalCanvas) -> None:
        self.words = ""
        self._view = view
        self._offered: TerminalSession | None = None
        self._timer: TimerHandle | None = None
        self._ending = False

    def pressed(self, session: "TerminalSession") -> bool:
        """Ctrl+C was typed; whether that takes the offer."""
        if self._ending:
            return False
        interrupts = self._offered is session and self._runs(session)
        self.put("")
        if not interrupts:
            self._wait(_PATIENCE, session)
        return interrupts

    def ended(self, session: "TerminalSession") -> None:
        """Something was printed: an offer for a command that is over goes."""
        if self._offered is session and not self._runs(session):
            self.put("")

    async def end(self, session: "TerminalSession") -> bool:
        """Climb the ladder; whether the command ended, or is being ended already."""
        if self._ending:
            return True
        self._ending = True
        self.put("ending it: INT, then TERM, then KILL")
        try:
            state = await session.end_command(self._struck)
        finally:
            self._ending = False
            self.put("")
        return state.name == "finished"

    def _struck(self, name: str) -> None:
        self.put(f"ending it: {_WORDS.get(name, name)}")

    def _wait(self, seconds: float, session: "TerminalSession") -> None:
        self._timer = after(self._view, seconds, lambda: self.look(session))

    def look(self, session: "TerminalSession") -> None:
        """The command had its time: offer more where it still works."""
        self._timer = None
        if self._offered is not None:
            self.put("")
        elif self._runs(session):
            self.put("still running · Ctrl+C again: TERM, KILL", session)
            self._wait(_OFFERED, session)

    def _runs(self, session: "TerminalSession") -> bool:
        return session.running and session.state.name in ("running", "quiet")

    def put(self, words: str, session: "TerminalSession | None" = None) -> None:
        """Say this in the border; with a session, the next Ctrl+C there takes the offer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._offered = session
        if words != self.words:
            self.words = words
            if self._view.is_attached:
                self._view.painted()
