"""How much a piece of code does, in calls: the same on every machine and however busy it is."""

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def counted_calls(*, builtins: bool = False) -> Generator[Counter[str]]:
    """Calls of Python functions on this thread, by the file of the function.

    With ``builtins`` those of functions written in C count too, by the file that calls them.
    """
    counts: Counter[str] = Counter()
    kinds = ("call", "c_call") if builtins else ("call",)

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event in kinds:
            counts[frame.f_code.co_filename] += 1

    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(None)
