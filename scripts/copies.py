"""A copy of the project whose modules are changed, the tests that run each line, and their runs."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import IO

from scripts.breaks import Mutant, broken
from scripts.forking import UNSWAPPED, Job
from scripts.probes import probes_of, with_probes
from scripts.tracing import WORKERS

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300.0
"""Seconds after which the tests of one mutant count as failed: it made a loop without an end."""
LEAST_PATIENCE = 60.0
"""What tests have at least; those whose time is known have ten times that on top of it, if it is less."""
FEW = 5.0
"""Seconds that the tests take together that a mutant is tried on first."""
SOME = 200
"""Tests at once of those that do not run the module themselves."""
_NOT_SWAPPED = "not swapped"
_UNLOADED = "while loading conftest"
"""What pytest says where what the tests are made of cannot be imported."""
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
        self._moment = 1_000_000_000
        self.seconds: dict[str, float] = {}
        self.python = self._environment()

    def _environment(self) -> Path:
        """What is installed beside this interpreter, but our packages from the copy."""
        own = Path(sys.prefix)
        place = self.folder / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        site = Path("lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        folders = [self.folder, self.folder / "tools", self.folder / "reminders", own / site]
        (place / site / "copy.pth").write_text("\n".join(map(str, folders)) + "\n", "utf-8")
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

    @contextmanager
    def pytest(
        self, paths: Sequence[str], *options: str, inherited: Sequence[int] = ()
    ) -> Generator[tuple[subprocess.Popen[bytes], IO[bytes]], None, None]:
        """Its pytest while it runs, and the file with its output; ended with all of its group."""
        plain = ("-n", "0", "-p", "no:cacheprovider", "-p", "scripts.tracing", "--timeout=300")
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [self.python, "-m", "pytest", *plain, *options, *paths],
                cwd=self.folder,
                env=_variables(),
                pass_fds=inherited,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield process, output
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def run(self, paths: Sequence[str], patience: float | None, *options: str) -> tuple[int, str]:
        """The exit code of pytest and the end of its output; 1 where its seconds did not suffice."""
        with self.pytest(paths, *options) as (process, output):
            try:
                code = process.wait(patience)
            except subprocess.TimeoutExpired:
                return 1, f"not done in {patience:.0f} s"
            output.seek(0)
            return code, output.read().decode(errors="replace")[-2000:]

    def trace(
        self,
        modules: Mapping[str, Sequence[str]],
        lines: Mapping[str, Collection[int]],
        *,
        aside: bool = False,
    ) -> "Trace":
        """Run the tests of modules once, and write down which of these ``lines`` each test runs.

        A test that fails only while it is traced runs again without. Where one fails then, too, it
        is left ``aside``, or ``BrokenError`` is raised.
        """
        notes = self.folder / ".trace"
        for file in notes.iterdir():  # of the area before
            file.unlink()
        with self._probed({name: lines[name] for name in modules}) as places:
            code, said = self.run(outermost(modules), None, "-n", str(WORKERS))
        if code not in (0, 1):
            raise BrokenError(said)
        (notes / "marks").unlink()
        trace = Trace(modules, notes, places)
        self.seconds = trace.seconds
        if aside:
            trace.leave(self._failing_of(trace.failed))
        elif again := trace.failed:
            self.choose(again)
            code, said = self.run(files_of(again), None, "-x")
            if code:
                raise BrokenError(said)
        return trace

    @contextmanager
    def _probed(
        self, lines: Mapping[str, Collection[int]]
    ) -> Generator[list[tuple[str, int]], None, None]:
        """The modules and lines by the numbers of the probes that these modules have inside the block."""
        places: list[tuple[str, int]] = []
        sources = {name: (self.folder / name).read_text("utf-8") for name in lines}
        for name, source in sources.items():
            probes = probes_of(source, lines[name])
            numbers = {probe: len(places) + n for n, probe in enumerate(probes)}
            places += [(name, probe.line) for probe in probes]
            self._write(self.folder / name, with_probes(source, numbers))
        (self.folder / ".trace" / "marks").write_bytes(bytes(WORKERS * max(1, len(places))))
        try:
            yield places
        finally:
            for name, source in sources.items():
                self._write(self.folder / name, source)

    def choose(self, tests: Sequence[str]) -> None:
        """Let only these run, in this order; all where there is none."""
        (self.folder / ".trace" / "chosen").write_text("\n".join(tests), "utf-8")

    def _failing_of(self, tests: Sequence[str]) -> list[str]:
        """Those that fail; all of them run, in one process."""
        if not tests:
            return []
        notes = self.folder / ".trace" / "failed"
        notes.touch()
        self.choose(tests)
        self.run(files_of(tests), None)
        failing = set(notes.read_text("utf-8").splitlines())
        notes.unlink()
        return [test for test in tests if test in failing]

    def patience(self, tests: Sequence[str]) -> float:
        """The seconds that tests have together."""
        usual = sum(self.seconds.get(test, PATIENCE) for test in tests)
        return min(PATIENCE, LEAST_PATIENCE + 10 * usual)

    def failing(self, tests: Sequence[str]) -> str:
        """The first of these tests that fails, or what keeps them from running."""
        self.choose(tests)
        code, said = self.run(files_of(tests), self.patience(tests), "-x")
        if code not in (0, 1, 2) and _UNLOADED not in said:
            raise BrokenError(said)
        named = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return (named or [said.strip() or "no test can run"])[-1] if code else ""

    @contextmanager
    def changed(self, mutant: Mutant) -> Generator[tuple[str, str], None, None]:
        """The source of its module before and after, while the file holds the latter."""
        file = self.folder / mutant.module
        source = file.read_text("utf-8")
        after = broken(source, mutant)
        try:
            self._write(file, after)
            yield source, after
        finally:
            self._write(file, source)

    def _write(self, file: Path, source: str) -> None:
        """No two versions have one time, by which compiled code is known."""
        file.write_text(source, "utf-8")
        self._moment += 1
        os.utime(file, (self._moment, self._moment))

    def play(self, mutant: Mutant, batches: Iterable[Sequence[str]]) -> str:
        """A test that fails with it, empty where none does, each batch in a new process."""
        with self.changed(mutant):
            return next((test for batch in batches if (test := self.failing(batch))), "")


def _variables() -> dict[str, str]:
    """That of the tests: nothing in it leads to other sources than those of the copy."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return own | {"PYTHONDONTWRITEBYTECODE": "1"}


class Forks:
    """A pytest of a copy that has collected its tests, and forks to run some of them."""

    def __init__(self, copy: Copy, paths: Sequence[str]) -> None:
        self.copy = copy
        self._unsteady: set[str] = set()
        self._ends = ExitStack()
        self._socket, theirs = socket.socketpair()
        self._ends.enter_context(self._socket)
        self._answers = self._ends.enter_context(self._socket.makefile())
        copy.choose([])
        with theirs:
            number = theirs.fileno()
            options = ("-p", "scripts.forking", f"--jobs={number}")
            pytest = copy.pytest(paths, *options, inherited=(number,))
            _, self._output = self._ends.enter_context(pytest)
        try:
            self._answer()
        except BrokenError:
            self.close()
            raise

    def close(self) -> None:
        """End it."""
        self._ends.close()

    def play(self, mutant: Mutant, batches: Iterable[Sequence[str]]) -> str | None:
        """The first test that fails with it, empty where none does; None: it needs a new process."""
        for tests in batches:
            waiting = [test for test in tests if test not in self._unsteady]
            while waiting:
                with self.copy.changed(mutant) as (was, becomes):
                    test = self._failing(mutant.module, was, becomes, waiting)
                if not test:
                    break
                if test == _NOT_SWAPPED:
                    return None
                if test not in waiting or not self._failing(mutant.module, "", "", [test]):
                    return test
                self._unsteady.add(test)  # it fails by itself, too
                waiting = waiting[waiting.index(test) + 1 :]
        return ""

    def _failing(self, module: str, was: str, becomes: str, tests: Sequence[str]) -> str:
        job = Job([*tests], str(self.copy.folder / module), was, becomes, self.copy.patience(tests))
        self._socket.sendall(f"{json.dumps(asdict(job))}\n".encode())
        test, _, code = self._answer().rpartition(" ")
        if int(code) == UNSWAPPED:
            return _NOT_SWAPPED
        return (test or "a test that did not end, or ended its process") if int(code) else ""

    def _answer(self) -> str:
        answer = self._answers.readline()
        if not answer:
            self._output.seek(0)
            raise BrokenError(self._output.read().decode(errors="replace")[-2000:])
        return answer.rstrip()


class BrokenError(Exception):
    """The tests fail before anything is changed, or cannot be run."""


class Trace:
    """Which test runs which lines, and how long each takes."""

    def __init__(
        self,
        modules: Mapping[str, Sequence[str]],
        notes: Path,
        places: Sequence[tuple[str, int]],
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.tests: dict[tuple[str, int], set[str]] = {}
        self.modules: dict[str, set[str]] = {name: set() for name in modules}
        self._imported: set[tuple[str, int]] = set()
        self._paths = {name: tuple(paths) for name, paths in modules.items()}
        ends = [row.split(" ", 2) for row in (notes / "tests").read_text("utf-8").splitlines()]
        for outcome, seconds, test in sorted(ends, key=lambda end: end[2].partition("::")[0]):
            self.seconds[test] = float(seconds)
            if outcome == "failed" and test not in self.failed:  # it is said for call and teardown
                self.failed.append(test)
        for row in (notes / "lines").read_text("utf-8").splitlines():
            numbers, test = row.split(" ", 1)
            for name, line in (places[int(number)] for number in numbers.split(",") if number):
                if not test:
                    self._imported.add((name, line))
                if test in self.seconds and test.startswith(self._paths[name]):
                    self.tests.setdefault((name, line), set()).add(test)
                    self.modules[name].add(test)

    def leave(self, tests: Sequence[str]) -> None:
        """Judge by none of these."""
        for able in (*self.tests.values(), *self.modules.values()):
            able.difference_update(tests)
        for test in tests:
            del self.seconds[test]
        self.failed = [*tests]

    def loads(self, mutant: Mutant) -> bool:
        """Whether a mutant changes what runs while modules are imported, before any test."""
        places = [(mutant.module, line) for line in mutant.lines]
        return not any(map(self.tests.get, places)) and (
            not places or not self._imported.isdisjoint(places)
        )

    def batches(self, mutant: Mutant) -> list[list[str]]:
        """The tests that run the statement of a mutant: a few at once, then the others, then those beside
        them in their files, which may look at what one of them had made.

        The cheapest come first, one of each function before its other parameters.
        What runs while a module is imported can fail every test that comes by the module, and those
        of its area that come by another which imports it: they are tried last, some at once.
        """
        places = [self.tests.get((mutant.module, line), set()) for line in mutant.lines]
        able = {test for tests in places for test in tests}
        loads = self.loads(mutant)
        if loads:
            able = self.modules[mutant.module]
        seen: Counter[str] = Counter()
        turns: dict[str, int] = {}
        for test in sorted(able, key=lambda test: (self.seconds[test], test)):
            turns[test] = seen[function := test.partition("[")[0]]
            seen[function] += 1
        order = sorted(turns, key=turns.__getitem__)  # others of one function notice much the same
        sums = accumulate(self.seconds[test] for test in order)
        few = sum(1 for spent in sums if spent < FEW)
        rest = set(order[few:])
        batches = [order[:few], [test for test in self.seconds if test in rest]]
        if not loads:
            files = {test.partition("::")[0] for test in able}
            batches.append([
                t for t in self.seconds if t not in able and t.partition("::")[0] in files
            ])
        else:
            paths = self._paths[mutant.module]
            others = [t for t in self.seconds if t not in able and t.startswith(paths)]
            batches += [others[n : n + SOME] for n in range(0, len(others), SOME)]
        return [batch for batch in batches if batch]


def outermost(modules: Mapping[str, Sequence[str]]) -> list[str]:
    """The folders and files of the tests of modules. Of a folder and a file in it pytest took the file."""
    paths = sorted({test for tests in modules.values() for test in tests})
    return [path for path in paths if not any(path.startswith(f"{other}/") for other in paths)]


def files_of(tests: Sequence[str]) -> list[str]:
    """The files of tests, each once."""
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))
