"""What conversations were refused and a person could allow, kept so that they can be asked again."""

from collections import defaultdict
from dataclasses import dataclass

from sam_tui.core.accesses import LocatedAccess
from sam_tui.core.authorization.request import Request
from sam_tui.core.ids import ConversationId
from sam_tui.core.verdict import Decision

MOST = 8
"""Refusals that are kept for a conversation and an operation, the newest: a person reads them all."""


@dataclass(frozen=True, slots=True)
class RememberedRefusal:
    """What a call was refused. ``targets`` are what its accesses came to then."""

    operation: str
    summary: str
    accesses: tuple[LocatedAccess, ...]
    targets: tuple[str, ...]


class Refusals:
    """By conversation and by the operation that was called. In memory, as grants are."""

    def __init__(self) -> None:
        self._kept: defaultdict[tuple[ConversationId, str], list[RememberedRefusal]] = defaultdict(
            list
        )

    def add(self, request: Request, decision: Decision) -> None:
        """Keep what was refused, unless a rule did that: no permission overrides one."""
        if decision.allowed or decision.by in ("rule", "hook") or not decision.targets:
            return
        refusal = RememberedRefusal(
            request.operation, request.summary, request.accesses, decision.targets
        )
        refused = self._kept[request.conversation, request.called or request.operation]
        refused[:] = [earlier for earlier in refused if earlier.targets != refusal.targets][
            1 - MOST :
        ]
        refused.append(refusal)

    def take(self, conversation: ConversationId, called: str) -> tuple[RememberedRefusal, ...]:
        """All of an operation, oldest first; they are kept no longer."""
        return tuple(self._kept.pop((conversation, called), ()))
