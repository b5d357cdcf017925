"""The chord that leads out of a terminal, and takes no other key with it."""

from asyncio import TimerHandle
from collections.abc import Callable

from textual.widget import Widget

from sam_tui.ui.timers import after

LEAVE = "ctrl+right_square_bracket"
"""Pressed twice, it leads back to the workbench."""

WITHIN = 0.6
"""Seconds after which the first key was meant for the program."""


class Chord:
    """Holds the first key back until it is clear whom it is for.

    ``alone`` is called when it was no chord: with True where something else followed, with False where
    nothing did in time.
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
