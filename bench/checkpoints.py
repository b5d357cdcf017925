"""Snapshots and restores beside plain git in the same moments, and checkpoints whose program is killed.

``python -m bench.checkpoints [--files N] [--rounds N] [--kills N] [--json FILE] [--strict]``. Plain git is
``git add -A`` and ``git write-tree`` into a store of its own; for a restore ``git checkout TREE -- .``
follows. Each round changes ten files.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.figures import Figure, judged, options
from sam_tui.adapters.checkpoints import GitCheckpoints
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.checkpoints import ChangingCall
from tests.checkpoints.killing import killed, lost

CHANGED = 10
CALL = ChangingCall(ConversationId("bench"), CallId("call"), "op", "does")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that it takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def plain_git(store: Path, root: Path) -> Callable[..., None]:
    """What ``git add -A`` and ``git write-tree`` do into a store of their own, and further commands."""
    environ = {"PATH": os.environ["PATH"], "GIT_DIR": str(store), "GIT_WORK_TREE": str(root)}
    for who in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{who}_{what}": "bench@bench.invalid" for what in ("NAME", "EMAIL")}
    environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*further: tuple[str, ...]) -> None:
        for words in (("add", "-A"), ("write-tree",), *further):
            subprocess.run(("git", *words), env=environ, cwd=root, check=True, capture_output=True)

    subprocess.run(("git", "init", "-q", "--template="), env=environ, cwd=root, check=True)
    return run


def rewinds(
    checkpoints: GitCheckpoints, git: Callable[..., None], root: Path, rounds: int
) -> Figure:
    """The time of a look at what a restore would do, and of the restore."""
    changed = sorted(root.rglob("*.txt"))[:CHANGED]
    number = asyncio.run(checkpoints.before(CALL))
    git(("commit", "-q", "--allow-empty", "-m", "x"))

    async def restore() -> None:
        plan = await checkpoints.plan(number, {CALL.conversation})
        await checkpoints.restore(plan, {change.path for change in plan.changes})

    def there_and_back(work: Callable[[], object]) -> float:
        for path in changed:
            path.write_text(f"{time.time_ns()}\n", encoding="ascii")
        return timed(work)

    pairs = [
        (
            there_and_back(lambda: asyncio.run(restore())),
            there_and_back(lambda: git(("checkout", "-q", "-f", "HEAD", "--", "."))),
        )
        for _ in range(rounds)
    ]
    ours, theirs = (median(times) for times in zip(*pairs, strict=True))
    beside = "git add -A, write-tree and checkout"
    return Figure(f"restore of {CHANGED} files", ours, "ms", 3.0, theirs, beside)


def snapshots(folder: Path, files: int, rounds: int) -> list[Figure]:
    """The time of a snapshot, of an unchanged workspace and of one in which files changed."""
    root = Path(os.path.realpath(folder), "ws")
    for number in range(files):
        path = root / f"{number // 1000}" / f"{number // 50}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20, encoding="ascii")
    checkpoints = GitCheckpoints(
        str(folder / "data"), str(root), LocalFiles(), search_path=os.environ["PATH"]
    )
    git = plain_git(folder / "git", root)

    def snapshot() -> None:
        asyncio.run(checkpoints.before(CALL))

    snapshot()
    git()
    time.sleep(2.1)  # git reads anew what is no older than its index
    times: dict[str, list[float]] = {"same": [], "git same": [], "changed": [], "git changed": []}
    for turn in range(rounds + 1):
        for kind in ("same", "changed"):
            if kind == "changed":
                for number in range(CHANGED):
                    path = next(iter(sorted((root / str(number % 10)).rglob("*.txt"))))
                    path.write_text(f"{turn} {kind}\n", encoding="ascii")
            pairs = [(kind, snapshot), (f"git {kind}", git)]
            for name, work in pairs if turn % 2 else reversed(pairs):
                if turn:  # the first looks settle the dates of both
                    times[name].append(timed(work))
                else:
                    work()
    restored = rewinds(checkpoints, git, root, rounds)
    checkpoints.close()
    beside = "git add -A and write-tree"
    figures = [
        Figure(
            f"snapshot of {files:,} files, {words}",
            median(times[kind]),
            "ms",
            most=1.5,
            neighbour=median(times[f"git {kind}"]),
            beside=beside,
        )
        for kind, words in (("same", "nothing changed"), ("changed", f"{CHANGED} changed"))
    ]
    return [*figures, restored]


def main() -> int:
    """Measure, kill, print, and judge."""
    parser = options("Take snapshots, and kill programs that take them.")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--kills", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = snapshots(Path(folder), given.files, given.rounds)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder), "ws")
        root.mkdir()
        promised = killed(root, Path(folder, "data"), given.kills)
        wrong, damage = asyncio.run(lost(root, Path(folder, "data"), promised))
    for line in filter(None, (*wrong, damage)):
        print(line, file=sys.stderr)
    figures += [
        Figure("kills", given.kills),
        Figure("checkpoints told of", len(promised)),
        Figure("checkpoints lost or damaged", len(wrong), most=0),
        Figure("stores that git finds damaged", int(bool(damage)), most=0),
    ]
    return judged("checkpoints", figures, given)


if __name__ == "__main__":
    sys.exit(main())
