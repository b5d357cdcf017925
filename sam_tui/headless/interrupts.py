"""SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, a second ends the process."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from sam_tui import signals
from sam_tui.headless.outcome import EXIT_CODES, Subtype


class Interrupted(BaseException):
    """A signal came while nothing ran that could be cancelled; ``subtype`` is how that counts."""

    def __init__(self, subtype: Subtype) -> None:
        super().__init__(subtype)
        self.subtype: Subtype = subtype


class Interrupts:
    """Handles the signals of this process between ``install`` and ``restore``.

    Plain handlers, not the event loop's: they also work while the loop is stuck in a system call.
    """

    def __init__(self) -> None:
        self.subtype: Subtype | None = None
        self._cancel: Callable[[], None] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Take the signals. One that the caller ignores on purpose (nohup) stays ignored."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signals.ignored(number):
                continue
            self._before[number] = signal.getsignal(number)
            signal.signal(number, self._handle)

    def restore(self) -> None:
        """Restore the previous signal handlers."""
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    def cancel_with(self, cancel: Callable[[], None] | None) -> None:
        """Set the action of the first signal; None raises ``Interrupted`` where it strikes.

        ``cancel`` is called inside the handler: it may only set something going.
        """
        self._cancel = cancel

    def _handle(self, number: int, frame: FrameType | None) -> None:
        subtype: Subtype = "cancelled" if number == signal.SIGINT else "terminated"
        if self.subtype is not None:
            # The person has seen enough: no clean-up, no more output.
            os._exit(EXIT_CODES[subtype])
        self.subtype = subtype
        if self._cancel is None:
            raise Interrupted(subtype)
        self._cancel()
