"""The program, imported once for all tests: every process that is started of it is forked.

Most tests that start ``python -P -m sam_tui`` look at what it does, not at how it is loaded, and loading
was most of their cost. What is forked is a process of its own all the same, a child of the worker, with
its own arguments, environment, folder and streams. ``SCRIPT`` and a text of Python start what the
program's own code is played by, in the same way. What watches over the commands of a worker, or of a forked
program, is forked too, and nobody's child as ever; and so is what the commands of a fleet start of it.
Whatever is started otherwise, or with another locale or setting of Python, is started as ever.
"""

import contextlib
import ctypes
import inspect
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from typing import Any

COMMAND = [sys.executable, "-P", "-m", "sam_tui"]
SCRIPT = [sys.executable, "-P", "-X", "preloaded", "-c"]
"""What a text of Python follows that may be run where the program is imported already."""
RUN = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
"""Such a text, which a file of Python follows."""
APART = ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-I", "-S", "-c"]
"""What a part of the program starts with that shall be nobody's child: see ``sandbox/detached.py``."""
AT_START = ("PYTHON", "LANGUAGE", "TEXTUAL", "LITELLM", "LD_", "MALLOC_")
"""Variables that count while Python starts or a package is imported, beside those of the encoding."""
ENCODING = ("LC_ALL", "LC_CTYPE", "LANG")
"""The first of these that is set says what it is (setlocale(3))."""
MESSAGE = 1 << 18
_SUBREAPER = 36
"""``PR_SET_CHILD_SUBREAPER``."""
_Popen = subprocess.Popen
_PROGRAM = str(pathlib.Path(__file__).with_name("program_server.py"))
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
        first, umask = started["preexec_fn"], os.umask(0o77)
        os.umask(umask)
        self.pid = _server().fork(
            [*streams, *started["pass_fds"]],
            words=words,
            folder=os.fsdecode(started["cwd"] or os.getcwd()),
            environment=dict(os.environ if started["env"] is None else started["env"]),
            leads=bool(started["start_new_session"]),
            umask=umask,
            first=first and [first.__module__, first.__qualname__],
        )
        if is_one(words, APART):
            self.returncode = 0  # the shell's, which is gone at once
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        getattr(self, _CLOSE)(*(started[name] for name in ends))


def _can(started: dict[str, Any]) -> bool:
    """Whether what is to be started is the program, in a way that a fork of it is no different."""
    plain = ("gid", "gids", "uid", "shell", "startupinfo")
    if any(started[name] for name in plain) or started["process_group"] not in (-1, None):
        return False
    first = started["preexec_fn"]
    if first is not None and "." in getattr(first, "__qualname__", "."):
        return False
    words, names = list(started["args"]), ",".join(map(str, started["pass_fds"]))
    if is_one(words, APART):
        return words[-1] == names
    if started["umask"] != -1 or names not in ("", words[-1]):
        return False
    if not is_one(words, COMMAND, SCRIPT) or not os.path.isdir(started["cwd"] or "."):
        return False
    environment = started["env"]
    alike = environment is None or _at_start(environment) == _at_start(os.environ)
    # Asked last: who starts nothing of this needs no server.
    return alike and not isinstance(_server(), Neighbour)


def is_one(words: list[Any], *ways: list[str]) -> bool:
    """Whether a command line begins in one of these ways."""
    return any(words[: len(way)] == way for way in ways)


def _at_start(environment: Any) -> dict[str, str]:
    decoded = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
    encoding = next(filter(None, map(decoded.get, ENCODING)), "")
    named = {name: value for name, value in decoded.items() if name.startswith(AT_START)}
    return named | {"encoding": encoding}


class Server:
    """The worker's side of the process that is ready."""

    def __init__(self, control: socket.socket) -> None:
        self._lock = threading.Lock()
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._control = control
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 # closed by `close`
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def started(cls) -> "Server":
        """One that the worker starts."""
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server = cls(control)
        with theirs:
            server._process = _Popen(
                [sys.executable, "-P", _PROGRAM, str(theirs.fileno()), " " * 4096],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stderr=server._said,
                cwd="/",
            )
        return server

    def fork(self, streams: list[int], **wanted: Any) -> int:
        """A new process; its id. It becomes a child of this one, if not nobody's: see ``program_server``.

        Raises ``ChildProcessError`` with what the process that is ready said, where it has ended.
        """
        message = json.dumps(wanted).encode()
        with self._lock:
            self._prctl(_SUBREAPER, int(not is_one(wanted["words"], APART)), 0, 0, 0)
            try:
                socket.send_fds(self._control, [message], streams)
                answer = self._control.recv(MESSAGE)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
            except BaseException:
                servers.remove(self)  # a test's time is up: its answer would be the next one's
                raise
            finally:
                self._prctl(_SUBREAPER, 0, 0, 0, 0)
        if answer:
            return int(answer)
        servers.remove(self)  # later tests have another
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


servers: list[Server | Neighbour] = []
"""What this process has its programs forked by, once it has started one."""


def _server() -> Server | Neighbour:
    if not servers:
        servers.append(Server.started())
    return servers[0]


def install() -> None:
    """Let every start of the program in this process be a fork of one that is ready."""
    if sys.platform == "linux":
        subprocess.Popen = PreloadedPopen


def is_installed() -> bool:
    """Whether it is so."""
    return subprocess.Popen is PreloadedPopen


def uninstall() -> None:
    """Have the program be started as ever."""
    subprocess.Popen = _Popen


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
    uninstall()
    for server in servers:
        if isinstance(server, Server):
            server.close()
    servers.clear()
