"""Measures the workflow engine: a phase transition, and queries over a thousand executions.

``python -m bench.workflow [--executions N] [--json FILE] [--strict]``. Times are medians of wall time.
A transition is one ``advance`` by token: check, finish, open the next step, mint its token, commit.
Every commit has reached the disk, so a bare commit of the same minute stands beside it, and the same
without that wait. ``--strict`` ends with 1 when a target is missed.
"""

import argparse
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sam_tui.adapters.workflows import DefinitionFiles, SqliteWorkflows, open_workflows
from sam_tui.core.clock import SystemClock
from sam_tui.core.ports.workflows import EventQuery, EventRow
from sam_tui.core.workflow.service import Workflows

ROOT = Path(__file__).resolve().parents[1]
STEPS = 10
OUTPUT = {"summary": "What was done, in a sentence or two. " * 5}


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table; ``target`` is the most that ``milliseconds`` may be."""

    name: str
    milliseconds: float
    target: float | None = None

    @property
    def met(self) -> bool:
        """Whether the target is kept."""
        return self.target is None or self.milliseconds < self.target


def ignored(_: EventRow) -> None:
    """Nobody listens."""


def service(folder: Path, *, flushed: bool = True) -> tuple[Workflows, SqliteWorkflows]:
    """A service over a definition of ten steps, one after the other."""
    place = folder / "ws" / ".sam" / "workflows"
    place.mkdir(parents=True, exist_ok=True)
    steps = "\n".join(
        f"  - {{id: s{i}, prompt: do it, needs: [{f's{i - 1}' if i else ''}], tools: [read]}}"
        for i in range(STEPS)
    )
    (place / "ten.md").write_text(f"---\nname: ten\nsteps:\n{steps}\n---\nBody.\n", "utf-8")
    store = open_workflows(folder / "data", flushed=flushed)
    source = DefinitionFiles(str(folder / "config"), str(folder / "ws"))
    return Workflows(store, source, SystemClock(), ignored), store


def timed(act: Callable[[], Any]) -> float:
    """Milliseconds that one call takes."""
    begun = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - begun)


def fill(workflows: Workflows, count: int) -> tuple[list[float], list[str]]:
    """Run so many executions to their end; how long each transition took, and their names."""
    times: list[float] = []
    names: list[str] = []
    for _ in range(count):
        done = workflows.start("ten")
        names.append(done.execution_id)
        while done.opened:
            token = done.opened[0].token
            begun = time.perf_counter()
            done = workflows.advance(token, OUTPUT)
            times.append(1000 * (time.perf_counter() - begun))
    return times, names


def bare_commits(folder: Path) -> float:
    """Milliseconds of a commit of one row that has reached the disk."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (a)")
    times = [timed(lambda: connection.execute("INSERT INTO t VALUES (1)")) for _ in range(200)]
    connection.close()
    return statistics.median(times)


def measure(folder: Path, executions: int) -> list[Figure]:
    """Every figure."""
    workflows, store = service(folder)
    times, names = fill(workflows, executions)
    size = store.path.stat().st_size / 1e6

    def asked(act: Callable[[str], Any]) -> float:
        picked = names[:: max(1, len(names) // 200)]
        return statistics.median([timed(lambda name=name: act(name)) for name in picked])

    figures = [
        Figure("a phase transition", statistics.median(times), 3.0),
        Figure("a phase transition, 99th of 100", statistics.quantiles(times, n=100)[98]),
        Figure("status of an execution", asked(workflows.execution), 5.0),
        Figure("its steps", asked(workflows.steps), 5.0),
        Figure("its history", asked(workflows.history), 5.0),
        Figure("its newest events", asked(lambda n: workflows.events(EventQuery(n))), 5.0),
        Figure("the 50 newest executions", asked(lambda _: workflows.executions())),
    ]
    store.close()
    figures.append(Figure("a bare commit of one row", bare_commits(folder)))
    workflows, store = service(folder / "unflushed", flushed=False)
    quick, _ = fill(workflows, max(5, executions // 50))
    figures.append(Figure("a phase transition, not waiting for the disk", statistics.median(quick)))
    store.close()
    print(f"{executions} executions of {STEPS} steps, {size:.0f} MB", flush=True)
    return figures


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="Measure the workflow engine.")
    parser.add_argument("--executions", type=int, default=1000)
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench-workflow.json")
    parser.add_argument("--strict", action="store_true", help="end with 1 when a target is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.executions)
    for figure in figures:
        target = "" if figure.target is None else f"< {figure.target:g} ms"
        mark = "" if figure.met else "  MISSED"
        print(f"{figure.name:46} {figure.milliseconds:8.2f} ms  {target}{mark}".rstrip())
    where = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(figure) | {"met": figure.met} for figure in figures]
    options.json.write_text(json.dumps({"machine": where, "figures": rows}, indent=1), "utf-8")
    return int(options.strict and not all(figure.met for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
