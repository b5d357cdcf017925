"""Parts that are imported and made when they are first asked for, and released together."""

import contextlib
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Owner = TypeVar("Owner", bound="Lazy")
Part = TypeVar("Part")


class Lazy:
    """Makes each of its parts once; what was never asked for costs nothing at the end either."""

    def __init__(self) -> None:
        self.loaded: dict[str, Any] = {}
        """The parts that are there, by name: looking at it makes none."""
        self._closing = contextlib.ExitStack()

    def at_close(self, release: Callable[[], None]) -> None:
        """Have something released with the rest."""
        self._closing.callback(release)

    def close(self) -> None:
        """Release what was made, the newest first."""
        self._closing.close()

    def closed(self, part: Part, release: Callable[[], None]) -> Part:
        """A part that is released with the rest."""
        self.at_close(release)
        return part


def once(make: Callable[[Owner], Part]) -> Callable[[Owner], Part]:
    """Below ``property``: the part is made by the first that asks for it."""
    name = make.__name__

    @wraps(make)
    def part(owner: Owner) -> Part:
        if name not in owner.loaded:
            owner.loaded[name] = make(owner)
        return owner.loaded[name]

    return part
