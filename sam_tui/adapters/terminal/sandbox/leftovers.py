"""The small process that ends what commands still run once the program is gone, however it went.

It watches the runs that no supervisor outside of the program does, and ends one that uses up more than
it may. Run with the standard library alone.
"""

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import COUNT_SECONDS, system_amounts
from sam_tui.adapters.terminal.sandbox.supervised.processes import (
    GRACE,
    Census,
    ProcessTable,
)

_LOOKS = 50
"""After so many counts it is looked which runs are over."""


def watch(control: socket.socket) -> Census | None:
    """Hear which sessions begin and end, until the program is gone; gives what it left.

    The first message holds the mark of all its commands. None when there was none.
    """
    census: Census | None = None
    counted: dict[int, Census] = {}
    looks = 0
    while True:
        readable = bool(select.select([control], [], [], COUNT_SECONDS if counted else None)[0])
        _count(counted, control)
        if not readable:
            looks += 1
            if census is not None and looks % _LOOKS == 0:
                drop_ended(census, counted)
            continue
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
        else:
            _record(message, census, counted)


def _record(message: Mapping[str, Any], census: Census, counted: dict[int, Census]) -> None:
    """Add a session that began, or drop one that ended."""
    if message["since"]:
        census.add(message["session"], message["since"])
        if message["limits"]:
            counted[message["session"]] = _counted(message)
    else:
        census.drop(message["session"])
        counted.pop(message["session"], None)


def _counted(message: Mapping[str, Any]) -> Census:
    """A run that may have only so much: found by the session that it began, and by its mark."""
    census = Census(message["limits"], mark=message["run"])
    census.add(message["session"], message["since"])
    return census


def _count(counted: Mapping[int, Census], control: socket.socket) -> None:
    """End every run whose processes have more together than they may."""
    system = system_amounts() if counted else {}
    for session, census in counted.items():
        if limit := census.exceeded(system):
            message = json.dumps({"session": session, "limit": limit}).encode()
            with suppress(OSError):
                control.send(message, socket.MSG_DONTWAIT)
            census.end_at_once()


def drop_ended(whole: Census, counted: dict[int, Census]) -> None:
    """Forget the runs of which nothing is left: the numbers of their sessions can be given anew."""
    table = ProcessTable(hasty=True)
    for session in [number for number, census in counted.items() if not census.living(table)]:
        del counted[session]
        whole.drop(session)


def main() -> None:
    """Be this process; the control socket is the descriptor named last."""
    os.chdir("/")
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    census = watch(socket.socket(fileno=int(sys.argv[-1])))
    if census is not None:
        census.end(grace=GRACE)
