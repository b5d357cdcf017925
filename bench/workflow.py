"""Measures the workflow engine: a phase transition, and queries over a thousand executions.

``python -m bench.workflow [--executions N] [--json FILE] [--strict]``. Times are medians of wall time.
A transition is one ``advance`` by token: check, finish, open the next step, mint its token, commit.
Every commit has reached the disk, so a bare commit of the same minute stands beside it; beside a query
stands a bare SELECT of one row from the same file.
"""

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.figures import Figure, judged, options
from sam_tui.adapters.workflows import DefinitionFiles, SqliteWorkflows, open_workflows
from sam_tui.core.clock import SystemClock
from sam_tui.core.ports.workflows import EventQuery, EventRow
from sam_tui.core.workflow.service import Workflows

STEPS = 10
MOST_TRANSITION, MOST_QUERY = 5.0, 80.0
OUTPUT = {"summary": "What was done, in a sentence or two. " * 5}


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
    source = DefinitionFiles(
        str(folder / "config"), str(folder / "ws"), vouches=lambda _name, _data: True
    )
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


def bare_query(file: Path, names: Sequence[str]) -> float:
    """Milliseconds of the SELECT of one row by its key, of a connection that is open."""
    connection = sqlite3.connect(file)
    query = "SELECT * FROM executions WHERE id = ?"
    times = [timed(lambda n=n: connection.execute(query, (n,)).fetchall()) for n in names]
    connection.close()
    return statistics.median(times)


def measure(folder: Path, executions: int) -> list[Figure]:
    """Every figure."""
    workflows, store = service(folder)
    times, names = fill(workflows, executions)
    size = store.path.stat().st_size / 1e6
    picked = random.Random(1).sample(names, min(200, len(names)))

    def asked(name: str, act: Callable[[str], Any]) -> Figure:
        taken = statistics.median([timed(lambda one=one: act(one)) for one in picked])
        return Figure(name, taken, "ms", MOST_QUERY, bare_query(store.path, picked), "one SELECT")

    commit = bare_commits(folder)
    transition = statistics.median(times)
    figures = [
        Figure("a phase transition", transition, "ms", MOST_TRANSITION, commit, "a bare commit"),
        Figure("a phase transition, 99th of 100", statistics.quantiles(times, n=100)[98], "ms"),
        asked("status of an execution", workflows.records.execution),
        asked("its steps", workflows.records.steps),
        asked("its history", workflows.records.history),
        asked("its newest events", lambda name: workflows.records.reader.events(EventQuery(name))),
    ]
    newest = statistics.median([timed(workflows.records.executions) for _ in range(20)])
    figures.append(Figure("the 50 newest executions", newest, "ms"))
    store.close()
    workflows, store = service(folder / "unflushed", flushed=False)
    quick, _ = fill(workflows, max(5, executions // 50))
    name = "a phase transition, not waiting for the disk"
    figures.append(Figure(name, statistics.median(quick), "ms"))
    store.close()
    print(f"{executions} executions of {STEPS} steps, {size:.0f} MB", flush=True)
    return figures


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure the workflow engine.")
    parser.add_argument("--executions", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), given.executions)
    return judged("workflow", figures, given)


if __name__ == "__main__":
    sys.exit(main())
