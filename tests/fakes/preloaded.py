"""The program, imported once for all tests of a worker: every process that is started of it is forked.

Most tests that start ``python -P -m sam_tui`` look at what it does, not at how it is loaded, and loading
was most of their cost. What is forked is a process of its own all the same, a child of the worker, with
its own arguments, environment, folder and streams. ``SCRIPT`` and a text of Python start what the
program's own code is played by, in the same way. Whatever is started in another way, or with another
locale or another setting of Python itself, is started as ever, and so is everything but on Linux.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import inspect
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

COMMAND = [sys.executable, "-P", "-m", "sam_tui"]
SCRIPT = [sys.executable, "-P", "-X", "preloaded", "-c"]
"""What a text of Python follows that may be run where the program is imported already."""
AT_START = ("PYTHON", "LC_", "LANG", "TEXTUAL", "LITELLM", "LD_", "MALLOC_")
"""Variables that count while Python starts or a package is imported."""
LATER = ("sam_tui.ui", "sam_tui.__main__", "sam_tui.demo.sample", "sam_tui.adapters.llm.litellm")
"""What a process imports itself: it draws, or takes seconds, and few tests need it."""
_MESSAGE = 1 << 18
_SUBREAPER = 36
_Popen = subprocess.Popen
_EXECUTE, _CLOSE = "_execute_child", "_close_pipe_fds"
_PLACES = inspect.getfullargspec(getattr(_Popen, _EXECUTE)).args[1:]
"""The parameters of ``Popen._execute_child``."""


class PreloadedPopen(_Popen[Any]):
    """A ``Popen`` that forks the program where it can, and starts everything else."""

    def _execute_child(self, *given: Any) -> None:
        started = dict(zip(_PLACES, given, strict=True))
        if not _can(started):
            getattr(super(), _EXECUTE)(*given)
            return
        theirs = [started[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        streams = [number if fd == -1 else fd for number, fd in enumerate(theirs)]
        self.pid = _server().fork(
            streams,
            words=[os.fsdecode(word) for word in started["args"]],
            folder=os.fsdecode(started["cwd"] or os.getcwd()),
            environment=dict(os.environ if started["env"] is None else started["env"]),
            leads=bool(started["start_new_session"]),
        )
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        getattr(self, _CLOSE)(*(started[name] for name in ends))


def _can(started: dict[str, Any]) -> bool:
    """Whether what is to be started is the program, in a way that a fork of it is no different."""
    plain = ("preexec_fn", "pass_fds", "gid", "gids", "uid", "shell", "startupinfo")
    if any(started[name] for name in plain) or started["process_group"] not in (-1, None):
        return False
    words = list(started["args"])
    if started["umask"] != -1 or not any(words[: len(way)] == way for way in (COMMAND, SCRIPT)):
        return False
    folder, environment = started["cwd"], started["env"]
    if folder is not None and not os.path.isdir(folder):
        return False
    return environment is None or _at_start(environment) == _at_start(os.environ)


def _at_start(environment: Any) -> dict[str, str]:
    decoded = ((os.fsdecode(name), os.fsdecode(value)) for name, value in environment.items())
    return {name: value for name, value in decoded if name.startswith(AT_START)}


class Server:
    """The worker's side of the process that is ready."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE)
        with theirs:
            argv = [sys.executable, "-P", __file__, str(theirs.fileno())]
            self._process = _Popen(
                argv, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, cwd="/"
            )

    def fork(self, streams: list[int], **wanted: Any) -> int:
        """A new process; its id. It becomes a child of this one: see ``_fork``."""
        umask = os.umask(0o77)
        os.umask(umask)
        message = json.dumps({**wanted, "umask": umask}).encode()
        with self._lock:
            self._prctl(_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._control, [message], streams)
                return int(self._control.recv(_MESSAGE))
            finally:
                self._prctl(_SUBREAPER, 0, 0, 0, 0)

    def close(self) -> None:
        """End it."""
        self._control.close()
        self._process.wait()


_servers: list[Server] = []


def _server() -> Server:
    if not _servers:
        _servers.append(Server())
    return _servers[0]


def install() -> None:
    """Let every start of the program in this process be a fork of one that is ready."""
    if sys.platform == "linux":
        subprocess.Popen = PreloadedPopen


def close() -> None:
    """End what was made ready."""
    subprocess.Popen = _Popen
    while _servers:
        _servers.pop().close()


# ---- the process that is ready


def _preload() -> None:
    """Import what a process of the program could import, but for ``LATER``, and draw a screen.

    The emulator's declarations are parsed as they are first used, which takes longer than to load it.
    """
    waiting = ["sam_tui", "sam_tools", "sam_reminders", "sam_tui.__main__"]
    while waiting:
        module = importlib.import_module(waiting.pop())
        below = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
        waiting += [found.name for found in below if not found.name.startswith(LATER)]
    sys.modules["sam_tui.adapters.terminal.emulator.screen"].EmulatedScreen(80, 24).text()
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork as often as it is asked to; returns in each forked process, with what is wanted of it."""
    while True:
        message, streams, _, _ = socket.recv_fds(control, _MESSAGE, 3)
        if not message:
            os._exit(0)
        new = _fork()
        for number, stream in enumerate(streams):
            if new is None:
                os.dup2(stream, number)
            os.close(stream)
        if new is None:
            control.close()
            return json.loads(message)
        control.send(str(new).encode())


def _fork() -> int | None:
    """Fork twice; the new process's id, or None in it.

    A process whose parent ended is given to the next one above that takes in orphans: that is the
    worker, while it waits for the answer. The new one goes on when it has been given away.
    """
    told, tells = os.pipe()
    gate, held = os.pipe()
    between = os.fork()
    new = 0
    if between == 0:
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
    if wanted["leads"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    words = wanted["words"]
    if words[: len(SCRIPT)] == SCRIPT:
        sys.argv = ["-c", *words[len(SCRIPT) + 1 :]]
        return functools.partial(exec, words[len(SCRIPT)], {"__name__": "__main__"})
    program = sys.modules["sam_tui.__main__"]
    sys.argv = [str(program.__file__), *words[len(COMMAND) :]]
    return program.main


def _stream(number: int, ready: TextIO) -> TextIO:
    """A standard stream as Python would have made it now, told by the one it made at its start."""
    return open(
        number,
        "w" if number else "r",
        buffering=1 if number == 2 or os.isatty(number) else -1,
        encoding=ready.encoding,
        errors=ready.errors,
        newline="\n",
        closefd=False,
    )


def _end(code: object) -> NoReturn:
    """End as Python does, but do not take apart all that was imported, which costs most."""
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
        _preload()
        program = _become(_serve(control))
    try:
        code = program()
    except SystemExit as ended:
        code = ended.code
    _end(code)


if __name__ == "__main__":
    main()
