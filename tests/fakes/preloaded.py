"""The program, imported once for all tests of a worker: every process that is started of it is forked.

Most tests that start ``python -P -m sam_tui`` look at what it does, not at how it is loaded, and loading
was most of their cost. What is forked is a process of its own all the same, a child of the worker, with
its own arguments, environment, folder and streams. ``SCRIPT`` and a text of Python start what the
program's own code is played by, in the same way. What watches over the commands of a worker, or of a forked
program, is forked too, and nobody's child as ever; and so is what the commands of a fleet start of it.
Whatever is started otherwise, or with another locale or setting of Python, is started as ever.
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import inspect
import json
import os
import pathlib
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, NoReturn, TextIO

from sam_tui import signals
from tests.fakes import databases
from tests.fakes.memory import collapse, show

COMMAND = [sys.executable, "-P", "-m", "sam_tui"]
SCRIPT = [sys.executable, "-P", "-X", "preloaded", "-c"]
"""What a text of Python follows that may be run where the program is imported already."""
APART = ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-I", "-S", "-c"]
"""What a part of the program starts with that shall be nobody's child: see ``sandbox/detached.py``."""
AT_START = ("PYTHON", "LC_", "LANG", "TEXTUAL", "LITELLM", "LD_", "MALLOC_")
"""Variables that count while Python starts or a package is imported."""
LATER = ("sam_tui.ui", "sam_tui.__main__", "sam_tui.demo.sample", "sam_tui.adapters.llm.litellm")
"""What a process imports itself that is forked of no worker's: it draws, or takes seconds."""
STARTING = [[*COMMAND, name] for name in ("fleet", "worker")]
"""Commands that start the program themselves: each has a process of its own that is ready."""
_MESSAGE = 1 << 18
_SUBREAPER = 36
"""``PR_SET_CHILD_SUBREAPER``."""
_Popen = subprocess.Popen
_EXECUTE, _CLOSE = "_execute_child", "_close_pipe_fds"
_PLACES = inspect.getfullargspec(getattr(_Popen, _EXECUTE)).args[1:]  # the parameters' names


class PreloadedPopen(_Popen[Any]):
    """A ``Popen`` that forks the program where it can, and starts everything else."""

    def _execute_child(self, *given: Any) -> None:
        started = dict(zip(_PLACES, given, strict=True))
        if not _can(started):
            getattr(super(), _EXECUTE)(*given)
            return
        theirs = [started[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        streams = [number if fd == -1 else fd for number, fd in enumerate(theirs)]
        words = [os.fsdecode(word) for word in started["args"]]
        umask = os.umask(0o77)
        os.umask(umask)
        self.pid = _server().fork(
            [*streams, *started["pass_fds"]],
            words=words,
            folder=os.fsdecode(started["cwd"] or os.getcwd()),
            environment=dict(os.environ if started["env"] is None else started["env"]),
            leads=bool(started["start_new_session"]),
            umask=umask,
        )
        if _is(words, APART):
            self.returncode = 0  # the shell's, which is gone at once
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        getattr(self, _CLOSE)(*(started[name] for name in ends))


def _can(started: dict[str, Any]) -> bool:
    """Whether what is to be started is the program, in a way that a fork of it is no different."""
    plain = ("preexec_fn", "gid", "gids", "uid", "shell", "startupinfo")
    if any(started[name] for name in plain) or started["process_group"] not in (-1, None):
        return False
    words, names = list(started["args"]), ",".join(map(str, started["pass_fds"]))
    if _is(words, APART):
        return words[-1] == names
    if started["umask"] != -1 or names not in ("", words[-1]):
        return False
    if not _is(words, COMMAND, SCRIPT) or not os.path.isdir(started["cwd"] or "."):
        return False
    environment = started["env"]
    alike = environment is None or _at_start(environment) == _at_start(os.environ)
    # Asked last: who starts nothing of this needs no server.
    return alike and not isinstance(_server(), Neighbour)


def _is(words: list[Any], *ways: list[str]) -> bool:
    return any(words[: len(way)] == way for way in ways)


def _at_start(environment: Any) -> dict[str, str]:
    decoded = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
    return {name: value for name, value in decoded.items() if name.startswith(AT_START)}


class Server:
    """The worker's side of the process that is ready."""

    def __init__(self, control: socket.socket) -> None:
        self._lock = threading.Lock()
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._control = control
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 # closed by `close`
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def started(cls) -> "Server":
        """One that the worker starts."""
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server = cls(control)
        with theirs:
            server._process = _Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno()), " " * 4096],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stderr=server._said,
                cwd="/",
            )
        return server

    def fork(self, streams: list[int], **wanted: Any) -> int:
        """A new process; its id. It becomes a child of this one, if not nobody's: see ``_fork``.

        Raises ``ChildProcessError`` with what the process that is ready said, where it has ended.
        """
        message = json.dumps(wanted).encode()
        with self._lock:
            self._prctl(_SUBREAPER, int(not _is(wanted["words"], APART)), 0, 0, 0)
            try:
                socket.send_fds(self._control, [message], streams)
                answer = self._control.recv(_MESSAGE)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
            except BaseException:
                _servers.remove(self)  # a test's time is up: its answer would be the next one's
                raise
            finally:
                self._prctl(_SUBREAPER, 0, 0, 0, 0)
        if answer:
            return int(answer)
        code = self._process.wait() if self._process else None
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")
        raise ChildProcessError(f"what programs are forked of in tests ended with {code}: {said}")

    def close(self) -> None:
        """End it."""
        self._control.close()
        if self._process:
            self._process.wait()
        self._said.close()


class Neighbour:
    """A forked program's side of it: what watches over its commands is forked as well."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    def fork(self, streams: list[int], **wanted: Any) -> int:
        """A new process, which is nobody's child; its id."""
        answer, answers = os.pipe()
        with open(answer, "rb") as said:
            try:
                socket.send_fds(self._requests, [json.dumps(wanted).encode()], [*streams, answers])
            finally:
                os.close(answers)
            return int(said.read())


_servers: list[Server | Neighbour] = []
_served: list[socket.socket] = []


def _server() -> Server | Neighbour:
    if not _servers:
        _servers.append(Server.started())
    return _servers[0]


def install() -> None:
    """Let every start of the program in this process be a fork of one that is ready."""
    if sys.platform == "linux":
        subprocess.Popen = PreloadedPopen


@contextlib.contextmanager
def starting_anew() -> Generator[None]:
    """Nothing is forked meanwhile: for tests of how a process is loaded."""
    forking, subprocess.Popen = subprocess.Popen, _Popen
    try:
        yield
    finally:
        subprocess.Popen = forking


def close() -> None:
    """End what was made ready."""
    subprocess.Popen = _Popen
    for server in _servers:
        if isinstance(server, Server):
            server.close()
    _servers.clear()


# ---- the process that is ready


def preload() -> None:
    """Import what a process of the program could import, but for ``LATER``."""
    waiting = ["sam_tui", "sam_tools", "sam_reminders", "sam_tui.__main__"]
    while waiting:
        module = importlib.import_module(waiting.pop())
        below = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
        waiting += [found.name for found in below if not found.name.startswith(LATER)]
    with tempfile.TemporaryDirectory() as folder:
        importlib.import_module("sam_tui.adapters.storage").open_storage(
            pathlib.Path(folder)
        ).close()
    gc.collect()
    gc.freeze()
    collapse()


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork as often as it is asked to; returns in each forked process, with what is wanted of it."""
    asked, asks = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asks.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE)
    while True:
        source = select.select([control, asked], [], [])[0][0]
        message, descriptors, _, _ = socket.recv_fds(source, _MESSAGE, 5)
        if not message:
            os._exit(0)
        wanted = json.loads(message)
        answers = descriptors.pop() if source is asked else os.dup(control.fileno())
        if starts := _is(wanted["words"], *STARTING):
            importlib.import_module("sam_tui.adapters.fleet.database").load()
        new = _fork(leads=_is(wanted["words"], APART))
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
        os.write(answers, str(new).encode())
        for descriptor in (*descriptors, answers):
            os.close(descriptor)


def serve_apart(path: list[str], streams: list[int]) -> None:
    """Fork what a worker's programs are forked of, which takes back what the tests changed in it.

    For a process that has imported both. ``path`` is where a program looks for modules, ``streams`` are
    the worker's.
    """
    served = _branch()
    if served is None:
        return
    _served.append(served)
    for stream in streams:
        os.close(stream)
    sys.path[:] = path
    subprocess.Popen = _Popen
    databases.uninstall()
    for number in signal.valid_signals():
        if signals.ignored(number):
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()
    run(_become(_serve(served)))


def is_forked() -> bool:
    """Whether this process is no test's, though it was forked from one that has imported the tests."""
    return bool(_served)


def _branch() -> socket.socket | None:
    """Fork what is ready once more, as the child of a program that starts others; in it, its control."""
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        _servers.append(Server(control))
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
    if not _is(wanted["words"], COMMAND):
        asks.close()
        return
    _servers[:] = _servers or [Neighbour(asks)]
    install()


def _fork(*, leads: bool) -> int | None:
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
    if _is(wanted["words"], APART):
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # as a shell does what it starts with &
    elif wanted["leads"]:
        os.setsid()
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
    for way in (SCRIPT, APART):
        if _is(words, way):
            sys.argv = ["-c", *words[len(way) + 1 :]]
            return functools.partial(exec, words[len(way)], {"__name__": "__main__"})
    program = sys.modules["sam_tui.__main__"]
    sys.argv = [str(program.__file__), *words[len(COMMAND) :]]
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
