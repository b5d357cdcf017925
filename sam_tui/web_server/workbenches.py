"""Workbenches behind pages: each is a program on its own pseudo-terminal, and ends with its page.

The program draws on a terminal as it always does, and the page's terminal shows the bytes. So
everything that it or a program within it prints is only output, and a page that goes away is a terminal
that hangs up.
"""

import asyncio
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

MOST_BYTES = 64 * 1024
"""The most bytes of one read from a workbench."""
_MOST_TYPED = 4 * 1024 * 1024
"""The most bytes that may wait for a workbench to read them."""
_STAGES = ((None, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
"""Signals to end a workbench whose terminal was closed, each with the seconds to wait afterwards."""
_FOREIGN = (
    "TMUX", "TMUX_PANE", "STY", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "VTE_VERSION",
    "KITTY_WINDOW_ID", "KITTY_PID", "WEZTERM_PANE", "WT_SESSION", "KONSOLE_VERSION", "ITERM_SESSION_ID",
    "LC_TERMINAL", "LC_TERMINAL_VERSION", "COLORFGBG", "COLUMNS", "LINES", "LC_ALL", "LC_CTYPE",
)  # fmt: skip
"""Variables that describe the terminal in which the server was started."""
_COLUMNS, _ROWS = (20, 500), (5, 200)


@dataclass(frozen=True, slots=True)
class Size:
    """Columns and rows of a terminal, within the sizes of a workbench."""

    columns: int
    rows: int

    @classmethod
    def of(cls, columns: object, rows: object) -> "Size":
        """The size that a page reports, within bounds; 80 by 24 for invalid numbers."""
        return cls(_within(columns, 80, _COLUMNS), _within(rows, 24, _ROWS))


def _within(value: object, default: int, bounds: tuple[int, int]) -> int:
    try:
        number = int(value) if isinstance(value, int | str) else default
    except ValueError:
        number = default
    return min(max(number, bounds[0]), bounds[1])


def environment_of_page(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a workbench whose terminal is in a page: UTF-8, all colours, nothing of ours."""
    return {
        **{name: value for name, value in environ.items() if name not in _FOREIGN},
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_CTYPE": "C.UTF-8",
    }


class PageWorkbench:
    """One running workbench, and the server's side of its terminal."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int) -> None:
        self._process = process
        self._terminal = terminal
        self._typed = bytearray()
        self._readable = asyncio.Event()
        self._loop = loop = asyncio.get_running_loop()
        os.set_blocking(terminal, False)
        loop.add_reader(terminal, self._arrived)

    async def output(self) -> AsyncIterator[bytes]:
        """The output of the workbench until it ends. While nothing takes it, the workbench drops frames."""
        while True:
            await self._readable.wait()
            try:
                data = os.read(self._terminal, MOST_BYTES)
            except BlockingIOError:
                self._readable.clear()
                self._loop.add_reader(self._terminal, self._arrived)
                continue
            except OSError:  # EIO: no process has the other side open
                return
            if not data:
                return
            yield data

    def _arrived(self) -> None:
        # The loop would call this again and again until it is read.
        self._loop.remove_reader(self._terminal)
        self._readable.set()

    def type(self, text: str) -> None:
        """Send typed text; it is lost, as at any terminal, where too much waits already."""
        if len(self._typed) > _MOST_TYPED:
            return
        if not self._typed:
            self._loop.add_writer(self._terminal, self._write)
        self._typed += text.encode("utf-8", "replace")

    def _write(self) -> None:
        try:
            del self._typed[: os.write(self._terminal, self._typed)]
        except BlockingIOError:
            return
        except OSError:  # it has ended
            self._typed.clear()
        if not self._typed:
            self._loop.remove_writer(self._terminal)

    def resize(self, size: Size) -> None:
        """Set the size of the terminal."""
        with suppress(OSError):
            _set_size(self._terminal, size)

    async def end(self) -> None:
        """Hang up, and wait until it has ended; by force if it does not."""
        self._loop.remove_reader(self._terminal)
        self._loop.remove_writer(self._terminal)
        os.close(self._terminal)
        for number, seconds in _STAGES:
            if number is not None:
                with suppress(ProcessLookupError):
                    self._process.send_signal(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), seconds)
                return


@asynccontextmanager
async def started(
    arguments: Sequence[str], environment: Mapping[str, str], size: Size
) -> AsyncGenerator[PageWorkbench]:
    """A workbench with these arguments of ``sam-tui``, on a new terminal; it ends with the block."""
    ours, theirs = os.openpty()
    try:
        _set_size(ours, size)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "sam_tui", *arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment_of_page(environment),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    workbench = PageWorkbench(process, ours)
    try:
        yield workbench
    finally:
        # Also if the page's request was cancelled, so that no process remains.
        await asyncio.shield(workbench.end())


def _take_terminal() -> None:
    """Make the terminal the child's controlling one, which reports new sizes and its end."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _set_size(terminal: int, size: Size) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))
