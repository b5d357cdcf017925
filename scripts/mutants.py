"""Breaks the critical modules in one place at a time and says which breaks no test notices.

``python -m scripts.mutants [--sample N] [--seed N] [--only TEXT] [--list] [--rows]``. ``mutants.toml`` says
which modules count, which tests cover each, and which mutants change nothing that can be observed. A
seeded sample of all mutants is played, each in a copy of the project: this one is never written to. Ends
with 1 below 92 of 100 killed, and with 2 where the tests fail before anything was changed. ``--rows`` plays
the breaks of ``tests/workflow/rows.toml`` instead, of which each must be noticed by the test that it names.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from scripts.breaks import Mutant, broken, mutants_of

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "tests" / "workflow" / "rows.toml"
LEAST = 0.92
"""The share of mutants, without those that are equivalent, that tests must kill."""
PATIENCE = 300.0
"""Seconds after which the tests of one mutant count as failed: it made a loop without an end."""
FEW = 5.0
"""Seconds that the tests take together that a mutant is tried on first."""
COPIED = ("sam_tui", "tools", "reminders", "tests", "scripts", "docs", "bench", "screenshots")


class Copy:
    """The project in a folder of its own, with an environment that imports from there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        for file in ROOT.iterdir():
            if file.is_file():
                shutil.copy2(file, folder / file.name)
        (folder / ".trace").mkdir()
        self.python = self._environment()

    def _environment(self) -> Path:
        """What is installed beside this interpreter, but our packages from the copy."""
        own = Path(sys.prefix)
        place = self.folder / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        site = Path("lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        folders = [self.folder, self.folder / "tools", self.folder / "reminders", own / site]
        self.site = place / site
        (self.site / "copy.pth").write_text("\n".join(map(str, folders)) + "\n", "utf-8")
        for program in (own / "bin").iterdir():
            target = place / "bin" / program.name
            if target.exists():
                continue
            if program.name == "sam-tui":
                lines = program.read_text("utf-8").splitlines(keepends=True)
                target.write_text(f"#!{place}/bin/python\n" + "".join(lines[1:]), "utf-8")
                target.chmod(0o755)
            else:
                target.symlink_to(program)
        return place / "bin" / "python"

    def run(self, paths: Sequence[str], patience: float | None, *options: str) -> tuple[int, str]:
        """The exit code of pytest and the end of its output; 1 where its seconds did not suffice."""
        plain = ("-n", "0", "-p", "no:cacheprovider", "-p", "scripts.tracing", "--timeout=300")
        command = [self.python, "-m", "pytest", *plain, *options, *paths]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(patience)
            except subprocess.TimeoutExpired:
                return 1, f"not done in {patience:.0f} s"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            return code, output.read().decode(errors="replace")[-2000:]

    def trace(self, modules: Mapping[str, Sequence[str]]) -> "Trace":
        """Run the tests of modules once, and write down which of their lines each test runs.

        A test that fails only while it is traced runs again without. Raises ``BrokenError``.
        """
        notes = self.folder / ".trace"
        (notes / "modules").write_text("\n".join(str(self.folder / m) for m in modules), "utf-8")
        start = self.site / "tracing.pth"
        start.write_text("import scripts.tracing\n", "utf-8")
        code, said = self.run(sorted({test for tests in modules.values() for test in tests}), None)
        if code not in (0, 1):
            raise BrokenError(said)
        start.unlink()
        (notes / "modules").unlink()
        trace = Trace(modules, notes)
        if again := trace.failed:
            self.choose(again)
            code, said = self.run(files_of(again), None, "-x")
            if code:
                raise BrokenError(said)
        return trace

    def choose(self, tests: Sequence[str]) -> None:
        """Let only these run, in this order; all where there is none."""
        (self.folder / ".trace" / "chosen").write_text("\n".join(tests), "utf-8")

    def fails(self, tests: Sequence[str]) -> bool:
        """Whether one of these tests fails."""
        self.choose(tests)
        code, said = self.run(files_of(tests), PATIENCE, "-x")
        if code not in (0, 1, 2):
            raise BrokenError(said)
        return bool(code)

    def play(self, mutant: Mutant, batches: Iterable[Sequence[str]]) -> bool:
        """Whether some test fails with it; the module of the copy is whole again afterwards."""
        file = self.folder / mutant.module
        source = file.read_text("utf-8")
        try:
            file.write_text(broken(source, mutant), "utf-8")
            return any(self.fails(tests) for tests in batches)
        finally:
            file.write_text(source, "utf-8")


class BrokenError(Exception):
    """The tests fail before anything is changed, or cannot be run."""


class Trace:
    """Which test runs which lines, and how long each takes."""

    def __init__(self, modules: Mapping[str, Sequence[str]], notes: Path) -> None:
        names = list(modules)
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.tests: dict[tuple[str, int], set[str]] = {}
        self.modules: dict[str, set[str]] = {name: set() for name in modules}
        for row in (notes / "tests").read_text("utf-8").splitlines():
            outcome, seconds, test = row.split(" ", 2)
            self.seconds[test] = float(seconds)
            self.failed += [test] * (outcome == "failed")
        for row in (notes / "lines").read_text("utf-8").splitlines():
            module, line, test = row.split(" ", 2)
            name = names[int(module)]
            if test in self.seconds and test.startswith(tuple(modules[name])):
                self.tests.setdefault((name, int(line)), set()).add(test)
                self.modules[name].add(test)

    def batches(self, mutant: Mutant) -> list[list[str]]:
        """The tests that run the statement of a mutant, cheapest first: a few at once, then the others.

        What runs while a module is imported can fail every test that comes by the module.
        """
        places = [self.tests.get((mutant.module, line), set()) for line in mutant.lines]
        able = {test for tests in places for test in tests}
        if not mutant.lines:
            able = self.modules[mutant.module]
        order = sorted(able, key=lambda test: (self.seconds[test], test))
        sums = accumulate(self.seconds[test] for test in order)
        few = sum(1 for spent in sums if spent < FEW)
        return [batch for batch in (order[:few], order[few:]) if batch]


def files_of(tests: Sequence[str]) -> list[str]:
    """The files of tests, each once."""
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))


def all_mutants(modules: Sequence[str]) -> Iterator[Mutant]:
    """Of every module."""
    for module in modules:
        yield from mutants_of(module, (ROOT / module).read_text("utf-8"))


def excused(mutant: Mutant, equivalent: Sequence[dict[str, str]]) -> str:
    """Why no test can tell a mutant from the original, where that is known."""
    for entry in equivalent:
        same = entry["module"] == mutant.module and entry["line"] == mutant.code
        if same and entry["change"] == mutant.change:
            return entry["why"]
    return ""


def ended(_: int, __: object) -> None:
    """End in order, so that the copy is removed and its tests are ended."""
    sys.exit(143)


def main() -> int:
    """Play the sample, print the table, and judge."""
    parser = argparse.ArgumentParser(description="Break the critical modules, one place at a time.")
    parser.add_argument("--sample", type=int, default=60, help="how many to play; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--list", action="store_true", help="name the sample and play nothing")
    parser.add_argument("--rows", action="store_true", help="play the rows of the specification")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, ended)
    try:
        return chosen(options)
    except BrokenError as error:
        print(f"{error}\nmutants: tests fail before anything is changed", file=sys.stderr)
        return 2


def chosen(options: argparse.Namespace) -> int:
    """Play what the command line asks for, in a copy that is removed afterwards."""
    if options.rows:
        with tempfile.TemporaryDirectory(prefix="sam-tui-mutants-") as folder:
            return rows_played(Copy(Path(folder)))
    plan: dict[str, Any] = tomllib.loads(
        Path(__file__).with_name("mutants.toml").read_text("utf-8")
    )
    modules = {name: tests for name, tests in plan["tests"].items() if options.only in name}
    sample = list(all_mutants(list(modules)))
    total = len(sample)
    if options.sample and options.sample < total:
        sample = random.Random(options.seed).sample(sample, options.sample)
        sample.sort(key=lambda m: (m.module, m.start))
    print(f"{len(sample)} of {total} mutants of {len(modules)} modules, seed {options.seed}")
    if options.list:
        print("\n".join(mutant.name for mutant in sample))
        return 0
    with tempfile.TemporaryDirectory(prefix="sam-tui-mutants-") as folder:
        return played(Copy(Path(folder)), sample, modules, plan.get("equivalent", []))


def rows_played(copy: Copy) -> int:
    """Break what each row names and run its test, before and after. 0 where each notices, else 1."""
    rows = tomllib.loads(ROWS.read_text("utf-8"))["row"]
    tests = sorted({row["test"] for row in rows})
    copy.choose(tests)
    code, said = copy.run(files_of(tests), None, "-x")
    if code:
        raise BrokenError(said)
    alive = 0
    for row in rows:
        source = (ROOT / row["module"]).read_text("utf-8")
        start = source.index(row["was"])
        line = source.count("\n", 0, start) + 1
        end = start + len(row["was"])
        mutant = Mutant(row["module"], line, start, end, row["was"], row["becomes"], "")
        dead = copy.play(mutant, [[row["test"]]])
        alive += not dead
        print(f"{'killed' if dead else 'SURVIVED':10} {row['name']}", flush=True)
    print(f"{len(rows) - alive} of {len(rows)} rows are held by their test")
    return int(alive > 0)


def played(
    copy: Copy,
    sample: Sequence[Mutant],
    modules: dict[str, list[str]],
    equivalent: Sequence[dict[str, str]],
) -> int:
    """Play each, and print what became of it. 0 where enough died, 1 where not."""
    used = {mutant.module: modules[mutant.module] for mutant in sample}
    begun = time.monotonic()
    trace = copy.trace(used)
    print(f"{len(trace.seconds)} tests traced in {time.monotonic() - begun:.0f} s", flush=True)
    killed = same = 0
    for mutant in sample:
        begun = time.monotonic()
        why = excused(mutant, equivalent)
        dead = not why and copy.play(mutant, trace.batches(mutant))
        killed, same = killed + dead, same + bool(why)
        verdict = "killed" if dead else "equivalent" if why else "SURVIVED"
        print(f"{verdict:10} {time.monotonic() - begun:5.0f} s  {mutant.name}", flush=True)
    counted = len(sample) - same
    share = killed / counted if counted else 1.0
    print(f"{killed} of {counted} killed ({share:.0%}, at least {LEAST:.0%}), {same} equivalent")
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main())
