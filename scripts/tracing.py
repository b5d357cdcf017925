"""Which of the lines that are asked about run in which test: every Python of a traced copy loads this.

The pytest of a copy loads it as a plugin as well: it says which test runs, how long each took and how it
ended, and it runs the tests that ``.trace/chosen`` names, in that order. ``mutants.py`` writes and reads
the files; without them nothing is traced. PYTEST_DONT_REWRITE: it asserts nothing.
"""

import ctypes
import fcntl
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".trace")
MODULES, TEST, LINES, TESTS, CHOSEN, FAILED = (
    os.path.join(FOLDER, name) for name in ("modules", "test", "lines", "tests", "chosen", "failed")
)
"""Paths that are traced and the lines asked about; the test that runs; what it ran; each test's end; the
tests to run; those that fail, where that file is there."""


def read(path: str) -> list[str]:
    """The lines of a file, none where it is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def append(path: str, line: str) -> None:
    """One more line, whole even where several processes write. No descriptor stays open."""
    with open(path, "ab", 0) as file:
        file.write(f"{line}\n".encode())


def confined() -> bool:
    """Whether a filter of system calls holds this process: opening a file would be asked of somebody."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl is not None and prctl(21, 0, 0, 0, 0) != 0  # PR_GET_SECCOMP


class Notes:
    """The file of lines, kept open: in a sandbox it cannot be opened any more."""

    def __init__(self) -> None:
        most = os.sysconf("SC_OPEN_MAX")
        high = most // 2 if 0 < most < 1024 else 512  # out of the way of what the tests open
        with open(LINES, "ab", 0) as file:
            self._number = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, high)
        self._file = self._identity()

    def _identity(self) -> tuple[int, int]:
        about = os.fstat(self._number)
        return about.st_dev, about.st_ino

    def add(self, line: str) -> None:
        """One more line. Raises ``OSError`` in a process that may write nowhere."""
        with suppress(OSError):
            if self._identity() == self._file:
                os.write(self._number, f"{line}\n".encode())
                return
        if not confined():  # a fork that closed what it got
            append(LINES, line)


class Tracer:
    """The trace function of this process. A function is followed until each line of it that is asked
    about ran once in a test: the rest of its calls cost little."""

    def __init__(self, modules: dict[str, list[int]]) -> None:
        numbered = enumerate(modules.items())
        self.modules = {name: (number, set(lines)) for number, (name, lines) in numbered}
        self.notes = Notes()
        self.begin()

    def begin(self) -> None:
        """Lines count for the test that runs now."""
        self.test = "".join(read(TEST))
        self.left: dict[tuple[int, int, str], set[int]] = {}

    def __call__(self, frame: FrameType, _: str, __: object) -> Callable[..., Any] | None:
        code = frame.f_code
        if (module := self.modules.get(code.co_filename)) is None:
            return None
        number, lines = module
        key = (number, code.co_firstlineno, code.co_qualname)
        left = self.left.get(key)
        if left is None:
            left = {line for *_, line in code.co_lines() if line in lines}
            self.left[key] = left
            self._note(number, code.co_firstlineno)
        if not left:
            return None

        def local(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
            line = frame.f_lineno
            if event == "line" and line in left:
                left.discard(line)
                self._note(number, line)
            return local

        return local

    def _note(self, module: int, line: int) -> None:
        with suppress(OSError):  # a process that may write nowhere
            self.notes.add(f"{module} {line} {self.test}")


def begin() -> Tracer | None:
    """Trace this process and its forks, if this copy is traced."""
    modules = "" if confined() else "".join(read(MODULES))
    if not modules:
        return None
    tracer = Tracer(json.loads(modules))
    os.register_at_fork(after_in_child=tracer.begin)
    threading.settrace(tracer)
    sys.settrace(tracer)
    return tracer


TRACER = begin()
SECONDS: dict[str, float] = {}


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


def pytest_runtest_logstart(nodeid: str) -> None:
    """What runs from now on is this test."""
    if TRACER is not None:
        with open(TEST, "w", encoding="utf-8") as file:
            file.write(nodeid)
        TRACER.begin()
        sys.settrace(TRACER)  # taken away by a test, or by one that ran out of stack in it


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    """Sum up what a test took, and write down how it ended."""
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0.0) + report.duration
    if report.failed and os.path.exists(FAILED):
        append(FAILED, report.nodeid)
    if TRACER is not None and (report.when == "teardown" or report.failed):
        outcome = "failed" if report.failed else "passed"
        append(TESTS, f"{outcome} {SECONDS[report.nodeid]:.3f} {report.nodeid}")
