"""Measures what a flood of command output costs: peak memory of the whole runtime, and the way through.

``python -m bench.output [--megabytes N] [--strict]`` runs one ``run_command`` that prints so much, in a
process of its own, beside the same command read by nobody but ``wc``. The bound of its memory is the same
for every size, so that a small run shows what a large one would.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, judged, options
from sam_tui.assembly import Options, build
from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall

MOST_MEGABYTES = 150.0
"""Peak memory of the process, everything loaded: issue 3."""
LINE = "the quick brown fox jumps over the lazy dog 0123456789"


def flood(megabytes: int) -> str:
    """A command that prints so much."""
    return f"yes '{LINE}' | head -c {megabytes}000000"


async def through(megabytes: int, folder: Path) -> dict[str, float]:
    """Run it as an agent would; seconds, peak memory in MB, and how much was kept."""
    (folder / "ws").mkdir()
    runtime = build(Options(str(folder / "ws"), str(folder / "data"), mode="auto"), {})
    conversation = runtime.open_session().conversation
    told = runtime.bus.subscribe()
    given = json.dumps({"command": flood(megabytes), "timeout": 3600})
    started = time.perf_counter()
    call = ToolCall(CallId("call_1"), "terminal_operations.run_command", given)
    done = await runtime.executor.execute(call, conversation)
    seconds = time.perf_counter() - started
    assert done.finished.ok, done.finished.text
    told.close()
    await runtime.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak": peak, "characters": float(len(done.finished.text))}


def child(megabytes: int) -> None:
    """Measure in this process and print it."""
    with tempfile.TemporaryDirectory(prefix="sam-bench-") as name:
        print(json.dumps(asyncio.run(through(megabytes, Path(name)))))


def measured(megabytes: int) -> dict[str, float]:
    """What a process of its own measured."""
    command = [sys.executable, "-m", "bench.output", "--child", "--megabytes", str(megabytes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def bare(megabytes: int) -> float:
    """Seconds of the same command, read by a program that only counts."""
    started = time.perf_counter()
    subprocess.run(
        ["sh", "-c", f"{flood(megabytes)} | wc -c"], stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - started


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure what a flood of output costs.")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.megabytes)
        return 0
    small, large, alone = measured(1), measured(given.megabytes), bare(given.megabytes)
    name, peak = f"{given.megabytes} MB of output", large["peak"]
    figures = [
        Figure(f"{name}, peak memory", peak, "MB", 1.5, small["peak"], "that of 1 MB",
               target=MOST_MEGABYTES),
        Figure(f"{name}, time", large["seconds"], "s", None, alone, "the same read by wc"),
    ]  # fmt: skip
    return judged("output", figures, given)


if __name__ == "__main__":
    sys.exit(main())
