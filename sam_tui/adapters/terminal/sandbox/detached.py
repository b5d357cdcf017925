"""Starting the supervisor: as a small process that nobody has to reap, or as a thread."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

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


def start_beside(serve: Callable[[], object]) -> None:
    """Run ``serve`` on a thread, which answers while this program starts other programs.

    A confined process waits for an answer before it executes its program. Older Pythons let no other
    thread run until then, unless programs are started without vfork.
    """
    if sys.version_info < _LETS_THREADS_RUN:
        setattr(subprocess, "_USE_VFORK", False)  # noqa: B010 # by this name in its documentation
    threading.Thread(target=serve, name="supervisor", daemon=True).start()


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
