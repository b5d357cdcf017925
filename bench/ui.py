"""Measures the whole workbench in a pty: what streaming costs, key echo, and the way to the first request.

``python -m bench.ui [part ...] [--json FILE] [--strict]``; parts are ``first``, ``typing``, ``steady``,
``fast`` and ``long``. The model is a server on loopback. CPU is that of the workbench alone, bytes are
those that it writes to its terminal; a bare client of the same moment stands beside the first request.
"""

import asyncio
import fcntl
import os
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from textual.pilot import Pilot

from bench.figures import Figure, judged, options
from bench.run import BARE_CLIENT, PYTHON, SAM
from bench.stream import conversation, tokens
from bench.terminal_app import cpu_of
from tests.fakes.openai_server import FakeServer, Reply, background
from tests.transcript.hosting import Host

COLUMNS, ROWS = 120, 40
PROMPT = "Say hello."
END = "ф"
"""Ends an answer. One cell that stands nowhere else: of a longer mark a frame may write a part, and no
frame writes what stood in its place before."""
KEYS = "".join(map(chr, range(0x100, 0x17F)))
MOST_BYTES = 60
MOST_REQUEST = 3.5
MOST_OPENED = 400
"""Milliseconds of CPU until a conversation that was read stands on the screen."""
MOST_STEP = 300
_PATIENCE = 60.0
_QUERIES = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[6n": b"\x1b[1;1R"}
"""What the terminal is asked, and what one answers that draws frames whole."""


@dataclass(slots=True)
class Window:
    """The near side of a pty with the workbench in it."""

    process: int
    master: int
    received: int = 0
    ended: bool = False
    """Whether the end of an answer was drawn since a prompt was sent."""
    tail: bytes = b""
    echoes: list[float] = field(default_factory=list[float])

    def read(self, seconds: float) -> bool:
        """Take what is written within some seconds; False where nothing was."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        chunk = os.read(self.master, 65_536)
        for asked, answer in _QUERIES.items():
            if asked in chunk:
                os.write(self.master, answer)
        self.received += len(chunk)
        self.tail = (self.tail + chunk)[-65_536:]
        self.ended = self.ended or END.encode() in self.tail
        return True

    def until(self, holds: Callable[[], object], seconds: float = _PATIENCE) -> bool:
        """Read until something is so."""
        deadline = time.perf_counter() + seconds
        while not holds():
            if (left := deadline - time.perf_counter()) <= 0:
                return False
            self.read(min(left, 0.02))
        return True

    def rest(self, seconds: float) -> None:
        """Read on for some seconds."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            self.read(left)

    def drawn(self) -> bool:
        """Whether the program took the terminal over and drew its prompt."""
        own = not termios.tcgetattr(self.master)[3] & termios.ECHO
        return own and "╭".encode() in self.tail

    def press(self, key: str) -> None:
        """Type a key and wait until it is written back, a second at most."""
        wanted, self.tail = key.encode(), b""
        begun = time.perf_counter()
        os.write(self.master, wanted)
        if self.until(lambda: wanted in self.tail, 1.0):
            self.echoes.append(1_000 * (time.perf_counter() - begun))

    def send(self, prompt: str) -> None:
        """Type a prompt and Enter."""
        self.ended, self.tail = False, b""
        os.write(self.master, prompt.encode())
        os.write(self.master, b"\r")

    def cpu(self) -> float:
        """CPU seconds so far."""
        return cpu_of(self.process)

    def close(self) -> None:
        """End it."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.master)


def opened(folder: Path, server: FakeServer) -> Window:
    """The workbench in a workspace of its own."""
    folder.mkdir(exist_ok=True)
    process, master = os.forkpty()
    if process == 0:
        os.environ |= {
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "OPENAI_API_KEY": "none-needed",
        }
        os.environ.pop("TMUX", None)
        (folder / "workspace").mkdir(exist_ok=True)
        os.chdir(folder / "workspace")
        os.execv(SAM, [SAM, "--model", "openai/fake", "--api-base", server.base])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return Window(process, master)


def start_up(folder: Path, server: FakeServer) -> tuple[float, float, float, float]:
    """Seconds of a bare client, to the first frame and to the first request, and CPU ms between those."""
    server.replies.append(Reply(text="Hello."))
    begun = time.perf_counter()
    subprocess.run(
        [PYTHON, "-c", BARE_CLIENT, server.base, "0"], stdout=subprocess.PIPE, check=True
    )
    bare = time.perf_counter() - begun
    count = len(server.posts)
    server.replies.append(Reply(text="Hello."))
    begun = time.perf_counter()
    window = opened(folder, server)
    try:
        window.until(window.drawn)
        drawn, before = time.perf_counter() - begun, window.cpu()
        window.send(PROMPT)
        window.until(lambda: len(server.posts) > count)
        return bare, drawn, time.perf_counter() - begun, 1_000 * (window.cpu() - before)
    finally:
        window.close()


def first(folder: Path, server: FakeServer, repeat: int) -> list[Figure]:
    """From exec to the first request, where the prompt is typed as soon as its box is drawn."""
    runs = [start_up(folder / "first", server) for _ in range(repeat)]
    bare, drawn, asked, cpu = zip(*runs, strict=True)
    alone = statistics.median(bare)
    return [
        Figure("bare client, to its end", alone, "s"),
        Figure("first frame", statistics.median(drawn), "s", None, alone, "bare client"),
        Figure("first request", statistics.median(asked), "s", MOST_REQUEST, alone, "bare client"),
        Figure("CPU from frame to request", statistics.median(cpu), "ms"),
    ]


def typing(folder: Path, server: FakeServer) -> list[Figure]:
    """Keys typed while nothing else happens."""
    window = opened(folder / "typing", server)
    try:
        window.until(window.drawn)
        window.rest(4.0)
        used, written = window.cpu(), window.received
        for key in KEYS:
            window.press(key)
            window.rest(0.05)
        return [
            *echo_figures("at rest", window),
            Figure("at rest: CPU a key", 1_000 * (window.cpu() - used) / len(KEYS), "ms"),
            Figure("at rest: bytes a key", (window.received - written) / len(KEYS), "bytes", 150),
        ]
    finally:
        window.close()


def echo_figures(name: str, window: Window) -> list[Figure]:
    """The middle and the slow end of the echoes."""
    echoes = sorted(window.echoes)
    if not echoes:
        return []
    return [
        Figure(f"{name}: echo, p50", echoes[len(echoes) // 2], "ms"),
        Figure(f"{name}: echo, p95", echoes[int(len(echoes) * 0.95)], "ms"),
    ]


def streamed(
    folder: Path, server: FakeServer, count: int, rate: int, *, keys: bool
) -> list[Figure]:
    """An answer of so many tokens at a rate; with keys typed meanwhile where asked."""
    name = f"{count} tokens, {rate} a second"
    window = opened(folder / f"{rate}-{keys}", server)
    try:
        window.until(window.drawn)
        window.rest(4.0)
        text = "".join(tokens(count))
        chunk = len(text) // count + 1
        server.replies.append(Reply(text=f"{text}\n\n{END}", chunk=chunk, rate=rate))
        used, written = window.cpu(), window.received
        begun = time.perf_counter()
        window.send(PROMPT)
        typed = iter(KEYS * 9)

        if keys:
            window.rest(0.5)
            while not window.ended and time.perf_counter() - begun < _PATIENCE:
                if len(window.echoes) < 40:
                    window.press(next(typed))
                window.rest(0.12)
        else:
            window.until(lambda: window.ended, 2 * _PATIENCE)
        wall = time.perf_counter() - begun
        used, written = window.cpu() - used, window.received - written
        if keys:
            return echo_figures(name, window)
        return [
            Figure(f"{name}: CPU", 100 * used / wall, "% CPU"),
            Figure(f"{name}: CPU a token", 1_000 * used / count, "ms"),
            Figure(f"{name}: bytes a token", written / count, "bytes", MOST_BYTES),
            Figure(f"{name}: bytes", written / 1e3, "kB"),
        ]
    finally:
        window.close()


async def long(messages: int) -> list[Figure]:
    """CPU of scrolling and resizing a long conversation, each step until it is drawn."""
    host = Host()
    steps: dict[str, Callable[[Pilot[None]], Awaitable[object]]] = {
        "opened": lambda _: asyncio.to_thread(host.call_from_thread, host.pane.load, stored),
        "page up": lambda pilot: pilot.press("pageup"),
        "to the top": lambda pilot: pilot.press("home"),
        "narrower": lambda pilot: pilot.resize_terminal(90, 40),
        "wider": lambda pilot: pilot.resize_terminal(COLUMNS, ROWS),
    }
    stored, figures = conversation(messages), list[Figure]()
    async with host.run_test(size=(COLUMNS, ROWS)) as pilot:
        for name, step in steps.items():
            begun = time.process_time()
            await step(pilot)
            await pilot.pause()
            most = MOST_OPENED if name == "opened" else MOST_STEP
            taken = 1_000 * (time.process_time() - begun)
            figures.append(Figure(f"{messages} messages, {name}: CPU", taken, "ms", most))
    return figures


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure the workbench in a terminal.")
    parser.add_argument("parts", nargs="*", default=["first", "typing", "steady", "fast", "long"])
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name, background([]) as server:
        folder = Path(name)
        if "long" in given.parts:
            figures += asyncio.run(long(10_000))
        if "first" in given.parts:
            figures += first(folder, server, given.repeat)
        if "typing" in given.parts:
            figures += typing(folder, server)
        for part, count, rate in (("steady", 900, 150), ("fast", 20_000, 2_000)):
            if part in given.parts:
                figures += streamed(folder, server, count, rate, keys=False)
                figures += streamed(folder, server, count, rate, keys=True)
    return judged("ui", figures, given)


if __name__ == "__main__":
    sys.exit(main())
