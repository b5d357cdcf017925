"""Facts about the process that this program runs in."""

import os
import sys


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
