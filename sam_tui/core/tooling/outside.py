"""What the sandbox asks on behalf of one call, for as long as what the call started runs."""

import asyncio
from collections.abc import Callable, Sequence

from sam_tui.core.authorization.guard import ONCE, Guard
from sam_tui.core.authorization.outside import CHANGE, OutsideRun, operation_of
from sam_tui.core.display import Diff
from sam_tui.core.ports.processes.sandbox import OutsideAccess, OutsideAnswer
from sam_tui.core.verdict import Decision

_LOOKED_AGAIN = 1.0
"""Seconds after which a rule, a grant or a mode is looked at again: each may have been changed."""
_REFUSED_AGAIN = 30.0
"""Seconds for which a terminal session takes the person's no for the same again."""


class OutsideQuestions:
    """Puts the outside accesses of one run to the guard, and every decision on record."""

    def __init__(self, guard: Guard, run: OutsideRun, record: Callable[[Decision], None]) -> None:
        self._guard = guard
        self._run = run
        self._record = record
        self._recorded: set[tuple[str, ...]] = set()

    async def ask(self, access: OutsideAccess) -> OutsideAnswer:
        """Whether one access may happen, and for how long the answer holds."""
        try:
            decision = await self._guard.decide_outside(self._run, access)
        except asyncio.CancelledError:
            self._cancelled(operation_of(access), (access.path,))
            raise
        self._told(access, decision)
        return OutsideAnswer(decision.allowed, self._holds(decision))

    async def again(self, refused: Sequence[OutsideAccess]) -> tuple[str, ...]:
        """What the command may write to when it is run once more; nothing when it shall not be."""
        try:
            decision, paths = await self._guard.decide_again(self._run, refused)
        except asyncio.CancelledError:
            self._cancelled(CHANGE, tuple(access.path for access in refused))
            raise
        self._record(decision)
        return paths

    async def confirm_rehearsal(self, words: str, changes: Sequence[Diff]) -> bool:
        """Whether the changes of a rehearsal are made."""
        try:
            decision = await self._guard.decide_kept(self._run, words, changes)
        except asyncio.CancelledError:
            self._cancelled(self._run.key, tuple(change.path for change in changes))
            raise
        self._record(decision)
        return decision.allowed

    def _holds(self, decision: Decision) -> float:
        """Seconds for which the run need not ask the same again."""
        if decision.by != "user" or decision.rule.startswith("grant:"):
            return _LOOKED_AGAIN
        if not decision.allowed:
            return _REFUSED_AGAIN if self._run.lasting else float("inf")
        return float("inf") if decision.scope == ONCE else _LOOKED_AGAIN

    def _told(self, access: OutsideAccess, decision: Decision) -> None:
        """Record what a person said always, and what rules said about the same thing once."""
        key = (access.kind, access.path, access.to, decision.outcome, decision.rule)
        if decision.by != "user" or decision.rule.startswith("grant:"):
            if key in self._recorded:
                return
            self._recorded.add(key)
        self._record(decision)

    def _cancelled(self, operation: str, targets: tuple[str, ...]) -> None:
        reason = "the command ended before it was answered"
        self._record(Decision(operation, "cancelled", "user", "cancelled", reason, targets=targets))
