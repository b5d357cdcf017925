"""Judging calls that name another process: a run signals and schedules its own, and no others.

From ABI 6 on Landlock keeps signals inside by itself.
"""

import errno
import os
import re
from collections.abc import Callable

from sam_tui.adapters.terminal.sandbox.judgement.paths import signed
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import (
    CHANGING_RIGHTS,
    ONE_PROCESS,
    SCHEDULING,
    SIGNALLING,
)
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target, stat_fields
from sam_tui.adapters.terminal.sandbox.supervised.processes import is_held
from sam_tui.adapters.terminal.sandbox.supervised.run import Watch

_MOST_ANCESTORS = 64
_PARENT, _GROUP, _SESSION = 1, 2, 3
"""Indexes in ``stat_fields``."""
_PIDFD = re.compile(r"^Pid:\t(\d+)$", re.MULTILINE)


def _schedule(watch: Watch, call: Notification) -> None:
    """Priority, policy, processors: of one process of the run."""
    name = watch.names[call.number]
    which = ONE_PROCESS.get(name)
    at = 0 if which is None else 1
    alone = which is None or signed(call.arguments[0]) == which
    _decide(watch, call, alone and belongs(call.thread, signed(call.arguments[at])))


def _signal(watch: Watch, call: Notification) -> None:
    """Signals to a process, a thread or a group of the run."""
    name = watch.names[call.number]
    if name == "pidfd_send_signal":
        number = _behind(call.thread, signed(call.arguments[0]))
    else:
        number = signed(call.arguments[0])
    if name == "kill" and number < 0:
        _decide(watch, call, number != -1 and _is_group_of(call.thread, -number))
    else:
        _decide(watch, call, belongs(call.thread, number))


def _own(watch: Watch, call: Notification) -> None:
    """Decide who gets the signals of a descriptor (F_SETOWN): a process or a group of the run."""
    number = signed(call.arguments[2])
    group = number < 0
    mine = _is_group_of(call.thread, -number) if group else belongs(call.thread, number)
    _decide(watch, call, mine)


def _decide(watch: Watch, call: Notification, mine: bool) -> None:
    if mine:
        watch.proceed(call)
    else:
        watch.refuse(call, errno.EPERM)


def belongs(caller: int, process: int) -> bool:
    """Whether a process is of the caller's session, or descends from it, with the same confinement."""
    if process <= 0:
        return process == 0  # the caller, or its own group
    theirs = stat_fields(process)
    if theirs is None:
        return True  # the kernel says that there is none
    if not is_held(process):
        return False
    mine = stat_fields(caller)
    return mine is not None and (theirs[_SESSION] == mine[_SESSION] or _descends(process, caller))


def _session(watch: Watch, call: Notification) -> None:
    """Add the session that a process is about to create to the run."""
    process = Target(call.thread, watch.memory).process
    since = watch.tracker.add(process)
    # Reported before the call, so that later searches look in the new session, too.
    watch.report({"tell": "session", "session": process, "since": since})
    watch.proceed(call)


def _change_rights(watch: Watch, call: Notification) -> None:
    """Note that a process of the run may act as another user; its rights are read for each call from now
    on."""
    watch.rights_changed = True
    watch.proceed(call)


def _descends(process: int, caller: int) -> bool:
    """Whether the caller is in the process ancestry of ``process``, at most ``_MOST_ANCESTORS`` up."""
    threads = f"/proc/{caller}/task/"
    for _ in range(_MOST_ANCESTORS):
        fields = stat_fields(process)
        process = 0 if fields is None else int(fields[_PARENT])
        if process <= 1:
            return False
        if os.path.exists(f"{threads}{process}"):
            return True
    return False


def _is_group_of(caller: int, group: int) -> bool:
    """Whether a process group is of the caller's session; all of a group share one."""
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            fields = stat_fields(int(entry))
            if fields is not None and int(fields[_GROUP]) == group:
                return belongs(caller, int(entry))
    return True  # the kernel says that there is none


def _behind(caller: int, descriptor: int) -> int:
    """The process of a pidfd of the caller; -1 for any other descriptor."""
    try:
        with open(f"/proc/{caller}/fdinfo/{descriptor}", encoding="ascii") as info:
            match = _PIDFD.search(info.read(4096))
    except OSError:
        return -1
    return int(match.group(1)) if match else -1


def process_handlers() -> dict[str, Callable[[Watch, Notification], None]]:
    """The handlers of system calls on processes, by name."""
    signals = dict.fromkeys(SIGNALLING, _signal)
    return {
        **dict.fromkeys(SCHEDULING, _schedule),
        **signals,
        **dict.fromkeys((*CHANGING_RIGHTS, "prctl"), _change_rights),
        "setsid": _session,
        "fcntl": _own,
    }
