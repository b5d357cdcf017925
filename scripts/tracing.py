"""Which of the statements that are asked about run in which test: what ``probes.py`` adds marks them here.

The pytest of a copy loads this as a plugin: it says which statements each test reached, how long it took
and how it ended, and it runs the tests that ``.trace/chosen`` names, in that order. ``copies.py`` writes
and reads the files. PYTEST_DONT_REWRITE: it asserts nothing.
"""

import mmap
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".trace")
MARKS, LINES, TESTS, CHOSEN, FAILED = (
    os.path.join(FOLDER, name) for name in ("marks", "lines", "tests", "chosen", "failed")
)
"""A byte for each probe, once for each worker; what each test ran; each test's end; the tests to run; those
that fail, where that file is there."""
WORKERS = 4
"""Processes that run the tests while they are traced: tests wait more than they compute."""


def read(path: str) -> list[str]:
    """The lines of a file, none where it is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def append(path: str, lines: str) -> None:
    """More lines, whole even where several processes write. No descriptor stays open."""
    with open(path, "ab", 0) as file:
        file.write(lines.encode())


class Marks:
    """What probes reached, in memory that all processes of a trace share: a sandbox, in which nothing can
    be opened any more, leaves it to its processes."""

    def __init__(self) -> None:
        self._offset: int | None = None
        try:
            with open(MARKS, "r+b", 0) as file:
                self._bytes: mmap.mmap | bytearray = mmap.mmap(file.fileno(), 0)
        except OSError:  # nothing is traced, or this process may open nothing
            self._bytes = bytearray(WORKERS << 16)
        self._size = len(self._bytes) // WORKERS

    def __setitem__(self, number: int, _: int) -> None:
        offset = self._own()
        if offset is not None:
            self._bytes[offset + number] = 1
            return
        for start in range(0, len(self._bytes), self._size):  # whose process it is cannot be told
            self._bytes[start + number] = 1

    def _own(self) -> int | None:
        """Where the marks of this worker begin; a process that it forks asks nobody again."""
        if self._offset is None and (name := os.environ.get("PYTEST_XDIST_WORKER", "")):
            self._offset = int(name.removeprefix("gw")) % WORKERS * self._size
        return self._offset

    def clear(self) -> None:
        """A test begins."""
        start = self._own() or 0
        self._bytes[start : start + self._size] = bytes(self._size)

    @property
    def numbers(self) -> list[int]:
        """Those of the probes that were reached since."""
        start = self._own() or 0
        own = self._bytes[start : start + self._size]
        return [number for number, byte in enumerate(own) if byte]


RAN = Marks()
SECONDS: dict[str, float] = {}
TRACES = {"here": False}


def pytest_configure(config: "pytest.Config") -> None:
    """Whether tests are traced, and by this process: not by the one that hands them out."""
    workers = config.getoption("numprocesses", 0)
    TRACES["here"] = os.path.exists(MARKS) and (not workers or hasattr(config, "workerinput"))


def pytest_collection_modifyitems(config: "pytest.Config", items: "list[pytest.Item]") -> None:
    """Only the tests that are chosen, in that order."""
    chosen = read(CHOSEN)
    if chosen:
        able = named(items, chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in able])
        items[:] = able


def named(items: "list[pytest.Item]", names: list[str]) -> "list[pytest.Item]":
    """The tests of these names in their order; a name without parameters is all of its tests."""
    order = {name: number for number, name in enumerate(names)}
    places = {i: order.get(i.nodeid, order.get(i.nodeid.partition("[")[0])) for i in items}
    able = [(place, item) for item, place in places.items() if place is not None]
    return [item for _, item in sorted(able, key=lambda pair: pair[0])]


def pytest_collection_finish() -> None:
    """What ran so far ran while modules were imported, for all tests: it goes with no name."""
    if TRACES["here"]:
        _write_lines("")


def pytest_runtest_makereport(item: "pytest.Item", call: "pytest.CallInfo[None]") -> None:
    """Sum up what a test takes: workers report no set-up and no end that passed."""
    SECONDS[item.nodeid] = SECONDS.get(item.nodeid, 0.0) + call.duration


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    """Write down what failed."""
    if report.failed and os.path.exists(FAILED):
        append(FAILED, f"{report.nodeid}\n")
    if report.failed and TRACES["here"]:
        append(TESTS, f"failed {SECONDS[report.nodeid]:.3f} {report.nodeid}\n")


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Write down that a test ended and what it reached."""
    if TRACES["here"]:
        append(TESTS, f"passed {SECONDS[nodeid]:.3f} {nodeid}\n")
        _write_lines(nodeid)


def _write_lines(test: str) -> None:
    """Write down what ran under a name; what runs from now on is another test."""
    append(LINES, f"{','.join(map(str, RAN.numbers))} {test}\n")
    RAN.clear()
