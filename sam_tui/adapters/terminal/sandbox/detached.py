"""Starting a part of this program as a small process of its own that nobody has to reap."""

import os
import socket
import subprocess
import sys

_START = "import sys; sys.path.append(sys.argv[1]); from {module} import main; main()"
_DETACHED = '"$@" &'
"""Run by sh: what it starts becomes nobody's child, and may outlive this program."""
_DEPTH = __name__.count(".") + 1


def start_detached(module: str, control: socket.socket) -> None:
    """Run ``main`` of a module of ours, with a socket whose number is its last argument.

    It sees the standard library and this program, and nothing of the environment. Raises OSError and
    ``subprocess.SubprocessError`` when that fails.
    """
    root = os.path.abspath(__file__)
    for _ in range(_DEPTH):
        root = os.path.dirname(root)
    start = _START.format(module=module)
    argv = ["/bin/sh", "-c", _DETACHED, "sh", sys.executable, "-I", "-S", "-c", start, root]
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
