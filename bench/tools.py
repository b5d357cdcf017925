"""Measures what tools cost: the way through ``execute``, grep beside ripgrep alone, the index.

``python -m bench.tools [--files N] [--repeat N] [--strict]``. The tree is made anew in a temporary folder.
Beside stand, in the same minute: a commit to SQLite for a call, ripgrep itself for a search, and
``git status`` of the same tree for the index.
"""

import asyncio
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.figures import Figure, judged, options
from sam_tools.turn_control import Think
from sam_tui.adapters.code import SqliteCodeIndex
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.storage import open_storage
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.files import GrepRequest
from sam_tui.core.tooling.executor import CallSurroundings, Executor
from sam_tui.core.tooling.registry import Registry

RG = Path(sys.executable).with_name("rg")
CALLS = 300
INDEXED = 2_000
"""Files of the tree whose index is measured: a large project's worth of its own sources."""

WORDS = ("alpha", "beta", "gamma", "delta", "parse", "render", "commit", "branch", "widget")


def make_tree(folder: Path, count: int) -> None:
    """Small source files, a hundred a folder; every fiftieth holds the needle."""
    dice = random.Random(7)
    for number in range(count):
        if number % 100 == 0:
            (folder / f"d{number // 100:04}").mkdir()
        lines = [
            f"def {dice.choice(WORDS)}_{dice.choice(WORDS)}_{number}_{line}(x): return x"
            for line in range(6)
        ]
        if number % 50 == 0:
            lines.append("needle_in_the_hay = True")
        path = folder / f"d{number // 100:04}" / f"f{number}.py"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


async def overhead(folder: Path) -> Figure:
    """The median of a call that does nothing: resolve, parse, guard, run, log, publish."""
    (folder / "ws").mkdir()
    storage, bus, clock = open_storage(folder / "data"), Bus(), SystemClock()
    try:
        guard = Guard(
            Workspace.open(str(folder / "ws")),
            Policy("ask", True, ()),
            Grants(clock),
            Inquiries(bus, clock, attended=False),
        )
        executor = Executor(
            Registry([Think().tool()]),
            CallSurroundings(guard, storage.results, storage.decisions, bus, clock),
        )
        conversation = ConversationId("bench")
        storage.conversations.create(conversation, str(folder))
        times: list[float] = []
        for number in range(CALLS):
            call = ToolCall(CallId(f"c{number}"), "think", '{"thoughts": "nothing"}')
            begun = time.perf_counter()
            done = await executor.execute(call, conversation)
            times.append(time.perf_counter() - begun)
            if not done.finished.ok:
                raise SystemExit(f"think failed: {done.finished.text}")
        taken = 1e3 * statistics.median(times)
        return Figure("execute, one call", taken, "ms", 40.0, commit(folder), "a commit")
    finally:
        storage.close()


async def grep(tree: Path, repeat: int) -> Figure:
    """The search of the tool beside ripgrep with the same question, output read to the end."""
    where = Workspace.open(str(tree)).locate(".")
    search = RipgrepSearch(seconds=120.0)
    question = ["--no-config", "--fixed-strings", "--ignore-case", "--line-number"]
    command = [str(RG), *question, "needle_in_the", "./"]
    expected = len(alone(command, tree).splitlines())

    async def ours() -> None:
        request = GrepRequest(where, "needle_in_the", regex=False, limit=100_000)
        found = await search.grep(request)
        if len(found.hits) != expected:
            raise SystemExit(f"{len(found.hits)} hits instead of {expected}")

    async def theirs() -> None:
        await asyncio.to_thread(alone, command, tree)

    one, other = await in_turn(repeat, ours, theirs)
    return Figure("grep", 1e3 * one, "ms", 1.3, 1e3 * other, "ripgrep")


def commit(folder: Path) -> float:
    """Milliseconds of one row that is committed, as each call's decision is."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE t (a)")
    times: list[float] = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        connection.execute("INSERT INTO t VALUES (1)")
        times.append(time.perf_counter() - begun)
    connection.close()
    return 1e3 * statistics.median(times)


def git(folder: Path, *words: str) -> float:
    """Milliseconds of one git command."""
    begun = time.perf_counter()
    subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)
    return 1e3 * (time.perf_counter() - begun)


def alone(command: list[str], folder: Path) -> bytes:
    """What ripgrep prints."""
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout


async def in_turn(
    repeat: int, one: Callable[[], Awaitable[None]], other: Callable[[], Awaitable[None]]
) -> tuple[float, float]:
    """The best seconds of both, run alternately so that both meet the same machine."""
    times: tuple[list[float], list[float]] = [], []
    for _ in range(repeat):
        for measured, run in zip(times, (one, other), strict=True):
            begun = time.perf_counter()
            await run()
            measured.append(time.perf_counter() - begun)
    return min(times[0]), min(times[1])


async def indexing(folder: Path, repeat: int) -> list[Figure]:
    """A first build, an update with nothing to do, one after one changed file, and a query."""
    tree = folder / "indexed"
    tree.mkdir()
    make_tree(tree, INDEXED)
    age(tree)
    for words in (("init", "-q"), ("add", "-A")):
        git(tree, *words)
    where = Workspace.open(str(tree)).locate(".")
    index = SqliteCodeIndex(folder / "index", LocalFiles(), RipgrepSearch(seconds=120.0))
    try:
        begun = time.perf_counter()
        state = await index.update(where, lambda _: None)
        built = time.perf_counter() - begun
        idle: list[float] = []
        changed: list[float] = []
        asked: list[float] = []
        status: list[float] = []
        for number in range(repeat + 2):
            begun = time.perf_counter()
            await index.update(where, lambda _: None)
            idle.append(time.perf_counter() - begun)
            file = tree / "d0000" / "f7.py"
            file.write_text(f"def changed_{number}(): ...\n", encoding="utf-8")
            os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
            begun = time.perf_counter()
            update = await index.update(where, lambda _: None)
            changed.append(time.perf_counter() - begun)
            status.append(git(tree, "status", "--porcelain"))
            if update.read != 1:
                raise SystemExit(f"{update.read} files read instead of 1")
            begun = time.perf_counter()
            found = await index.passages(where, f"changed_{number}", paths=None, limit=5)
            asked.append(time.perf_counter() - begun)
            if found[0].path != "d0000/f7.py":
                raise SystemExit("the changed file was not found")
    finally:
        index.close()
    return [
        Figure(f"index, first build of {state.files} files", 1e3 * built, "ms"),
        Figure("index, nothing changed", 1e3 * statistics.median(idle), "ms"),
        Figure(
            "index, one file changed",
            1e3 * statistics.median(changed),
            "ms",
            5.0,
            statistics.median(status),
            "git status",
        ),
        Figure("index, a query", 1e3 * statistics.median(asked), "ms"),
    ]


def age(tree: Path) -> None:
    """Let the files be old, so that an update reads what changed and not what is merely young."""
    for file in tree.rglob("*.py"):
        os.utime(file, (1_000_000_000, 1_000_000_000))


async def measured(files: int, repeat: int) -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="sam-bench-") as name:
        folder = Path(name)
        tree = folder / "tree"
        tree.mkdir()
        make_tree(tree, files)
        return [
            await overhead(folder),
            await grep(tree, repeat),
            *await indexing(folder, repeat),
        ]


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure what tools cost.")
    parser.add_argument("--files", type=int, default=100_000, help="of the tree that grep searches")
    parser.add_argument("--repeat", type=int, default=8)
    given = parser.parse_args()
    return judged("tools", asyncio.run(measured(given.files, given.repeat)), given)


if __name__ == "__main__":
    sys.exit(main())
