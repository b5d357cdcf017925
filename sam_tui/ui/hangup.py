"""The terminal around the workbench can go away at any moment: then it ends, and never waits for it."""

import asyncio
import signal
from collections.abc import Callable
from typing import IO, Any

from textual.driver import Driver

TERMINATED = 143
"""The exit code, as for SIGTERM and SIGHUP."""


Leave = Callable[[int], object]
"""Ends the app in good order with an exit code."""


def heed_signals(loop: asyncio.AbstractEventLoop, leave: Leave) -> None:
    """Have SIGTERM and SIGHUP end the app. Call it on the main thread, in which the loop runs.

    The handlers of the loop itself are told through a socket that a burst of keys from the reading
    thread fills: a signal that no longer fits is lost.
    """

    def heard(*_: object) -> None:
        loop.call_soon_threadsafe(leave, TERMINATED)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, heard)


def unheed_signals() -> None:
    """What they do by themselves again: there is no app any more."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Forgiving:
    """A file for the driver's writing thread. Once it cannot be written to, all else is dropped.

    With the file itself that thread would die of the first error, and whoever draws wait for it for
    ever as soon as its queue is full.
    """

    def __init__(self, file: IO[str], gone: Callable[[], None]) -> None:
        self._file = file
        self._gone = gone
        self._lost = False

    def write(self, text: str) -> None:
        """Write, or drop."""
        self._try(lambda: self._file.write(text))

    def flush(self) -> None:
        """Flush, or drop."""
        self._try(self._file.flush)

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def _try(self, act: Callable[[], object]) -> None:
        if self._lost:
            return
        try:
            act()
        except OSError:
            self._lost = True
            self._gone()


def lasting(driver: type[Driver]) -> type[Driver]:
    """The driver, so that it outlives its terminal for as long as the app needs to end."""
    from textual.drivers.linux_driver import LinuxDriver

    if not issubclass(driver, LinuxDriver):
        return driver

    class LastingDriver(driver):
        """Draws through ``Forgiving``, and has the app end when the terminal is gone."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
            loop, app = asyncio.get_running_loop(), self._app

            def gone() -> None:
                loop.call_soon_threadsafe(lambda: app.exit(None, TERMINATED))

            self._file: Any = Forgiving(self._file, gone)

        def run_input_thread(self) -> None:
            """Read as ``incoming`` does."""
            from sam_tui.ui.incoming import read_input

            read_input(self.fileno, self.exit_event, self.process_message, debug=self._debug)

    return LastingDriver
