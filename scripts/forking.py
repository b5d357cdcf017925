"""A pytest that has collected its tests forks for every mutant: the program is imported once for all.

``--jobs`` is a socket of ``copies.py``, from which it reads one job a line and to which it writes how the
fork ended. A fork swaps the code of functions; what is imported later, or by a process that it starts, is
read from the changed file. PYTEST_DONT_REWRITE: nothing is asserted here.
"""

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from select import select
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NoReturn

from scripts.tracing import named

if TYPE_CHECKING:
    import pytest

PASSED, FAILED, UNSWAPPED = 0, 1, 7
"""How a fork ends; the last says that the change needs a new process."""


@dataclass(frozen=True, slots=True)
class Job:
    """Tests to run, how a module was written and is now, and the seconds that they have together."""

    tests: list[str]
    module: str
    was: str
    becomes: str
    seconds: float


def pytest_addoption(parser: "pytest.Parser") -> None:
    """``--jobs``."""
    parser.addoption("--jobs", type=int, help="the socket that jobs come from")


def pytest_runtestloop(session: "pytest.Session") -> bool:
    """Run what each job names, in a fork."""
    with socket.socket(fileno=session.config.getoption("--jobs")) as requester:
        requester.sendall(b"ready\n")  # what it imported is whole
        for line in requester.makefile():
            job = Job(**json.loads(line))
            process = os.fork()
            if not process:
                _run(session, named(session.items, job.tests), job, requester)
            requester.sendall(f"{_end(process, job.seconds)}\n".encode())
    return True


def _end(process: int, seconds: float) -> int:
    """The code that a fork ended with; killed, and with it what it started, if it takes too long."""
    waited = os.pidfd_open(process)
    try:
        if not select([waited], [], [], seconds)[0]:
            os.killpg(process, signal.SIGKILL)
    finally:
        os.close(waited)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _run(
    session: "pytest.Session", items: "list[pytest.Item]", job: Job, requester: socket.socket
) -> NoReturn:
    """Run tests until one fails, and end this process."""
    code = FAILED
    try:
        os.setpgid(0, 0)
        code = (
            _failure(session, items, requester)
            if swap(job.module, job.was, job.becomes)
            else UNSWAPPED
        )
    finally:
        os._exit(code)


def _failure(
    session: "pytest.Session", items: "list[pytest.Item]", requester: socket.socket
) -> int:
    """The code to end with; the name of the test that failed goes ahead of it."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            requester.sendall(f"{item.nodeid} ".encode())
            return FAILED
    return PASSED


def swap(module: str, was: str, becomes: str) -> bool:
    """Give every function of a module its new code; False where that cannot be done to a live one."""
    if was == becomes:
        return True
    before, after = (list(_codes(compile(text, module, "exec"))) for text in (was, becomes))
    if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
        return False
    places = {_place(code): new for code, new in zip(before, after, strict=True)}
    swapped = False
    gc.unfreeze()  # what is kept from the search for garbage is in no list of objects
    for live in gc.get_objects():
        if type(live) is FunctionType and live.__code__.co_filename == module:
            swapped = True
            try:
                live.__code__ = places[_place(live.__code__)]
            except (KeyError, ValueError):  # of another form: it binds other names
                return False
    return swapped or all(getattr(m, "__file__", "") != module for m in [*sys.modules.values()])


def _place(code: CodeType) -> object:
    """Where it stands; code objects themselves are not equal any more once one of them ran."""
    return code.co_qualname, tuple(code.co_positions())


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
