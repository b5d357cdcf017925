"""Runs every benchmark, one after the other, each in a process of its own, its bounds beside its figures.

``python bench/all.py [--only NAME,...] [--full] [--strict] [--list]``. Sizes are small unless ``--full``;
bounds are the same. ``--strict`` ends with 1 when one of them is missed; each benchmark knows it.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Bench:
    """One file here: what it measures, and its arguments for a short and for a whole run."""

    measures: str
    short: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()


BENCHES: Mapping[str, Bench] = {
    "run": Bench("start-up, tool rounds, memory and sizes"),
    "stream": Bench("the conversation pane: echo amid a stream, idling, opening a long history"),
    "ui": Bench(
        "the workbench on a terminal: first request, bytes and CPU a token, key echo",
        ("first", "typing", "steady", "long"),
    ),
    "tools": Bench(
        "the way of a call, grep beside ripgrep, the index", ("--files", "10000", "--repeat", "3")
    ),
    "output": Bench("memory however much a command prints", ("--megabytes", "200")),
    "terminal": Bench(
        "the embedded terminal: frames, throughput, memory",
        ("--megabytes", "20", "--flood", "100"),
        ("--flood", "1000"),
    ),
    "flood": Bench("floods of short lines beside tmux, looking at sequences beside parsing them"),
    "guard": Bench("a decision on a path, and the shield"),
    "sandbox": Bench("commands held beside the same ones free", ("--rounds", "3")),
    "long": Bench("turns after two thousand others: time and memory"),
    "workflow": Bench("a transition and queries", ("--executions", "200")),
    "plans": Bench("a step of a plan, a search in the list of APIs, twenty sources side by side"),
    "engine": Bench("requests of 1,000 messages, opening and copying 10,000, searches"),
    "checkpoints": Bench(
        "a snapshot of the workspace beside plain git, programs killed while they take some",
        ("--kills", "20", "--rounds", "11"),
    ),
    "kills": Bench("running workflows whose drivers are killed at random", ("--kills", "50")),
    "conversations": Bench("programs killed while they write conversations", ("--kills", "50")),
    "fleet": Bench(
        "queues of fleets, and a fleet two of whose workers are killed",
        ("--tasks", "20", "--through", "8"),
    ),
    "soak": Bench(
        "the workbench's terminals under seeded scripts beside busy loops: what goes wrong",
        ("--minutes", "2"),
    ),
}


def main() -> int:
    """Run what was asked for; 0 unless a benchmark broke, or missed a target under ``--strict``."""
    parser = argparse.ArgumentParser(description="Run the benchmarks.")
    parser.add_argument("--only", default="", metavar="NAME,...", help="these alone")
    parser.add_argument("--full", action="store_true", help="whole sizes: 100,000 files, 1 GB")
    parser.add_argument("--strict", action="store_true", help="end with 1 when a target is missed")
    parser.add_argument("--list", action="store_true", help="name them and what they measure")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHES)}")
    failed: list[str] = []
    for name in names:
        bench = BENCHES[name]
        print(f"== {name}: {bench.measures}", flush=True)
        if options.list:
            continue
        size = bench.whole if options.full else bench.short
        strict = ("--strict",) if options.strict else ()
        started = time.perf_counter()
        command = [sys.executable, "-m", f"bench.{name}", *size, *strict]
        done = subprocess.run(command, cwd=HERE.parent, check=False)
        print(f"   ({time.perf_counter() - started:.0f} s)\n", flush=True)
        if done.returncode:
            failed.append(name)
    if failed:
        print(f"missed or broken: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
