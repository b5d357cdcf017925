"""Facts about the process that this program runs in."""

import os
import sys
from contextlib import suppress


def process_id() -> int:
    """The number that the system knows this process by."""
    return os.getpid()


def peak_memory() -> int | None:
    """The most bytes of memory that this process has had; None where that is not measured."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


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
            for before in (b"\0", b"="):  # a word of its own, or behind the name of its option
                words = words.replace(before + sought + b"\0", before + b"*" * len(sought) + b"\0")
            memory.seek(start)
            memory.write(words)
