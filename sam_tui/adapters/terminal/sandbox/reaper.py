"""The small process that ends remaining processes of commands once the program is gone, for any reason.

It watches the runs that no supervisor outside of the program watches, and ends one that exceeds its
limits. It forks the parents of such commands. Uses only the standard library.
"""

import json
import os
import select
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from sam_tui import signals
from sam_tui.adapters.terminal.sandbox.command_parent import IGNORED, MOST_DESCRIPTORS, Parents
from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.protocol import MESSAGE, READY
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import (
    COUNT_SECONDS,
    system_amounts,
    tasks_of_the_system,
)
from sam_tui.adapters.terminal.sandbox.supervised.processes import (
    GRACE,
    ProcessTable,
    ProcessTracker,
)

_LOOKS = 50
"""How many counts there are between two checks which runs have ended."""


def watch(control: socket.socket, parents: Parents) -> ProcessTracker | None:
    """Note which sessions begin and end, until the program is gone; returns the remaining processes.

    The first message has the mark of all its commands. None if there was no message.
    """
    tracker: ProcessTracker | None = None
    usual, counted = tasks_of_the_system(), dict[int, ProcessTracker]()
    looks = 0
    while True:
        ready = select.select([control, parents], [], [], COUNT_SECONDS if counted else None)[0]
        _count(counted, control)
        if parents in ready:
            parents.attend()
        if not ready:
            looks += 1
            if tracker is not None and looks % _LOOKS == 0:
                drop_ended(tracker, counted)
        if control not in ready:
            continue
        try:
            data, descriptors, _, _ = socket.recv_fds(
                control, MESSAGE, MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:
            continue
        except OSError:
            return tracker
        if not data:
            return tracker
        message = cast("dict[str, Any]", json.loads(data))
        if tracker is None:
            tracker = ProcessTracker(mark=message["mark"])
        elif descriptors:
            parents.fork(control, socket.socket(fileno=descriptors[0]))
        else:
            _record(message, tracker, counted, usual)


def _record(
    message: Mapping[str, Any],
    tracker: ProcessTracker,
    counted: dict[int, ProcessTracker],
    usual: int,
) -> None:
    """Add a session that began, or drop one that ended."""
    if message["since"]:
        group = ControlGroup(message["group"]) if message.get("group") else None
        parent = _parent(message)
        tracker.add(message["session"], message["since"], group, parent)
        if message.get("limits"):
            counted[message["session"]] = _counted(message, usual, group)
    else:
        tracker.drop(message["session"])
        counted.pop(message["session"], None)


def _counted(message: Mapping[str, Any], usual: int, group: ControlGroup | None) -> ProcessTracker:
    """A run with limits, known by its control group, its parent, or its session and mark."""
    tracker = ProcessTracker(message["limits"], mark=message["run"], usual=usual)
    tracker.add(message["session"], message["since"], group, _parent(message))
    return tracker


def _parent(message: Mapping[str, Any]) -> tuple[int, int] | None:
    """The number of the run's parent, and when that started."""
    return tuple(message["parent"]) if message.get("parent") else None


def _count(counted: Mapping[int, ProcessTracker], control: socket.socket) -> None:
    """End every run whose processes together exceed a limit."""
    system = system_amounts() if counted else {}
    for session, tracker in counted.items():
        if limit := tracker.exceeded(system):
            message = json.dumps({"session": session, "limit": limit}).encode()
            with suppress(OSError):
                control.send(message, socket.MSG_DONTWAIT)
            tracker.end_at_once()


def drop_ended(whole: ProcessTracker, counted: dict[int, ProcessTracker]) -> None:
    """Forget runs without a process: the numbers of their sessions can be used again."""
    table = ProcessTable(hasty=True)
    for session in [number for number, tracker in counted.items() if not tracker.living(table)]:
        del counted[session]
        whole.drop(session)


def main() -> None:
    """Run this process; the last argument is the number of the control socket."""
    os.chdir("/")
    signals.keep_own()
    signals.ignore(*IGNORED)
    control = socket.socket(fileno=int(sys.argv[-1]))
    parents = Parents()
    with suppress(OSError):
        control.send(READY)
    tracker = watch(control, parents)
    if tracker is not None:
        tracker.end(grace=GRACE)
    parents.finish()
    if tracker is not None:
        tracker.remove_groups()
