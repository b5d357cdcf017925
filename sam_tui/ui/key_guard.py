"""Against stray keys: a question appears only in a pause, and ignores keys for a moment."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds without a key before a question appears, and seconds for which it then ignores keys.

    ``clock`` is monotonic, in seconds.
    """

    quiet: float = 0.7
    grace: float = 0.4
    reminder: float = 5.0
    """Seconds after which an open question rings the bell, if the terminal has no focus."""
    clock: Callable[[], float] = time.monotonic


class Keyboard:
    """The time at which the person pressed a key last."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._last = patience.clock() - patience.quiet

    def press(self) -> None:
        """A key was pressed just now."""
        self._last = self.patience.clock()

    @property
    def wait(self) -> float:
        """Seconds until the person paused long enough for a question; 0 or less when that is so."""
        return self._last + self.patience.quiet - self.patience.clock()

    @property
    def idle(self) -> float:
        """Seconds since the last key."""
        return self.patience.clock() - self._last


class KeyGuard:
    """Decides whether a key counts now. A key that is ignored, or has no meaning, starts the wait anew.

    No key counts while ``drawn`` is false: the person cannot see what they would answer.
    """

    def __init__(self, patience: Patience, drawn: Callable[[], bool] = lambda: True) -> None:
        self._patience = patience
        self._drawn = drawn
        self._deaf_until = 0.0
        self.rearm()

    def rearm(self) -> None:
        """Ignore keys for a moment: the panel was just shown, or the person types elsewhere."""
        self._deaf_until = self._patience.clock() + self._patience.grace

    def hears(self) -> bool:
        """Whether input counts; if not, the wait starts anew."""
        if self._drawn() and self._patience.clock() >= self._deaf_until:
            return True
        self.rearm()
        return False
