"""Keys that mean more when pressed twice: Ctrl+] leaves a terminal, Ctrl+C ends a command."""

from asyncio import TimerHandle
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

from sam_tui.ui.timers import after
from sam_tui.ui.widgets.terminal.canvas import TerminalCanvas

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.terminals import TerminalSession


_PATIENCE = 1.0
"""A command that still runs so many seconds after an interrupt has ignored it."""
_OFFERED = 10.0
_WORDS = {"INT": "interrupted", "TERM": "asked to end (TERM)", "KILL": "killed (KILL)"}


class Interrupting:
    """Ends a command that ignores Ctrl+C, in one view. ``words`` are for its border.

    The offer appears for a command that computes; one that waits for keys uses Ctrl+C itself.
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
        """Send INT, TERM, KILL in turn; whether the command has ended, or is being ended already."""
        if self._ending:
            return True
        self._ending = True
        self.put("ending it: INT, then TERM, then KILL")
        try:
            state = await session.activity.end_command(self._signalled)
        finally:
            self._ending = False
            self.put("")
        return state.name == "finished"

    def _signalled(self, name: str) -> None:
        self.put(f"ending it: {_WORDS.get(name, name)}")

    def _wait(self, seconds: float, session: "TerminalSession") -> None:
        self._timer = after(self._view, seconds, lambda: self.look(session))

    def look(self, session: "TerminalSession") -> None:
        """After a while: offer to end the command if it still computes."""
        self._timer = None
        if self._offered is not None:
            self.put("")
        elif self._runs(session):
            self.put("still running · Ctrl+C again: TERM, KILL", session)
            self._wait(_OFFERED, session)

    def _runs(self, session: "TerminalSession") -> bool:
        return session.running and session.activity.state.name in ("running", "quiet")

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


LEAVE = "ctrl+right_square_bracket"
"""The key that returns to the workbench when pressed twice."""

WITHIN = 0.6
"""If no second key follows within so many seconds, the first goes to the program."""


class Chord:
    """Holds back the first key of a chord until the next key, or a time limit, decides its meaning.

    ``alone`` is called if there was no chord: with True if another key followed, with False after the
    time limit.
    """

    def __init__(self, widget: Widget, alone: Callable[[bool], None]) -> None:
        self._widget = widget
        self._alone = alone
        self._timer: TimerHandle | None = None

    @property
    def pending(self) -> bool:
        """Whether the first key waits."""
        return self._timer is not None

    def press(self) -> bool:
        """The key was pressed; whether that completed the chord."""
        if self._timer is not None:
            self._stop()
            return True
        self._timer = after(self._widget, WITHIN, self._late)
        return False

    def release(self) -> None:
        """Something else happened. Nothing when no key was held back."""
        if self._timer is not None:
            self._stop()
            self._alone(True)

    def _late(self) -> None:
        self._stop()
        self._alone(False)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
