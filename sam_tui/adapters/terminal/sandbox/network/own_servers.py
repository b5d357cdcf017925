"""Servers on this machine that belong to commands and sessions of this program."""

import os
from collections.abc import Callable, Iterable

from sam_tui.adapters.terminal.sandbox.kernel.listeners import listening
from sam_tui.adapters.terminal.sandbox.supervised.caller import stat_fields


class OwnServers:
    """Finds the processes that listen on a port. ``leaders`` gives the session leaders of our commands."""

    def __init__(self, leaders: Callable[[], Iterable[int]]) -> None:
        self._leaders = leaders

    def serves(self, port: int) -> bool:
        """Whether every process that listens on a port of this machine belongs to our commands."""
        servers = listening(port)
        sessions = set(self._leaders())
        if not servers or not sessions:
            return False
        ours = {
            inode
            for process in map(int, filter(str.isdecimal, os.listdir("/proc")))
            if _session(process) in sessions
            for inode in _sockets(process)
        }
        return servers <= ours


_SESSION = 3
"""The index of the session in ``/proc/<pid>/stat``, counted after the name."""


def _session(process: int) -> int:
    fields = stat_fields(process)
    return -1 if fields is None else int(fields[_SESSION])


def _sockets(process: int) -> Iterable[int]:
    """The inodes of the sockets that a process holds."""
    folder = f"/proc/{process}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            leads = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if leads.startswith("socket:["):
            yield int(leads[8:-1])
