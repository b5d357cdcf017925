"""Measures the embedded terminal: frames, rows, throughput from a pty, loop gaps and memory.

``python -m bench.terminal [--megabytes N] [--flood N] [--json FILE] [--strict]``. Times are medians. Beside
a frame stands Rich that reads and renders the same, beside throughput a bare read of the same pty, in the
same minute.
"""

import asyncio
import os
import pty
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.text import Text

from bench.figures import Figure, judged, options

if TYPE_CHECKING:
    from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
    from sam_tui.ui.widgets.terminal.cells import Painter

COLUMNS, ROWS = 120, 40
KINDS = ("plain", "256 colours", "true colour", "wide", "a colour a cell")
MOST_FRAME, MOST_ROW, LEAST_SPEED = 4.0, 0.25, 0.15
NOTICED = 33.0
"""Milliseconds of a gap that a person sees: two frames of sixty a second."""
REPEAT = 60
TRIES = 3
WORDS = [
    "the",
    "agent",
    "reads",
    "every",
    "file",
    "and",
    "writes",
    "a",
    "plan",
    "before",
    "editing",
    "anything",
    "here",
]
DONE = "d-o-n-e"


# ---- frames


def frames(kind: str) -> list[bytes]:
    """Different full screens, to be drawn in turn: with a colour a cell, no colour comes twice."""
    source = random.Random(kind)
    many = REPEAT + 1 if kind == "a colour a cell" else 2
    return [b"\x1b[H" + b"\r\n".join(_line(kind, source) for _ in range(ROWS)) for _ in range(many)]


def _line(kind: str, source: random.Random) -> bytes:
    if kind == "wide":
        return "".join(source.choice("漢字仮名交文") for _ in range(COLUMNS // 2)).encode()
    text = " ".join(source.choice(WORDS) for _ in range(40))[:COLUMNS]
    if kind == "plain":
        return text.encode()
    if kind == "a colour a cell":
        cells = (
            f"\x1b[38;2;{number >> 16};{number >> 8 & 255};{number & 255}mx"
            for number in (source.randrange(1 << 24) for _ in range(COLUMNS))
        )
        return "".join(cells).encode() + b"\x1b[m"
    parts: list[str] = []
    for at in range(0, COLUMNS, 6):
        number = source.randrange(256)
        colour = f"5;{number}" if kind == "256 colours" else f"2;{number};{number // 2};90"
        parts.append(f"\x1b[38;{colour}m{text[at : at + 6]}")
    return "".join(parts).encode() + b"\x1b[m"


def drawn(screen: "EmulatedScreen", painter: "Painter") -> int:
    """Turn what changed into strips, as the pane does; returns how many rows that were."""
    rows = [painter.strip(runs, COLUMNS) for _, runs in screen.dirty_rows()]
    return len(rows)


def medians_ms(*steps: Callable[[int], None]) -> list[float]:
    """The median of many runs of each step, in milliseconds of processor time; they take turns."""
    times: list[list[float]] = [[] for _ in steps]
    for number in range(REPEAT):
        for step, taken in zip(steps, times, strict=True):
            began = time.process_time()
            step(number)
            taken.append(1000 * (time.process_time() - began))
    return [statistics.median(taken) for taken in times]


def frame_figures() -> list[Figure]:
    """Feed and draw: whole frames of several kinds, and one row."""
    from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
    from sam_tui.ui.widgets.terminal.cells import Painter

    figures: list[Figure] = []
    painter = Painter(Style(color="#d5d9e0", bgcolor="#14171c"))
    console, frame_time = Console(width=COLUMNS, height=ROWS), 0.0
    for kind in KINDS:
        screen = EmulatedScreen(COLUMNS, ROWS)
        both = frames(kind)

        def frame(number: int, screen: EmulatedScreen = screen, both: list[bytes] = both) -> None:
            screen.feed(both[(number + 1) % len(both)])
            if drawn(screen, painter) < ROWS:
                raise RuntimeError("not every row was drawn")

        def rich(number: int, both: list[bytes] = both) -> None:
            text = Text.from_ansi(both[(number + 1) % len(both)].decode())
            console.render_lines(text, console.options)

        frame(-1)
        alone, taken = medians_ms(rich, frame)
        frame_time = frame_time or taken
        most = None if kind == "a colour a cell" else MOST_FRAME  # nothing draws that
        figures.append(Figure(f"full frame, {kind}", taken, "ms", most, alone, "Rich"))
    screen = EmulatedScreen(COLUMNS, ROWS)
    screen.feed(frames("plain")[0])
    screen.dirty_rows()

    def row(number: int) -> None:
        screen.feed(b"\x1b[20;%dHx" % (number % 90 + 1))
        if not 1 <= drawn(screen, painter) <= 2:
            raise RuntimeError("other rows were drawn")

    row(0)
    (taken,) = medians_ms(row)
    figures.append(Figure("one dirty row", taken, "ms", MOST_ROW, frame_time, "a plain frame"))
    return figures


# ---- throughput


def material(folder: str, megabytes: int) -> Path:
    """A file of log-like lines, some coloured."""
    source = random.Random(7)
    lines = [
        f"\x1b[3{n % 8}m{n:>7}\x1b[m {' '.join(source.choice(WORDS) for _ in range(12))}\n"
        for n in range(12_000)
    ]
    block = "".join(lines).encode()
    path = Path(folder, "material")
    with path.open("wb") as file:
        for _ in range(megabytes * 1_000_000 // len(block) + 1):
            file.write(block)
    return path


def bare(path: Path) -> float:
    """Megabytes a second that reading the same pty gives with nothing done to what is read."""
    master, slave = pty.openpty()
    began = time.perf_counter()
    with subprocess.Popen(["cat", path], stdout=slave, stdin=subprocess.DEVNULL):
        os.close(slave)
        total = 0
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            total += len(data)
    os.close(master)
    return total / 1e6 / (time.perf_counter() - began)


@dataclass(slots=True)
class Drained:
    """How a ``cat`` went: MB/s, processor time in ms a MB, the loop's gaps in ms at p95, memory in MB."""

    speed: float
    cost: float
    gap: float
    memory: float


async def drained(path: Path, times: int) -> Drained:
    """``cat`` a file so often through a session whose screen is looked at 60 times a second."""
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
    from sam_tui.core.ports.processes.terminals import SessionSpec

    sandbox = Sandbox()
    terminals = PtyTerminals(sandbox)
    session, _ = await terminals.open(SessionSpec(None, str(path.parent), COLUMNS, ROWS))
    screen = session.screen
    await session.activity.settled(within=10)
    gaps: list[float] = []
    over = asyncio.Event()

    def look() -> None:
        if DONE in session.output(session.end - 200).text:
            over.set()

    async def watch() -> None:
        last = time.perf_counter()
        while not over.is_set():
            await asyncio.sleep(1 / 60)
            now = time.perf_counter()
            gaps.append(1000 * (now - last) - 1000 / 60)
            last = now
            screen.dirty_rows()
            look()

    before = memory()
    size = os.stat(path).st_size * times
    began, used = time.perf_counter(), time.process_time()
    session.write(
        f"for i in $(seq {times}); do cat {path.name}; done; echo {DONE[:3]}''{DONE[3:]}\r".encode()
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
    seconds, used = time.perf_counter() - began, time.process_time() - used
    grown = memory() - before
    await terminals.close_all()
    sandbox.close()
    size /= 1e6
    return Drained(size / seconds, 1000 * used / size, statistics.quantiles(gaps, n=20)[-1], grown)


def memory() -> float:
    """Resident megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def throughput_figures(megabytes: int, flood: int) -> list[Figure]:
    """From the pty to the screen model, beside a bare read; then a flood for its memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = material(folder, megabytes)
        # The best of some, in turn: other work on the machine only ever takes away.
        tries = [(bare(path), asyncio.run(drained(path, 1))) for _ in range(TRIES)]
        plain = max(speed for speed, _ in tries)
        once = max((run for _, run in tries), key=lambda run: run.speed)
        figures = [
            Figure(f"bare read of {megabytes} MB", plain, "MB/s"),
            Figure(
                f"cat of {megabytes} MB to the screen",
                once.speed,
                "MB/s",
                LEAST_SPEED,
                plain,
                "bare read",
                least=True,
            ),
            Figure("processor time for it", once.cost, "ms/MB"),
            Figure("loop gap meanwhile, p95", once.gap, "ms", NOTICED),
            Figure("memory after it", once.memory, "MB", 100.0),
        ]
        if flood:
            much = asyncio.run(drained(path, max(1, flood // megabytes)))
            figures.append(Figure(f"memory after {flood} MB", much.memory, "MB", 100.0))
    return figures


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure the embedded terminal.")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--flood", type=int, default=1000, help="megabytes; 0 leaves it out")
    given = parser.parse_args()
    figures = frame_figures() + throughput_figures(given.megabytes, given.flood)
    return judged("terminal", figures, given)


if __name__ == "__main__":
    sys.exit(main())
