"""The standard streams of this process, any of which the caller may have closed."""

import os
import sys

from sam_tui.core.errors import UsageError


def secure_streams() -> None:
    """Put /dev/null where a standard descriptor is closed.

    Otherwise the next file opened takes its number, and a stray write to "standard error" lands in
    the database. A closed standard error becomes silence; closed input and output stay None.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def require_output() -> None:
    """Raise ``UsageError`` when there is no standard output to write a result to."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise UsageError(
            "Standard output is closed, so nobody could read the result.",
            hint="Send it somewhere: >result.txt, or >/dev/null.",
        )


def input_descriptor() -> int | None:
    """Standard input's descriptor, or None when it is closed."""
    return None if sys.stdin is None else 0  # pyright: ignore[reportUnnecessaryComparison]
