"""Starting the supervisor: as a small process that nobody has to reap, or as a thread."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from sam_tui.folders import IMPORT_ROOT

_START = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from sam_tui.dataclass_methods import use_closures; use_closures();"
    " from {module} import main; main()"
)
_DETACHED = '"$@" &'
"""A script of sh: the program that it starts is no child of ours, and may outlive this program."""
_LETS_THREADS_RUN = (3, 11, 4)
"""The first Python version in which other threads run until a program started by vfork is executed."""
_lock = threading.Lock()
_is_beside = False
_starts = 0
"""The number of confined programs that are being started, where a thread of this program answers them."""


def start_beside(serve: Callable[[], object]) -> None:
    """Run ``serve`` on a thread, which answers the confined programs that this program starts."""
    global _is_beside
    _is_beside = True
    threading.Thread(target=serve, name="supervisor", daemon=True).start()


@contextmanager
def answered_starts() -> Generator[None]:
    """Start confined programs in here: one waits for an answer before it is executed.

    Older Pythons let no thread of this program run until then, unless programs are started without
    vfork, whose price then grows with the memory of this program.
    """
    global _starts
    if not _is_beside or sys.version_info >= _LETS_THREADS_RUN:
        yield
        return
    with _lock:
        _starts += 1
        setattr(subprocess, "_USE_VFORK", False)  # noqa: B010 # by this name in its documentation
    try:
        yield
    finally:
        with _lock:
            _starts -= 1
            setattr(subprocess, "_USE_VFORK", not _starts)  # noqa: B010


def start_detached(module: str, control: socket.socket) -> None:
    """Run ``main`` of a module of ours as a process, with a socket whose number is its last argument.

    It gets only the standard library and this program, and no environment. Raises OSError and
    ``subprocess.SubprocessError`` when that fails.
    """
    start = _START.format(module=module)
    argv = ["/bin/sh", "-c", _DETACHED, "sh", sys.executable, "-I", "-S", "-c", start, IMPORT_ROOT]
    subprocess.run(
        [*argv, str(control.fileno())],
        pass_fds=(control.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath},
        start_new_session=True,
        check=True,
    )
