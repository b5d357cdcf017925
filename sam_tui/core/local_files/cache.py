"""A value computed from a file, stored until the file changes."""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")
Signature = tuple[int, int, int]


def signature_of(path: str) -> Signature | None:
    """Return values that change with a file (or a link itself); None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


class Unchanged(Generic[Made]):
    """One made thing for each path."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Signature, Made]] = {}

    def get(self, path: str, make: Callable[[], Made]) -> Made:
        """Return the value made for this version of the file, or make it. None is made anew."""
        signature = signature_of(path)
        cached = self._kept.get(path)
        if cached is not None and cached[0] == signature:
            return cached[1]
        value = make()
        if signature is not None and value is not None:
            self._kept[path] = (signature, value)
        return value
