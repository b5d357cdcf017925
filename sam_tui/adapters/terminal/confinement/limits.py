"""Resource limits of a command: in words, and as the kernel's limits for a process that is starting."""

import resource
import sys
from contextlib import suppress
from functools import cache

from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.adapters.terminal.sandbox.kernel.resource_usage import tasks_of_the_system
from sam_tui.core.ports.processes.sandbox import CommandLimits

_FIRST_TO_GO = 500
"""The oom_score_adj of commands (of 1000): without free memory they end before the program."""


def words(limits: CommandLimits) -> dict[str, str]:
    """Each limit in words, by its name in the policy file."""
    return {
        "memory": f"{_size(limits.memory)} of memory for one process",
        "processes": f"{limits.processes} processes at once",
        "file_size": f"{_size(limits.file_size)} for one file",
        "total_memory": f"{_size(limits.total_memory)} of memory for all processes together",
        "open_files": f"{limits.open_files} open files for one process",
    }


def restrain(pid: int, limits: CommandLimits, *, counted: bool) -> None:
    """Set the limits of a process that has started no other yet; its descendants inherit them.

    With ``counted`` the supervisor alone counts its processes. Never raises: where the system refuses, as
    macOS does, nothing holds.
    """
    if sys.platform != "linux":
        return
    most = {
        # Programs reserve far more address space than they use; this limits what they can write.
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    if not counted:
        most[resource.RLIMIT_NPROC] = tasks_of_the_system() + limits.processes
    with suppress(OSError, ValueError):
        for which, value in most.items():
            soft, hard = _own(which)
            bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, which, (bound if soft < 0 else min(soft, bound), bound))
    with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "r+b", buffering=0) as score:
        if int(score.read()) < _FIRST_TO_GO:
            score.seek(0)
            score.write(b"%d" % _FIRST_TO_GO)


def group_of(pid: int, limits: CommandLimits) -> ControlGroup | None:
    """A control group with a process that has started no other yet; None where none can be made."""
    group = ControlGroup.create(limits.processes) if sys.platform == "linux" else None
    return group if group is not None and group.admit(pid) else None


@cache
def _own(which: int) -> tuple[int, int]:
    return resource.getrlimit(which)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"
