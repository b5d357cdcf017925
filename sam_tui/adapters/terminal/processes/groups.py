"""The processes of a session, and a signal to all of them."""

import os
import signal

from sam_tui.adapters.terminal.sandbox.supervised.processes import ProcessTable


def members(leader: int, table: ProcessTable | None = None) -> dict[int, int]:
    """The living processes of the session that ``leader`` leads: pid to process group.

    Where the system has no /proc only the leader itself is known.
    """
    if not os.path.exists("/proc/self/stat"):
        return {leader: leader}
    return (table or ProcessTable()).members(leader)


def strike(
    leader: int, sent: signal.Signals, foreground: int = 0, table: ProcessTable | None = None
) -> dict[int, int]:
    """Signal every process group of a session; return its processes.

    Call it only while the leader is not reaped: until then its number cannot name another.
    """
    alive = members(leader, table)
    groups = set(alive.values()) | {leader}
    if foreground > 1:
        groups.add(foreground)
    for group in groups:
        try:
            os.killpg(group, sent)
            if sent is not signal.SIGKILL:
                os.killpg(group, signal.SIGCONT)
        except (ProcessLookupError, PermissionError):
            continue
    return alive
