"""Temporary permissions, which this program stores: never wider than the question that the person saw."""

import math
import os
from collections.abc import Collection
from dataclasses import dataclass, replace

from sam_tui.core.authorization.commands.parts import CommandReading
from sam_tui.core.authorization.network.hosts import HostEntry, connected
from sam_tui.core.authorization.rules.patterns import CommandPattern
from sam_tui.core.clock import Clock
from sam_tui.core.ids import ConversationId, mint
from sam_tui.core.ports.policy import GrantLedger, LiveGrant

FOREVER = math.inf
"""The end of a grant without a time limit: it ends with its conversation or with the runtime."""


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission for a conversation: an operation on a target until it expires.

    ``target`` is a real path (with a slash at its end a folder with all below it, else that path alone,
    whatever it becomes), the exact text of a command or of keys, an address (``https://host/`` covers
    the whole site), or with a ``pattern`` (of commands, or hosts) that in words. ``expires`` is
    monotonic seconds. ``uses`` are the uses left, None for any number.
    """

    id: str
    conversation: ConversationId
    operation: str
    target: str
    expires: float
    uses: int | None = None
    pattern: CommandPattern | HostEntry | None = None

    def covers(self, operation: str, target: str, reading: CommandReading | None = None) -> bool:
        """Whether the target is the granted one, lies below it, or matches the pattern."""
        if operation != self.operation:
            return False
        if isinstance(self.pattern, HostEntry):
            return reaches(self.pattern, target)
        if self.pattern is not None:
            return reading is not None and pattern_covers(self.pattern, reading)
        return lies_in(self.target, target)

    def names(self, target: str) -> bool:
        """Whether the grant names exactly this target, and not a folder, prefix or pattern that covers
        it."""
        return self.pattern is None and self.target.rstrip("/") == target.rstrip("/")


def lies_in(granted: str, target: str) -> bool:
    """Whether a target is the granted one or below it: in a folder, or on a site (``https://host/``)."""
    if target == granted:
        return True
    site = granted.endswith("/") and granted.count("/") == 3 and "://" in granted
    if not (site or (granted.startswith("/") and granted.endswith("/"))):
        return False
    return target.startswith(granted) or (not site and target == granted.rstrip("/"))


def wide_as_it_is(target: str) -> str:
    """Return the target of a grant by what exists now: a folder with all below it, or a single path."""
    if target.startswith("/") and os.path.isdir(target):
        return target.rstrip("/") + "/"
    return target


def reaches(entry: HostEntry, target: str) -> bool:
    """Whether a target is a connection to one of an entry's hosts, or an address there."""
    host, port = connected(target)
    return bool(host) and entry.covers(host, port)


def pattern_covers(pattern: CommandPattern, reading: CommandReading) -> bool:
    """Whether one pattern covers a command; see ``patterns_cover``."""
    return patterns_cover((pattern,), reading)


def patterns_cover(patterns: Collection[CommandPattern], reading: CommandReading) -> bool:
    """Whether patterns cover every simple command that does more than read.

    Never one that is destructive or privileged, stores its output in a file, or is not fully known.
    """
    if not reading.saveable:
        return False
    active = [part for part in reading.parts if not part.calm]
    return bool(active) and all(
        part.heaviest not in ("destructive", "privileged")
        and not any(path.writes and path.redirected for path in part.paths)
        and any(pattern.covers(part.words) for pattern in patterns)
        for part in active
    )


class Grants:
    """The grants of one runtime, in memory."""

    def __init__(self, clock: Clock, ledger: GrantLedger | None = None) -> None:
        self._clock = clock
        self._ledger = ledger
        self._grants: list[Grant] = []

    def add(
        self,
        conversation: ConversationId,
        operation: str,
        target: str,
        *,
        seconds: float,
        uses: int | None = None,
        pattern: CommandPattern | HostEntry | None = None,
    ) -> Grant:
        """Grant ``target`` for ``seconds``, ``uses`` times or without a count."""
        grant = Grant(
            mint("grant"),
            conversation,
            operation,
            target,
            self._clock.monotonic() + seconds,
            uses,
            pattern,
        )
        self._grants.append(grant)
        self._publish()
        return grant

    def find(
        self,
        conversation: ConversationId,
        operation: str,
        target: str,
        reading: CommandReading | None = None,
        *,
        exactly: bool = False,
    ) -> Grant | None:
        """A grant that covers the target now, or None; with ``exactly`` only a grant that names this very
        target."""
        self._expire()
        for grant in self._grants:
            named = not exactly or grant.names(target)
            if (
                named
                and grant.conversation == conversation
                and grant.covers(operation, target, reading)
            ):
                return grant
        return None

    def use(self, grant: Grant) -> None:
        """Count one use of a grant; after its last use the grant is gone."""
        if grant.uses is None or grant not in self._grants:
            return
        self._grants.remove(grant)
        if grant.uses > 1:
            self._grants.append(replace(grant, uses=grant.uses - 1))
        self._publish()

    def current(self, conversation: ConversationId | None = None) -> list[Grant]:
        """The grants that are in force now, of one conversation or of all."""
        self._expire()
        return [g for g in self._grants if conversation in (None, g.conversation)]

    def real_paths(self, conversation: ConversationId, operation: str) -> tuple[str, ...]:
        """The real paths of a conversation's grants, as they may be handed out now.

        Left out are: a path that was granted alone and is a folder now, because its content was not
        granted; a path with a link in it by now, because the link's target was never granted; and a
        grant for a single use, because nobody would count the use.
        """
        targets = [
            grant.target
            for grant in self.current(conversation)
            if grant.uses is None and grant.operation == operation
        ]
        return tuple(
            folder
            for target in targets
            if target.startswith("/") and (target.endswith("/") or not os.path.isdir(target))
            if os.path.realpath(folder := target.rstrip("/") or "/") == folder
        )

    def remaining(self, grant: Grant) -> float:
        """Seconds until a grant expires; infinite if it ends with its conversation."""
        return grant.expires - self._clock.monotonic()

    def revoke(self, grant_id: str) -> bool:
        """Take a grant back. False if there is none with this id."""
        remaining = [g for g in self._grants if g.id != grant_id]
        removed = len(remaining) != len(self._grants)
        self._grants = remaining
        if removed:
            self._publish()
        return removed

    def _publish(self) -> None:
        """Write the present grants to the ledger, for other programs."""
        if self._ledger is not None:
            self._ledger.publish([self._live(grant) for grant in self._grants])

    def _live(self, grant: Grant) -> LiveGrant:
        expires = None if math.isinf(grant.expires) else grant.expires
        return LiveGrant(
            grant.id, grant.conversation, grant.operation, grant.target, expires, grant.uses
        )

    def _expire(self) -> None:
        if not self._grants:
            return
        now = self._clock.monotonic()
        revoked = self._ledger.revoked() if self._ledger else frozenset[str]()
        remaining = [g for g in self._grants if g.expires > now and g.id not in revoked]
        if len(remaining) != len(self._grants):
            self._grants = remaining
            self._publish()
