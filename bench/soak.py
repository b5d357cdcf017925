"""Works in the workbench's terminals by seeded scripts beside busy loops, and counts what goes wrong.

``python -m bench.soak [--minutes N] [--seed N] [--busy N] [--json FILE] [--strict]``: runs at 45 and 120
columns, in turn, each with the next seed. What went wrong is printed with its seed and steps.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, judged, options
from tests.terminal_soak.soak import Tally, soaked

SIZES = ((45, 24), (120, 40))
_RUN = 120.0
"""Seconds of one run at most."""
_BUSY = (sys.executable, "-c", "while True: pass")


def main() -> int:
    """Soak, print, and judge."""
    parser = options("Work in the workbench's terminals, and count what goes wrong.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--busy", type=int, default=4, help="loops that take what CPU they get")
    given = parser.parse_args()
    loops = [subprocess.Popen(_BUSY) for _ in range(given.busy)]
    try:
        tallies = _soaked(given.minutes * 60, given.seed)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    figures = [
        Figure("steps", sum(len(tally.steps) for tally in tallies)),
        Figure("steps skipped, a program is missing", len(tallies[0].skipped)),
        Figure("cells compared", sum(tally.compared for tally in tallies)),
        Figure("secrets typed while held", sum(tally.secrets for tally in tallies)),
        Figure("requests of the model", sum(tally.requests for tally in tallies)),
        Figure("longest wait for anything", max(tally.slowest for tally in tallies), "s"),
        Figure("wrong", sum(len(tally.wrong) for tally in tallies), most=0),
    ]
    return judged("soak", figures, given)


def _soaked(seconds: float, seed: int) -> list[Tally]:
    tallies: list[Tally] = []
    deadline = time.monotonic() + seconds
    while not tallies or time.monotonic() < deadline:
        size = SIZES[len(tallies) % len(SIZES)]
        left = min(_RUN, max(0.0, deadline - time.monotonic()))
        with tempfile.TemporaryDirectory() as folder:
            tally = soaked(Path(folder), seed, size=size, seconds=left, patience=180.0)
        print(f"seed {seed} at {size[0]} columns: {len(tally.steps)} steps", flush=True)
        for about in (*tally.skipped.values(), *tally.wrong):
            print(f"  {about}", flush=True)
        tallies.append(tally)
        seed += 1
    return tallies


if __name__ == "__main__":
    sys.exit(main())
