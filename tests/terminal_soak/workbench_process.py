"""The workbench as a process on a real terminal, and an emulator around it that shows what it drew."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.ports.processes.screens import KeyPress
from tests.fakes.preloaded import COMMAND
from tests.fakes.terminals import take_terminal

MARK = "SAM_SOAK_RUN"
"""A variable that every process of a run inherits; its value is the run's own."""
PROMPT = "ready>"


class NotDrawn(AssertionError):
    """What was waited for did not come to be drawn."""


class WorkbenchProcess:
    """A workbench whose keys are pressed, whose window changes its size, and that is seen as it is drawn.

    ``speaks``: the terminal around answers questions, and so offers what the workbench can use, such
    as the kitty protocol; else it is silent, as a plain one.
    """

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        *,
        size: tuple[int, int],
        environment: Mapping[str, str],
        speaks: bool,
        patience: float,
    ) -> None:
        self.folder = folder
        self.patience = patience
        self.slowest = 0.0
        """The longest wait for anything to be drawn, in seconds."""
        self._arguments, self._environment, self._speaks = arguments, environment, speaks
        self._size = size
        self.start()

    def start(self, *more: str) -> None:
        """Start it, on a terminal of its own, with more arguments."""
        columns, rows = self._size
        self._unsent = b""
        self.around = EmulatedScreen(columns, rows)
        if self._speaks:
            self.around.reply = self._send
        self._terminal, theirs = os.openpty()
        os.set_blocking(self._terminal, False)
        self._set_size()
        self._program = subprocess.Popen(
            [*COMMAND, *self._arguments, *more],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.folder / "workspace",
            env=self._environment,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(theirs)
        self.pid = self._program.pid

    # ---- what is drawn

    def read(self, seconds: float = 0.0) -> bool:
        """Take in what is drawn, waiting so long for the first of it; False once it ended."""
        try:
            writes = [self._terminal] if self._unsent else []
            readable, writable, _ = select.select([self._terminal], writes, [], seconds)
            if writable:
                self._flush()
            while readable:
                data = os.read(self._terminal, 65536)
                if not data:
                    return False
                self.around.feed(data)
                readable, _, _ = select.select([self._terminal], [], [], 0)
        except OSError:
            return False
        return True

    def text(self) -> str:
        """All that is on the screen."""
        return self.around.text()

    def until(self, holds: Callable[[], object], about: str, *, patience: float = 0.0) -> None:
        """Read until it holds; ``NotDrawn`` with the screen when it does not in time."""
        began = time.monotonic()
        while not holds():
            waited = time.monotonic() - began
            if waited > (patience or self.patience) or not self.read(0.2):
                raise NotDrawn(f"{about} after {waited:.0f} s:\n{self.text()}")
        self.slowest = max(self.slowest, time.monotonic() - began)

    def shows(self, text: str, *, patience: float = 0.0) -> None:
        """Wait until a text is drawn."""
        self.until(lambda: text in self.text(), f"{text!r} was not drawn", patience=patience)

    def rest(self, seconds: float) -> None:
        """Read on for a while, whatever comes."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.read(left):
            pass

    # ---- what is typed

    def type(self, text: str) -> None:
        """Text, as if it were typed fast."""
        self._send(text.encode())

    def press(self, *keys: str) -> None:
        """Keys by their Textual names, as the terminal around sends them now, all at once."""
        typed = [KeyPress(key, key if len(key) == 1 else None) for key in keys]
        self._send(b"".join(self.around.input.key(key) for key in typed))

    def paste(self, text: str) -> None:
        """Text that is pasted."""
        self._send(self.around.input.paste(text))

    def resize(self, columns: int, rows: int) -> None:
        """The window has another size."""
        self._size = (columns, rows)
        self._set_size()
        self.around.resize(columns, rows)

    def _set_size(self) -> None:
        columns, rows = self._size
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _send(self, data: bytes) -> None:
        self._unsent += data
        self._flush()

    def _flush(self) -> None:
        # A program that draws does not read meanwhile: it is written to as it takes it.
        with suppress(BlockingIOError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._terminal, self._unsent) :]

    # ---- its end

    def cpu(self) -> float:
        """CPU seconds that the program used itself."""
        line = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
        used = line.rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")

    def ended(self) -> int | None:
        """Wait for its end; its exit code, None where a signal ended it."""
        deadline = time.monotonic() + self.patience
        while (code := self._program.poll()) is None:
            if time.monotonic() > deadline:
                raise NotDrawn(f"the workbench did not end:\n{self.text()}")
            if not self.read(0.1):
                select.select([], [], [], 0.05)
        return code if code >= 0 else None

    def kill(self) -> None:
        """End it at once if it still runs."""
        self._program.kill()
        self._program.wait()
        os.close(self._terminal)


def processes_of(run: str, data: Path) -> list[str]:
    """Every process that still carries a run's mark, or names its data folder: id and command line."""
    mark, folder = f"{MARK}={run}".encode(), bytes(data)
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            # A workbench that was forked has the environment of its own in no file.
            if folder in words or mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(f"{entry.name} {b' '.join(words).decode(errors='replace')}")
    return found
