"""The Landlock rulesets of a program, each kept for as long as what it was made from stays the same."""

import os
import time
from dataclasses import dataclass, replace
from typing import Any

from sam_tui.adapters.terminal.sandbox import landlock
from sam_tui.adapters.terminal.sandbox.devices import raw_devices
from sam_tui.adapters.terminal.sandbox.keeping import kept_within, ways
from sam_tui.adapters.terminal.sandbox.landlock import Bounds
from sam_tui.core.errors import ToolError

_KEPT = 16
_SEEN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Ruleset:
    """One ruleset of the kernel. Two are the same only when they are one object."""

    descriptor: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What one run is held to: its bounds, and the ruleset that was made of them."""

    bounds: Bounds
    ruleset: Ruleset


class Rulesets:
    """Makes them for a Landlock version, and closes the oldest of many."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._kept: dict[tuple[Any, ...], Ruleset] = {}
        self._seen: tuple[float, Bounds, tuple[str, ...]] | None = None
        self._within: tuple[float, tuple[str, ...], tuple[str, ...]] | None = None

    def of(self, bounds: Bounds) -> Ruleset:
        """The ruleset of some bounds as the files are now. Raises ``ToolError``."""
        paths = [landlock.identity(path) for path in bounds.writable]
        masked = self._masked(bounds)
        listed = [landlock.identity(path, listing=True) for path in landlock.splits(masked)]
        opened = [landlock.identity(path) for path in bounds.opened]
        listed += [
            landlock.identity(split, listing=True)
            for folder in (bounds.writable if bounds.unwritable else ())
            for split in ways(folder, bounds.unwritable)
        ]
        key = (
            *paths,
            *listed,
            *masked,
            *opened,
            bounds.unwritable,
            bounds.watched,
            bounds.devices,
            bounds.tcp,
            *map(landlock.identity, bounds.readable or ()),
        )
        cached = self._kept.get(key)
        if cached is not None:
            return cached
        present = tuple(path for path, _, inode, _ in paths if inode)
        try:
            ruleset = Ruleset(landlock.build(self._version, replace(bounds, writable=present)))
        except OSError as error:
            raise ToolError(f"The sandbox could not be set up: {error.strerror}.") from error
        while len(self._kept) >= _KEPT:
            os.close(self._kept.pop(next(iter(self._kept))).descriptor)
        self._kept[key] = ruleset
        return ruleset

    def keeps(self, ruleset: Ruleset) -> bool:
        """Whether it was not closed yet."""
        return any(ruleset is ruleset_kept for ruleset_kept in self._kept.values())

    def secrets_within(
        self, secrets: tuple[str, ...], writable: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Which secrets lie in what may be changed, looked at once a second."""
        now = time.monotonic()
        if self._within is None or self._within[0] < now or self._within[1] != writable:
            self._within = (
                now + _SEEN_SECONDS,
                writable,
                kept_within((*secrets, *raw_devices()), writable),
            )
        return self._within[2]

    def close(self) -> None:
        """Release them all."""
        while self._kept:
            os.close(self._kept.popitem()[1].descriptor)

    def _masked(self, bounds: Bounds) -> tuple[str, ...]:
        """Which secrets are there, looked at once a second: there are a hundred places to look at.

        A new one beside others is seen at once all the same, because the listing of its folder changed.
        """
        now = time.monotonic()
        if self._seen is None or self._seen[0] < now or self._seen[1] != bounds:
            self._seen = (now + _SEEN_SECONDS, bounds, landlock.maskable(bounds))
        return self._seen[2]
