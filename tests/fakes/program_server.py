"""The process that programs are forked of in tests, which has imported what they could need."""

import ctypes
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
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sam_tui import signals
from tests.fakes import databases, forked, preloaded, supervisor_server
from tests.fakes.memory import collapse

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
supervisors: list[socket.socket] = []
"""What forks the processes that watch over commands, once it has been started."""


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
        if preloaded.is_one(wanted["words"], preloaded.APART):
            socket.send_fds(supervisors[0], [message], [*descriptors, answers])
            for descriptor in (*descriptors, answers):
                os.close(descriptor)
            continue
        new = _fork_beside()
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
        supervisors.pop().close()
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
    forked.run(_become(_serve(served)))


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
    supervisors.pop().close()
    forked.take(wanted, descriptors)
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
    return (
        new if new > 0 else forked.fork_twice(leads=False)
    )  # some containers do not know that call


def _become(wanted: dict[str, Any]) -> Callable[[], object]:
    """Be the process that was wanted: its folder, environment, arguments and streams; its program."""
    if wanted["leads"]:
        os.setsid()
    forked.enter(wanted)
    tempfile.tempdir = None  # it may be another one
    words = wanted["words"]
    if preloaded.is_one(words, preloaded.SCRIPT):
        return forked.script(words[len(preloaded.SCRIPT) :])
    program = sys.modules["sam_tui.__main__"]
    sys.argv = [str(program.__file__), *words[len(preloaded.COMMAND) :]]
    return program.main


def main() -> None:
    """Wait for what is wanted, and be that."""
    with socket.socket(fileno=int(sys.argv[1])) as control:
        preload()
        supervisors.append(supervisor_server.started())
        program = _become(_serve(control))
    forked.run(program)


if __name__ == "__main__":
    main()
