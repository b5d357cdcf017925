"""Measures floods of short lines: the workbench beside tmux, the screen model beside its library.

``python -m bench.flood [--megabytes N] [--rounds N] [--json FILE] [--strict]``. ``yes | head -c`` runs in a
shell in the pane and in a shell in tmux, in turn, in terminals of one size; CPU is that of the workbench,
and of tmux's server and client together. The screen model is fed recorded output, beside the bare library.
"""

import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Figure, judged, options
from bench.terminal_app import Near, cpu_of, start, workbench

MOST_CPU, MOST_WALL, MOST_SCAN = 1.0, 1.0, 4.0
MOST_INTERRUPT = 150.0
"""Milliseconds from Ctrl+C in a flood to the next prompt."""
SIZE = 120, 40
PIECE = 32 * 1024
FED = 2_000_000
TRIES = 5
_PATIENCE = 120.0
_PROMPT = "PS1='again\\#> '\r"


# ---- the screen model


def outputs() -> dict[str, bytes]:
    """What programs print, by kind, some megabytes of each."""
    source = random.Random(7)
    places = [(source.randrange(40) + 1, source.randrange(110) + 1) for _ in range(2000)]
    kinds = {
        "short lines": [b"y\r\n"],
        "coloured lines": [
            b"\x1b[3%dm%7d\x1b[m the agent reads every file\r\n" % (n % 8, n) for n in range(2000)
        ],
        "cursor moves": [b"\x1b[%d;%dHx\x1b[K" % place for place in places],
        "cursor hidden and shown": [b"\x1b[?25l\x1b[%d;%dHx\x1b[?25h" % place for place in places],
    }
    return {name: b"".join(parts) * (FED // len(b"".join(parts))) for name, parts in kinds.items()}


def scan_figures() -> list[Figure]:
    """CPU of the screen model beside that of the library, which parses the same."""
    from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen

    figures: list[Figure] = []
    for name, data in outputs().items():
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        # The same terminal with the same limits, fed around what looks at the sequences.
        bare: Any = EmulatedScreen(*SIZE)
        taken = [
            (_cpu(bare._terminal.feed, pieces), _cpu(EmulatedScreen(*SIZE).feed, pieces))
            for _ in range(TRIES)
        ]
        alone, whole = (1000 * min(times) / (len(data) / 1e6) for times in zip(*taken, strict=True))
        figures.append(Figure(f"screen, {name}", whole, "ms/MB", MOST_SCAN, alone, "the library"))
    return figures


def _cpu(feed: Callable[[bytes], None], pieces: list[bytes]) -> float:
    began = time.process_time()
    for piece in pieces:
        feed(piece)
    return time.process_time() - began


# ---- beside tmux


@dataclass(frozen=True, slots=True)
class Flooded:
    """Seconds of one flood by the clock and of CPU, and until the prompt after Ctrl+C in others."""

    wall: float
    cpu: float
    interrupts: list[float]


def in_tmux(folder: Path, size: int) -> Flooded:
    """One flood in a shell of tmux, which has nothing configured."""
    socket = str(folder / "tmux")
    tmux = ("tmux", "-S", socket, "-f", "/dev/null")
    near = start((*tmux, "new-session", "bash", "--norc"), folder)
    try:
        near.rest(1.0)
        asked = subprocess.run(
            [*tmux, "display-message", "-p", "#{pid}"], capture_output=True, check=True
        )
        server = int(asked.stdout)
        return _flooded(near, size, lambda: near.cpu() + cpu_of(server))
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
        os.waitpid(near.process, 0)
        os.close(near.master)


def in_pane(folder: Path, size: int) -> Flooded:
    """One flood in a shell of the workbench's pane."""
    near = workbench(folder)
    try:
        near.type(b"\x1d")
        near.rest(0.5)
        return _flooded(near, size, near.cpu)
    finally:
        os.kill(near.process, signal.SIGTERM)
        os.waitpid(near.process, 0)
        os.close(near.master)


def _flooded(near: Near, size: int, cpu: Callable[[], float]) -> Flooded:
    near.type(_PROMPT.encode())
    if not near.until(b"again", _PATIENCE):
        raise RuntimeError(f"no prompt: {bytes(near.seen)[-300:]!r}")
    near.rest(0.5)
    used, began = cpu(), time.perf_counter()
    near.type(f"yes | head -c {size}; echo d''one-with-it\r".encode())
    if not near.until(b"done-with-it", _PATIENCE):
        raise RuntimeError("the flood did not end")
    wall = time.perf_counter() - began
    near.rest(0.3)
    used = cpu() - used
    return Flooded(wall, used, [_interrupted(near) for _ in range(TRIES)])


def _interrupted(near: Near) -> float:
    near.type(b"yes\r")
    near.rest(1.5)
    near.seen.clear()
    pressed = time.perf_counter()
    near.type(b"\x03")
    heard = near.until(b"again", _PATIENCE)
    return time.perf_counter() - pressed if heard else _PATIENCE


def tmux_figures(megabytes: int, rounds: int) -> list[Figure]:
    """Both in turn; of time and CPU the least, because other work on the machine only ever adds."""
    if shutil.which("tmux") is None:
        return [Figure("flood of short lines, wall", None, "s", MOST_WALL, None, "tmux")]
    theirs: list[Flooded] = []
    ours: list[Flooded] = []
    for _ in range(rounds):
        for way, runs in ((in_tmux, theirs), (in_pane, ours)):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(way(Path(folder), megabytes * 1024 * 1024))
    wall, cpu = (
        tuple(min(getattr(run, name) for run in runs) for runs in (ours, theirs))
        for name in ("wall", "cpu")
    )
    longest, usual = (
        [1000 * of([s for run in runs for s in run.interrupts]) for runs in (ours, theirs)]
        for of in (max, statistics.median)
    )
    return [
        Figure("flood of short lines, wall", wall[0], "s", MOST_WALL, wall[1], "tmux"),
        Figure("flood of short lines, CPU", cpu[0], "s", MOST_CPU, cpu[1], "tmux"),
        Figure("Ctrl+C in a flood to the prompt, longest", longest[0], "ms", target=MOST_INTERRUPT),
        Figure("the same in tmux", longest[1], "ms"),
        Figure("Ctrl+C in a flood to the prompt, median", usual[0], "ms"),
        Figure("the same in tmux", usual[1], "ms"),
    ]


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure floods of short lines.")
    parser.add_argument("--megabytes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    figures = scan_figures() + tmux_figures(given.megabytes, given.rounds)
    return judged("flood", figures, given)


if __name__ == "__main__":
    sys.exit(main())
