"""What the sandbox costs: the same commands free, under Landlock alone, and with live approvals.

``python -m bench.sandbox [--rounds N] [--strict]``. Rounds are interleaved and the best of each compared,
so that a busy machine slows all three alike. The bounds: under 20 ms more for a command that takes no
longer than that itself, and at most 1.15 times the time of all others, but for those in ``PRICES``.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, judged, options
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.ports.processes.sandbox import SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandRequest

PAUSE = 0.03
"""Seconds between runs: an agent thinks longer than that, and meanwhile the next way in is made."""
MOST_EXTRA_MS = 20.0
MOST_RATIO = 1.15
PRICES = {"grep -r": 7.0, "grep -r, big": 7.0, "2,000 files": 2.7}
"""What does little but open files by the thousand: each opening waits until the supervisor has judged its
name, and the making of files until it has made them (docs/sandbox.md)."""
_TEST = """
import pytest

@pytest.mark.parametrize("n", range(50))
def test_it(n, tmp_path):
    (tmp_path / "f").write_text(str(n))
    assert n == int((tmp_path / "f").read_text())
"""
_PYTEST = f"{sys.executable} -m pytest -q --import-mode=prepend -p no:cacheprovider t"
_COMPILE = "for i in 1 2 3; do gcc -O1 -c big.c -o o$i.o; done"

LOADS = {
    "true": "true",
    "git status": "git status --short",
    "grep -r": "grep -r zzzq lib lib lib lib lib lib lib lib > /dev/null; true",
    "git status, big": "cd big && git status --short",
    "grep -r, big": "grep -r zzzq big/lib > /dev/null; true",
    "400 forks": "for i in $(seq 400); do /bin/true; done",
    "pytest -q": _PYTEST,
    "compile": _COMPILE,
    "2,000 files": 'for i in $(seq 2000); do echo $i > "n$i"; done; rm -f n*',
    "chmod, touch": "touch a1 a2 a3; chmod 600 a1 a2 a3; cp -a t t2; rm -r t2",
}


def prepare(workspace: Path) -> None:
    """A small project: sources to search, a suite, something to compile, a repository. A big one in it:
    all that is installed here, some ten thousand files."""
    library = os.path.dirname(os.__file__)
    shutil.copytree(library, workspace / "lib", ignore=_only_python, symlinks=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so*")
    installed = sysconfig.get_path("purelib")
    shutil.copytree(installed, workspace / "big" / "lib", ignore=ignored, symlinks=True)
    (workspace / ".gitignore").write_text("/big\n", encoding="utf-8")
    (workspace / "t").mkdir()
    (workspace / "t" / "test_small.py").write_text(_TEST, encoding="utf-8")
    functions = "".join(f"int f{n}(int a){{return a*{n}+{n};}}\n" for n in range(3000))
    (workspace / "big.c").write_text(functions, encoding="utf-8")
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]
    for folder in (workspace, workspace / "big"):
        for words in (["init", "-q"], ["add", "-A"], commit):
            subprocess.run(["git", *words], cwd=folder, check=True)


def _only_python(folder: str, names: list[str]) -> list[str]:
    if folder.endswith(("site-packages", "test")):
        return names
    return [n for n in names if not n.endswith(".py") and os.path.isfile(os.path.join(folder, n))]


async def measure(rounds: int) -> list[Figure]:
    """Each load in each way."""
    base = Path(tempfile.mkdtemp(prefix="bench-sandbox-", dir=Path.home()))
    places = Secrets(str(Path.home())).paths
    hidden = tuple(place for place in places if not place.startswith(("/proc/", "/dev/")))
    plan = SandboxPlan(secrets=hidden)
    boxes = {
        "landlock": Sandbox(plan, live=False),
        "live": Sandbox(plan),
    }
    figures: list[Figure] = []
    try:
        workspace = base / "workspace"
        workspace.mkdir()
        prepare(workspace)
        ways = {"plain": ShellCommands(boxes["live"])}
        ways |= {name: ShellCommands(box) for name, box in boxes.items()}
        for load, command in LOADS.items():
            taken: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(rounds + 1):
                for name, commands in ways.items():
                    taken[name].append(await timed(commands, command, workspace, name != "plain"))
            best = {name: min(values[1:]) for name, values in taken.items()}
            plain, live = best["plain"], best["live"]
            most = PRICES.get(load, MOST_RATIO)
            if plain <= MOST_EXTRA_MS:
                most = (plain + MOST_EXTRA_MS) / plain
            alone = Figure(f"{load}, Landlock alone", best["landlock"], "ms", None, plain, "free")
            figures += [alone, Figure(load, live, "ms", most, plain, "free")]
    finally:
        for box in boxes.values():
            box.close()
        shutil.rmtree(base)
    return figures


async def timed(commands: ShellCommands, command: str, workspace: Path, confined: bool) -> float:
    """Milliseconds of one run. It must succeed, or the figure would mean nothing."""
    await asyncio.sleep(PAUSE)
    began = time.perf_counter()
    folder = str(workspace)
    request = CommandRequest(command, folder, confined, (folder,), 120.0, lambda _: None)
    result = await commands.run(request)
    if result.exit_code:
        raise SystemExit(f"{command}: exit code {result.exit_code}\n{result.output}")
    return (time.perf_counter() - began) * 1e3


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure what the sandbox costs.")
    parser.add_argument("--rounds", type=int, default=7, help="of each; the best counts")
    given = parser.parse_args()
    return judged("sandbox", asyncio.run(measure(given.rounds)), given)


if __name__ == "__main__":
    sys.exit(main())
