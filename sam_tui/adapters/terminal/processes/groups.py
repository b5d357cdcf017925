"""The processes of a session: who they are, and a signal to all of them."""

import os
import signal


def members(leader: int) -> dict[int, int]:
    """The living processes of the session that ``leader`` leads: pid to process group.

    Where the system has no /proc only the leader itself is known.
    """
    if not os.path.exists("/proc/self/stat"):
        return {leader: leader}
    groups: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                line = stat.read()
        except OSError:
            continue
        # The command name stands in brackets and may hold anything, so look behind the last one.
        state, _, group, session = line[line.rfind(b")") + 2 :].split(None, 4)[:4]
        if int(session) == leader and state not in b"ZX":
            groups[int(name)] = int(group)
    return groups


def strike(leader: int, sent: signal.Signals, foreground: int = 0) -> dict[int, int]:
    """Signal every process group of a session; returns who was there.

    Call it only while the leader is not reaped: until then its number cannot name another.
    """
    alive = members(leader)
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
