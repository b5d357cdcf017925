"""The id, memory, process group and command line of this process, and whether another one runs."""

import os
import signal
import sys
from contextlib import suppress


def process_id() -> int:
    """The id of this process."""
    return os.getpid()


def is_running(process: int) -> bool:
    """Whether a process with this id exists, whoever owns it."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def peak_memory() -> int | None:
    """The peak memory of this process in bytes; None where it is not measured."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def stop_group() -> None:
    """Stop this process and its group but for its own children, as Ctrl+Z in a shell does.

    A launcher such as ``uv run`` is the shell's job, and so are the others of a pipeline. A child that is
    being started would stop before it runs its program: on Linux the thread that starts it waits for that
    by vfork(2), cannot be stopped meanwhile, and the shell never hears of a stop.
    """
    if sys.platform != "linux":
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        return
    for process in _group_without_children():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGTSTP)
    os.kill(os.getpid(), signal.SIGTSTP)


def _group_without_children() -> list[int]:
    """The processes of this process group that do not descend from this process."""
    parents: dict[int, int] = {}
    groups: dict[int, int] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stat:
            _, parent, group = stat.read().rpartition(b") ")[2].split()[:3]
            parents[int(name)], groups[int(name)] = int(parent), int(group)
    ours, own = os.getpgrp(), os.getpid()

    def descends(process: int) -> bool:
        while process in parents and process != own:
            process = parents[process]
        return process == own

    return [p for p, group in groups.items() if group == ours and not descends(p)]


def hide_argument(secret: str) -> None:
    """Overwrite a secret in the command line that the system shows of this process to everybody.

    On Linux alone; elsewhere it stays. See proc(5): ``arg_start`` and ``arg_end`` are fields 48 and 49.
    """
    if sys.platform != "linux" or not secret:
        return
    with suppress(OSError, ValueError, IndexError), open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b") ")[2].split()
        start, end = int(fields[45]), int(fields[46])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            words = memory.read(end - start)
            sought = os.fsencode(secret)
            for before in (b"\0", b"="):  # a separate word, or after the name of its option
                words = words.replace(before + sought + b"\0", before + b"*" * len(sought) + b"\0")
            memory.seek(start)
            memory.write(words)
