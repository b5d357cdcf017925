"""Temporary permissions, kept by the host: never wider than what the person was shown."""

from dataclasses import dataclass, replace

from sam_tui.core.clock import Clock
from sam_tui.core.ids import ConversationId, mint


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission: this conversation may do this operation on this target until it expires.

    ``target`` is a real path (it covers what lies below, too) or the exact text of a command.
    ``expires`` is monotonic seconds. ``uses`` is what is left, None for any number.
    """

    id: str
    conversation: ConversationId
    operation: str
    target: str
    expires: float
    uses: int | None = None

    def covers(self, operation: str, target: str) -> bool:
        """Whether the target is the granted one or lies below it."""
        if operation != self.operation:
            return False
        below = self.target if self.target.endswith("/") else self.target + "/"
        return target == self.target or (self.target.startswith("/") and target.startswith(below))


class Grants:
    """The grants of one runtime. They live in memory and end with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._grants: list[Grant] = []

    def add(
        self,
        conversation: ConversationId,
        operation: str,
        target: str,
        *,
        seconds: float,
        uses: int | None = None,
    ) -> Grant:
        """Grant ``target`` for ``seconds``, once or ``uses`` times or without a count."""
        grant = Grant(
            mint("grant"),
            conversation,
            operation,
            target,
            self._clock.monotonic() + seconds,
            uses,
        )
        self._grants.append(grant)
        return grant

    def find(self, conversation: ConversationId, operation: str, target: str) -> Grant | None:
        """A grant that covers the target now, or None."""
        self._expire()
        for grant in self._grants:
            if grant.conversation == conversation and grant.covers(operation, target):
                return grant
        return None

    def use(self, grant: Grant) -> None:
        """Count one use; the last one ends it."""
        if grant.uses is None:
            return
        self._grants.remove(grant)
        if grant.uses > 1:
            self._grants.append(replace(grant, uses=grant.uses - 1))

    def current(self, conversation: ConversationId) -> list[Grant]:
        """What is granted now."""
        self._expire()
        return [g for g in self._grants if g.conversation == conversation]

    def revoke(self, grant_id: str) -> bool:
        """Take one back; False when it is not there."""
        kept = [g for g in self._grants if g.id != grant_id]
        gone = len(kept) != len(self._grants)
        self._grants = kept
        return gone

    def _expire(self) -> None:
        now = self._clock.monotonic()
        self._grants = [g for g in self._grants if g.expires > now]
