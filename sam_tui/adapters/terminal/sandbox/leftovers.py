"""The small process that ends what commands still run once the program is gone, however it went.

It watches the runs that no supervisor outside of the program does. Run with the standard library alone.
"""

import json
import os
import signal
import socket
import sys
from typing import Any, cast

from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.supervised.processes import GRACE, Census


def watch(control: socket.socket) -> Census | None:
    """Hear which sessions begin and end, until the program is gone; gives what it left.

    The first message holds the mark of all its commands. None when there was none.
    """
    census: Census | None = None
    while True:
        try:
            data = control.recv(MESSAGE)
        except ConnectionResetError:
            continue
        except OSError:
            return census
        if not data:
            return census
        message = cast("dict[str, Any]", json.loads(data))
        if census is None:
            census = Census(mark=message["mark"])
        elif message["since"]:
            census.add(message["session"], message["since"])
        else:
            census.drop(message["session"])


def main() -> None:
    """Be this process; the control socket is the descriptor named last."""
    os.chdir("/")
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    census = watch(socket.socket(fileno=int(sys.argv[-1])))
    if census is not None:
        census.end(grace=GRACE)
