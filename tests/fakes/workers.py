"""Workers of pytest-xdist that are forked from one process, which collected the tests once.

The one that hands out tests starts that process and has execnet start, in place of each Python, this
file: it gives its streams to the process that is ready, and ends when the worker does. Where nothing
can be forked it becomes the Python that execnet wanted. Imports little: it runs once for each worker.
"""

import atexit
import functools
import gc
import json
import os
import select
import shlex
import signal
import socket
import sys
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import execnet
    import pytest

_STARTED = b"started"
_LONGEST = 4096
_OF_EACH = (
    *("ignore", "ignore_glob", "pyargs", "keepduplicates", "noconftest", "confcutdir"),
    *("override_ini", "pythonwarnings", "doctestmodules", "doctestglob", "asyncio_mode"),
)
"""Options of pytest by which other tests are collected: then each worker collects for itself."""


# ---- who hands out the tests


class Source:
    """The process that the workers of a run are forked from. Raises ``OSError`` where it cannot be."""

    def __init__(self, config: "pytest.Config") -> None:
        import subprocess
        import tempfile

        os.close(os.pidfd_open(os.getpid()))  # what it needs
        self._folder = tempfile.TemporaryDirectory(prefix="sam-tui-workers-")
        path = os.path.join(self._folder.name, "s")
        settings = ["-c", str(config.inipath)] if config.inipath else []
        plugins = [f"-p{name}" for name in config.option.plugins if "xdist" not in name]
        arguments = ["--rootdir", str(config.rootpath), *settings, *plugins, *config.args]
        shared = not any(config.getoption(name, None) for name in _OF_EACH)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(path)
            listener.listen()
            terms = json.dumps({"path": sys.path, "arguments": arguments, "shared": shared})
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-u", __file__, str(listener.fileno()), terms, " " * 4096],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(listener.fileno(),),
            )
        self.python = shlex.join([sys.executable, "-I", "-S", __file__, path])
        """What execnet starts instead of a Python."""

    def close(self) -> None:
        """End it; it waits until its workers have ended."""
        self._process.communicate()
        self._folder.cleanup()


def fork_workers(config: "pytest.Config", specs: "Sequence[execnet.XSpec]") -> None:
    """Have the workers of this machine forked, where that is possible; else they are started."""
    if sys.platform != "linux":
        return  # the frameworks of macOS do not bear it
    try:
        source = Source(config)
    except OSError:
        return
    config.add_cleanup(source.close)
    for spec in specs:
        if spec.popen and not (spec.python or spec.chdir):
            spec.python = source.python


# ---- in place of a worker's Python


def relay(path: str, words: list[str]) -> NoReturn:
    """Have a worker forked that has these streams, and end as it does; else become ``words``."""
    heeded = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker is interrupted as well
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as source:
        try:
            source.connect(path)
            socket.send_fds(source, [words[-1].encode()], [0, 1, 2])
            answer = source.recv(len(_STARTED))
        except OSError:
            answer = b""
        if answer == _STARTED:
            with open(os.devnull, "r+b") as nothing:
                for stream in (0, 1):  # their ends are seen when the worker ends
                    os.dup2(nothing.fileno(), stream)
            ended = source.recv(_LONGEST).decode() or "unseen"
            if ended != "0":
                sys.stderr.write(f"\na worker of the tests ended with {ended}\n")
            sys.exit(ended != "0")
    signal.signal(signal.SIGINT, heeded)
    os.execv(sys.executable, [sys.executable, *words])


# ---- the process that is ready


@dataclass(frozen=True, slots=True)
class Worker:
    """A forked process, a descriptor that is readable once it ended, and the line to its relay."""

    pid: int
    end: int
    line: socket.socket


class ForkServer:
    """Forks workers as long as somebody is there who could ask for one."""

    def __init__(
        self, listener: socket.socket, path: list[str], first: Callable[[], object]
    ) -> None:
        self._listener = listener
        self._path = path  # where a program looks for modules
        self._first = first
        self._workers: list[Worker] = []

    def serve(self) -> Callable[[], object] | None:
        """Fork for each who asks; returns the program of a worker in each, and None at the end."""
        asked = [0, self._listener.fileno()]
        while asked or self._workers:
            ends = {worker.end: worker for worker in self._workers}
            lines = {worker.line.fileno(): worker for worker in self._workers}
            ready = select.select([*asked, *ends, *lines], [], [])[0]
            for worker in [ends[source] for source in ready if source in ends]:
                self._finish(worker)
            for worker in [lines[source] for source in ready if source in lines]:
                if worker in self._workers:
                    os.kill(worker.pid, signal.SIGKILL)  # its relay was killed in its place
                    self._finish(worker)
            if 0 in ready:
                asked = []  # who hands out the tests has ended
            elif set(asked) & set(ready) and (program := self._fork()) is not None:
                return program
        return None

    def _fork(self) -> Callable[[], object] | None:
        line, _ = self._listener.accept()
        message, streams, _, _ = socket.recv_fds(line, _LONGEST, 3)
        pid = os.fork() if len(streams) == 3 else None
        if pid == 0:
            for worker in self._workers:
                os.close(worker.end)
                worker.line.close()
            self._listener.close()
            line.close()
            from tests.fakes import preloaded, program_server

            if preloaded.is_installed():
                program_server.serve_apart(self._path, streams)
            self._first()
            return _become(message.decode(), streams)
        for stream in streams:
            os.close(stream)
        if pid is None:
            line.close()
            return None
        self._workers.append(Worker(pid, os.pidfd_open(pid), line))
        line.sendall(_STARTED)
        return None

    def _finish(self, worker: Worker) -> None:
        self._workers.remove(worker)
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        os.close(worker.end)
        with worker.line, suppress(BrokenPipeError):
            worker.line.sendall(str(status).encode())


def _import_tests(
    arguments: list[str],
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Import the program, and collect the tests; what each worker does first, and what is done at the end.

    What cannot be imported is left to the workers, who say so.
    """
    import pytest
    from _pytest.config import _prepareconfig  # pyright: ignore[reportPrivateUsage]

    from tests.fakes import preloaded, program_server
    from tests.fakes.collection import Collection

    collection = Collection()
    own = [
        "-s",
        *(f"-pno:{name}" for name in ("xdist", "cacheprovider", "faulthandler", "logging")),
    ]
    before = list(sys.meta_path)
    with warnings.catch_warnings():
        config = _prepareconfig([*arguments, *own], [collection])
        config._do_configure()  # pyright: ignore[reportPrivateUsage] # as pytest's own session does
        session = pytest.Session.from_config(config)
        config.hook.pytest_sessionstart(session=session)
        with suppress(pytest.UsageError):
            config.hook.pytest_collection(session=session)
        gc.disable()  # it ran until the last test was collected
        if preloaded.is_installed():
            program_server.preload()  # while plugins of pytest, which are among it, are prepared for it
    sys.meta_path[:] = before  # filters and hooks of imports are each worker's own
    at_end = config._ensure_unconfigure  # pyright: ignore[reportPrivateUsage]
    return collection.share, at_end


def _is_ready() -> bool:
    """Whether a fork of this process is all of it: no thread and no child would be missing.

    If so, what watches over commands can be forked from now on, too.
    """
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return False
    if len(os.listdir("/proc/self/task")) > 1:
        return False
    from tests.fakes import preloaded, program_server, supervisor_server

    if preloaded.is_installed():
        program_server.supervisors.append(supervisor_server.started())
    return True


def _become(line: str, streams: list[int]) -> Callable[[], object]:
    """Be the Python that execnet wanted, with ``-u -c line``."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        kind = getattr(sys, name)
        mode, buffering = ("w", 1) if number else ("r", -1)
        anew = open(number, mode, buffering, kind.encoding, kind.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, anew)
        setattr(sys, f"__{name}__", anew)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()  # pyright: ignore # what was to be done at the end of another process
    sys.argv = ["-c"]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    return functools.partial(exec, line, main.__dict__)


def main() -> None:
    """Be ready to be forked, where terms are named, or stand for a worker."""
    if sys.argv[2] == "-u":
        relay(sys.argv[1], sys.argv[2:])
    terms = json.loads(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # so that workers can end as they do
    path, sys.path[:] = sys.path[:], terms["path"]
    from sam_tui.dataclass_methods import use_closures
    from tests.fakes import forked

    use_closures()
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        share, at_end = _import_tests(terms["arguments"])
        forked.compile_initializers()
        first = share if terms["shared"] else int
        program = ForkServer(listener, path, first).serve() if _is_ready() else None
    if program is None:
        at_end()
        return
    forked.run(program)


if __name__ == "__main__":
    main()
