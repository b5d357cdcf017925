"""Output to the terminal around: the program never waits for it, and ends when it goes away."""

import asyncio
import os
import shutil
import signal
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual.driver import Driver
from textual.events import Resize
from textual.geometry import Size
from textual.message import Message

from sam_tui.core.text import charsets
from sam_tui.ui.driver.cells import DrawnCells, draw_again, erases_in_ground
from sam_tui.ui.driver.clusters import settled
from sam_tui.ui.driver.keys import Ending, TerminalAnswers, pressed, read_input

TERMINATED = 143
"""The exit code after SIGTERM and SIGHUP."""
_RINGS = 4096
_MOST_WAITING = 1024 * 1024
"""The most bytes that wait for the terminal: some hundred frames."""
_LAST_SECONDS = 1.0
"""Seconds that the terminal has to read the last output."""


Leave = Callable[[int], object]
"""Ends the app cleanly with an exit code."""


def heed_signals(loop: asyncio.AbstractEventLoop, leave: Leave) -> None:
    """Have SIGTERM and SIGHUP end the app, and any signal wake the loop. Call it on the main thread.

    A signal that comes just before the loop begins to wait, or that another thread gets, is handled no
    sooner than the loop wakes: a new size of the window waited for the next key. The handlers of the
    loop itself are told through a socket that a burst of keys from the reading thread fills: a signal
    that no longer fits is lost.
    """

    def heard(*_: object) -> None:
        loop.call_soon_threadsafe(leave, TERMINATED)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, heard)
    bell, ringer = os.pipe()
    os.set_blocking(bell, False)
    os.set_blocking(ringer, False)
    loop.add_reader(bell, os.read, bell, _RINGS)
    # If the byte does not fit, enough others are there to wake the reader.
    signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)


def unheed_signals() -> None:
    """Restore the default action of the signals: the app has ended."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)


def from_anywhere(action: Callable[[], object]) -> Callable[..., None]:
    """A function that runs ``action`` in the current event loop, callable from any thread or signal
    handler."""
    loop = asyncio.get_running_loop()

    def call(*_: object) -> None:
        with suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(action)

    return call


def window_size() -> os.terminal_size:
    """The size that the terminal around reports; if it reports none, ``COLUMNS`` and ``LINES``.

    Those are values that a shell once exported; only the terminal knows the window's present size.
    """
    for descriptor in range(3):
        with suppress(OSError):
            size = os.get_terminal_size(descriptor)
            if size.columns and size.lines:
                return size
    return shutil.get_terminal_size()


class WindowSized:
    """Gives a driver the size of its terminal."""

    _app: Any
    _size: tuple[int, int] | None

    def _begin_sized(self) -> Any:
        """Set the size if there is none yet, and return the app."""
        self._size = self._size or window_size()
        return self._app

    def _get_terminal_size(self) -> tuple[int, int]:
        return window_size()


def heed_sizes(driver: Any) -> None:
    """Report every size of the window to a driver's app, the newest last.

    Textual reads the size in its signal handler: where the next signal interrupts that, it reports the
    earlier size last, and draws for that one from then on.
    """

    def tell() -> None:
        if not driver._in_band_window_resize:
            size = Size(*driver._get_terminal_size())
            driver._app.post_message(Resize(size, size))

    signal.signal(signal.SIGWINCH, from_anywhere(tell))
    tell()


class Forgiving:
    """A file for the driver that never blocks: a thread writes what the terminal does not accept at once.

    With the file itself the driver's queue would fill up when the terminal stops reading (a stalled
    connection); drawing would block, and with it all work and every signal. Once a write fails, or too
    much is waiting, the rest is dropped. ``on_hang_up`` is called after a failed write, and ``behind``
    when the terminal reads again after too much was waiting.
    """

    def __init__(
        self, file: IO[str], on_hang_up: Callable[[], None], behind: Callable[[], None]
    ) -> None:
        self._file = file
        self._direct = _unblocking(file)
        self._hung_up = on_hang_up
        self._behind = behind
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._dropped = False
        self._lost = False
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="terminal-output", daemon=True).start()

    def write(self, text: str) -> None:
        """Queue text for writing; it is dropped if too much is waiting."""
        data = text.encode(getattr(self._file, "encoding", None) or "utf-8", charsets.AS_CELLS)
        with self._changed:
            self._dropped = self._dropped or self._size > _MOST_WAITING
            if not (self._waiting or self._lost):
                data = data[self._write_now(data) :]
            if data and not (self._lost or self._dropped):
                self._waiting.append(data)
                self._size += len(data)
                self._changed.notify_all()

    def _write_now(self, data: bytes) -> int:
        """The number of bytes that the terminal accepted at once, which is quicker than the thread."""
        if self._direct is None or not data:
            return 0
        try:
            return os.write(self._direct, data)
        except OSError:  # full, or gone: the thread finds out
            return 0

    def flush(self) -> None:
        """Do nothing: text is written as soon as the terminal takes it."""

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def hurry(self, text: str = "") -> None:
        """Drop the frames that wait, because this text has to be written soon."""
        with self._changed:
            while len(self._waiting) > 1:
                self._size -= len(self._waiting.pop())
            self._dropped = False
        self.write(text)

    def finish(self, seconds: float) -> None:
        """Wait until all is written; not for a terminal that takes nothing for so long."""
        with self._changed:
            while self._waiting and not self._lost:
                if not self._changed.wait(seconds):
                    return

    def _run(self) -> None:
        descriptor = self._file.fileno()
        while True:
            with self._changed:
                while not self._waiting:
                    if self._dropped and not self._lost:
                        self._dropped = False
                        self._behind()
                    self._changed.wait()
                data = self._waiting[0]
            try:
                count = os.write(descriptor, data)
            except OSError:
                with self._changed:
                    self._lost = True
                    self._waiting.clear()
                    self._changed.notify_all()
                self._hung_up()
                return
            with self._changed:
                self._size -= count
                self._waiting[0] = data[count:]
                if count == len(data):
                    self._waiting.popleft()
                self._changed.notify_all()


def _unblocking(file: IO[str]) -> int | None:
    """The terminal of a file, opened again so that writing never blocks; None if it is no terminal.

    A new descriptor, because the mode of the old one is shared with the shell that started us.
    """
    try:
        name = os.ttyname(file.fileno())
        return os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None


class Frames:
    """Joins a frame, which Textual begins, draws and ends by separate calls, to one write."""

    def __init__(self) -> None:
        self._frame: list[str] | None = None
        self._last = ""
        """The last sequence of the last frame, which places the cursor."""

    def take(self, data: str) -> str:
        """The text to write now: empty inside a frame, and for a frame that changes nothing."""
        data = settled(data)
        if data == SYNC_START:
            self._frame = []
        elif self._frame is None:
            return data
        elif data != SYNC_END:
            self._frame.append(data)
        else:
            frame, self._frame = "".join(self._frame), None
            changed = frame not in ("", self._last)
            self._last = frame[frame.rfind("\x1b[") :]
            return f"{SYNC_START}{frame}{SYNC_END}" if changed else ""
        return ""


class PlacesAsKeys:
    """Mixed in before a driver: turns a key that the terminal writes as a cursor position into a key."""

    def process_message(self, message: Message) -> None:
        """Pass on the terminal's input and reports; called by the thread that reads."""
        driver: Any = super()
        driver.process_message(
            message if getattr(self, "awaits_place", False) else pressed(message)
        )


def lasting(driver: type[Driver]) -> type[Driver]:
    """A subclass of the driver that outlives its terminal for as long as the app needs to end."""
    from textual.drivers.linux_driver import LinuxDriver

    if not issubclass(driver, LinuxDriver):
        return driver

    class LastingDriver(PlacesAsKeys, WindowSized, driver):
        """Draws through ``Forgiving``, and has the app end when the terminal is gone."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
            app: Any = self._begin_sized()
            self.cells, self._frames, self.answers = (
                DrawnCells(erases=erases_in_ground(os.environ)),
                Frames(),
                TerminalAnswers(self.process_message),
            )
            self.exit_event = Ending()
            self._hung_up = from_anywhere(lambda: app.exit(None, TERMINATED))
            self._behind = from_anywhere(partial(draw_again, app))
            self._file: Any = Forgiving(self._file, self._hung_up, self._behind)
            # Before anything is drawn: ending through the app puts the terminal back.
            heed_signals(asyncio.get_running_loop(), app.leave)

        def write(self, data: str) -> None:
            """Write a frame with each character in its column, however wide the terminal draws it."""
            self._file.write(self._frames.take(data))

        def start_application_mode(self) -> None:
            """Begin with an empty screen, and hear of sizes in our way."""
            self.cells.forget()
            super().start_application_mode()
            heed_sizes(self)

        def stop_application_mode(self) -> None:
            """Restore the terminal, also after it hung up."""
            self._file.hurry(self.cells.ending())
            super().stop_application_mode()

        def resume_application_mode(self) -> None:
            """Draw everything again after the terminal lost its content."""
            super().resume_application_mode()
            self._behind()

        def close(self) -> None:
            """Write the rest, as long as the terminal reads."""
            super().close()
            self._file.finish(_LAST_SECONDS)

        def run_input_thread(self) -> None:
            """Read as ``read_input`` does; input ends with the terminal."""
            read_input(
                self.fileno,
                self.exit_event,
                self.process_message,
                self.answers,
                debug=self._debug,
            )
            if not self.exit_event.is_set():
                self._hung_up()

    return LastingDriver
