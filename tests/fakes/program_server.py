"""The process that programs are forked of in tests, which has imported what they could need."""

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import pathlib
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from sam_tui import signals
from tests.fakes import databases, preloaded
from tests.fakes.memory import collapse, show

LATER = ("sam_tui.ui", "sam_tui.__main__", "sam_tui.demo.sample", "sam_tui.adapters.llm.litellm")
"""What a process imports itself that is forked of no worker's: it draws, or takes seconds."""
FLEET = [[*preloaded.COMMAND, name] for name in ("fleet", "worker")]
SERVING = [[*preloaded.COMMAND, "serve"]]
"""Commands that start the program themselves: each has a process of its own that is ready."""
ALIKE = (
    ("sam_tui.http_library", "load"),
    ("sam_tui.adapters.plugins.discovery", "_declared"),
    ("sam_tui.adapters.shell.bash", "_parser"),
    ("sam_tui.assembly.catalogue", "adverts"),
    ("sam_tui.core.authorization.commands.table", "builtin_table"),
    ("sam_tui.core.authorization.paths.secrets", "_home_places"),
)
"""What a process loads or reads of what is installed."""
WHEN_USED = (
    *("platformdirs", "anyio._backends._asyncio", "uvicorn.lifespan.off"),
    *("encodings.ascii", "encodings.utf_8_sig", "importlib.readers"),
)
"""What libraries import only when they need it."""
_THRESHOLDS = gc.get_threshold()
"""How often Python looks for garbage by itself; tests are imported later."""
_CLONE3, _CLONE_PARENT = 435, 0x8000
_served: list[socket.socket] = []


def preload() -> None:
    """Import what a process of the program could import, but for ``LATER``."""
    waiting = ["sam_tui", "sam_tools", "sam_reminders", "sam_tui.__main__"]
    while waiting:
        module = importlib.import_module(waiting.pop())
        below = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
        waiting += [found.name for found in below if not found.name.startswith(LATER)]
    _forget()
    _recall()
    gc.collect()
    gc.freeze()
    collapse()


def _recall() -> None:
    """Do once what each process would do for itself, with the same outcome whatever it is started with."""
    for name in WHEN_USED:
        importlib.import_module(name)
    for module, name in ALIKE:
        getattr(importlib.import_module(module), name)()
    with tempfile.TemporaryDirectory() as folder:
        importlib.import_module("sam_tui.adapters.storage").open_storage(
            pathlib.Path(folder)
        ).close()


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork as often as it is asked to; returns in each forked process, with what is wanted of it."""
    asked, asks = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asks.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, preloaded.MESSAGE)
    while True:
        source = select.select([control, asked], [], [])[0][0]
        message, descriptors = b"", list[int]()
        with suppress(ConnectionResetError):  # who asked was killed before it had read the answer
            message, descriptors, _, _ = socket.recv_fds(source, preloaded.MESSAGE, 5)
        if not message:
            os._exit(0)
        wanted = json.loads(message)
        answers = descriptors.pop() if source is asked else os.dup(control.fileno())
        starts = preloaded.is_one(wanted["words"], *FLEET, *SERVING)
        if preloaded.is_one(wanted["words"], *FLEET):
            importlib.import_module("sam_tui.adapters.fleet.database").load()
        apart = preloaded.is_one(wanted["words"], preloaded.APART)
        new = _fork_twice(leads=True) if apart else _fork_beside()
        if new is None:
            for end in (control, asked):
                end.close()
            os.close(answers)
            if starts and (served := _branch()) is not None:
                for descriptor in (*descriptors, asks.detach()):
                    os.close(descriptor)
                return _serve(served)
            _take(wanted, descriptors, asks)
            return wanted
        with suppress(BrokenPipeError):
            os.write(answers, str(new).encode())
        for descriptor in (*descriptors, answers):
            os.close(descriptor)


def serve_apart(path: list[str], streams: list[int]) -> None:
    """Fork what a worker's programs are forked of, which takes back what the tests changed in it.

    For a process that has imported both. ``path`` is where a program looks for modules, ``streams`` are
    the worker's. What is touched here no longer lies in huge pages: little.
    """
    served = _branch()
    if served is None:
        return
    _served.append(served)
    for stream in streams:
        os.close(stream)
    sys.path[:] = path
    preloaded.uninstall()
    databases.uninstall()
    for number in signal.valid_signals():
        if signals.ignored(number):
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()
    run(_become(_serve(served)))


def _forget() -> None:
    """Empty what the program's functions have remembered: tests ask some while they are imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("sam_tui", "sam_tools", "sam_reminders")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def is_forked() -> bool:
    """Whether this process is no test's, though it was forked from one that has imported the tests."""
    return bool(_served)


def _branch() -> socket.socket | None:
    """Fork what is ready once more, as the child of a program that starts others; in it, its control."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        preloaded.servers.append(preloaded.Server(control))
        return None
    control.close()
    return theirs


def _take(wanted: dict[str, Any], descriptors: list[int], asks: socket.socket) -> None:
    """Give a new process its streams, and what else it was passed or may ask."""
    for number in range(3):
        os.dup2(descriptors[number], number)
        os.close(descriptors[number])
    if descriptors[3:]:
        wanted["words"][-1] = str(descriptors[3])
    if not preloaded.is_one(wanted["words"], preloaded.COMMAND):
        asks.close()
        return
    preloaded.servers[:] = preloaded.servers or [preloaded.Neighbour(asks)]
    preloaded.install()


def _fork_beside() -> int | None:
    """Fork a child of this process's parent (CLONE_PARENT of clone(2)); its id, or None in it."""
    python, call = ctypes.pythonapi, ctypes.PyDLL(None).syscall
    arguments = (ctypes.c_uint64 * 8)(_CLONE_PARENT)
    python.PyOS_BeforeFork()
    new = call(_CLONE3, arguments, ctypes.sizeof(arguments))
    if new == 0:
        python.PyOS_AfterFork_Child()
        return None
    python.PyOS_AfterFork_Parent()
    return new if new > 0 else _fork_twice(leads=False)  # some containers do not know that call


def _fork_twice(*, leads: bool) -> int | None:
    """Fork twice; the new process's id, or None in it. The one between may lead a session.

    A process whose parent ended is given to the next one above that takes in orphans: whoever asked
    for a child of its own. The new one goes on when it has been given away.
    """
    told, tells = os.pipe()
    gate, held = os.pipe()
    between = os.fork()
    new = 0
    if between == 0:
        if leads:
            os.setsid()
        new = os.fork()
        if new:
            os.write(tells, str(new).encode())
            os._exit(0)
    for end in (tells, held):
        os.close(end)
    if between:
        os.waitpid(between, 0)
        new = int(os.read(told, 32))
    else:
        os.read(gate, 1)  # there is nothing to read, but its end when the one between ended
    for end in (told, gate):
        os.close(end)
    return new or None


def _become(wanted: dict[str, Any]) -> Callable[[], object]:
    """Be the process that was wanted: its folder, environment, arguments and streams; its program."""
    os.umask(wanted["umask"])
    os.chdir(wanted["folder"])
    if preloaded.is_one(wanted["words"], preloaded.APART):
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # as a shell does what it starts with &
    elif wanted["leads"]:
        os.setsid()
    if wanted["first"]:
        module, name = wanted["first"]
        getattr(importlib.import_module(module), name)()
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    tempfile.tempdir = None  # it may be another one
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    words = wanted["words"]
    show(words)
    for way in (preloaded.SCRIPT, preloaded.APART):
        if preloaded.is_one(words, way):
            sys.argv = ["-c", *words[len(way) + 1 :]]
            return functools.partial(exec, words[len(way)], {"__name__": "__main__"})
    program = sys.modules["sam_tui.__main__"]
    sys.argv = [str(program.__file__), *words[len(preloaded.COMMAND) :]]
    return program.main


def _stream(number: int, ready: TextIO) -> TextIO:
    """A standard stream as Python would have made it now, told by the one it made at its start."""
    mode, buffering = "w" if number else "r", 1 if number == 2 or os.isatty(number) else -1
    return open(number, mode, buffering, ready.encoding, ready.errors, "\n", closefd=False)


def run(program: Callable[[], object]) -> NoReturn:
    """Run and end as Python does, but do not take apart all that was imported, which costs most."""
    try:
        code = program()
    except SystemExit as ended:
        code = ended.code
    for module, name in ((threading, "_shutdown"), (atexit, "_run_exitfuncs")):
        getattr(module, name)()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = 120
    os._exit(code if isinstance(code, int) else code is not None)


def main() -> None:
    """Wait for what is wanted, and be that."""
    with socket.socket(fileno=int(sys.argv[1])) as control:
        preload()
        program = _become(_serve(control))
    run(program)


if __name__ == "__main__":
    main()
