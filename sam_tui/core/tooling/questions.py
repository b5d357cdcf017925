"""Questions of tools, the sandbox and programs; every decision is recorded."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sam_tui.core.authorization.guard import ONCE, Guard
from sam_tui.core.authorization.outside_access import OutsideRun, operation_of
from sam_tui.core.authorization.permission import Plea, Response, ask_permission
from sam_tui.core.authorization.policy.judgement import CHANGE
from sam_tui.core.authorization.request import Request
from sam_tui.core.display import Diff
from sam_tui.core.ids import NO_CONVERSATION, CallId, ConversationId
from sam_tui.core.inquiry import Approval, ApprovalRequest
from sam_tui.core.ports.processes.sandbox import OutsideAccess, OutsideAnswer
from sam_tui.core.verdict import Decision

if TYPE_CHECKING:
    from sam_tui.core.inquiries import Inquiries


_RECHECK_SECONDS = 1.0
"""Seconds after which rules, grants and the mode are applied again, as they may have changed."""
_REFUSAL_SECONDS = 30.0
"""Seconds for which a terminal session does not repeat a question that the person refused."""


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
        self._record_once(access, decision)
        return OutsideAnswer(decision.allowed, self._holds(decision))

    async def again(self, refused: Sequence[OutsideAccess]) -> tuple[str, ...]:
        """Return the paths that the command may write to when it runs again; none if it must not."""
        try:
            decision, paths = await self._guard.decide_again(self._run, refused)
        except asyncio.CancelledError:
            self._cancelled(CHANGE, tuple(access.path for access in refused))
            raise
        self._record(decision)
        return paths

    async def confirm_rehearsal(self, words: str, changes: Sequence[Diff]) -> bool:
        """Ask whether the changes of a rehearsal are made."""
        try:
            decision = await self._guard.decide_kept(self._run, words, changes)
        except asyncio.CancelledError:
            self._cancelled(self._run.key, tuple(change.path for change in changes))
            raise
        self._record(decision)
        return decision.allowed

    def _holds(self, decision: Decision) -> float:
        """Seconds for which the run need not ask the same again."""
        if decision.by != "user":
            return _RECHECK_SECONDS
        if not decision.allowed:
            return _REFUSAL_SECONDS if self._run.lasting else float("inf")
        return float("inf") if decision.scope == ONCE else _RECHECK_SECONDS

    def _record_once(self, access: OutsideAccess, decision: Decision) -> None:
        """Record each decision of the person, and an equal decision by rules only once."""
        key = (access.kind, access.path, access.to, decision.outcome, decision.rule)
        if decision.by != "user" or decision.rule.startswith("grant:"):
            if key in self._recorded:
                return
            self._recorded.add(key)
        self._record(decision)

    def _cancelled(self, operation: str, targets: tuple[str, ...]) -> None:
        reason = "the command ended before the question was answered"
        self._record(Decision(operation, "cancelled", "user", "cancelled", reason, targets=targets))


class HostQuestions:
    """Puts questions of one call to the guard. The tool words neither the question nor the answers."""

    def __init__(self, guard: Guard, request: Request, record: Callable[[Decision], None]) -> None:
        self._guard = guard
        self._request = request
        self._record = record
        self.refusal: Decision | None = None
        """The newest decision that refused an access of the call."""

    @property
    def approves_all(self) -> bool:
        """Whether the mode lets every call pass that no rule refuses."""
        return self._guard.policy.mode == "bypass"

    @property
    def trusted(self) -> bool:
        """Whether the person trusts the workspace."""
        return self._guard.policy.trusted

    async def confirm(
        self,
        why: str,
        *,
        once: str,
        rule: str,
        preview: tuple[Diff, ...] = (),
        revision: str = "",
    ) -> Decision:
        """Whether the person agrees to this very call. ``preview`` is what to read first."""
        request = replace(self._request, once=once, revision=revision)
        if preview:
            request = replace(request, preview=lambda: preview)
        try:
            decision = await self._guard.confirm(request, why, rule)
        except asyncio.CancelledError:
            self._cancelled()
            raise
        self._record(decision)
        if not decision.allowed:
            self.refusal = decision
        return decision

    async def permission(self, operation: str, words: str) -> Response:
        """Ask whether a refused ``operation`` of the conversation is allowed from now on."""
        request = self._request
        plea = Plea(request.conversation, request.call, operation, words, request.asker)
        try:
            response = await ask_permission(self._guard, plea)
        except asyncio.CancelledError:
            self._cancelled()
            raise
        for decision in response.decisions:
            self._record(decision)
        return response

    def _cancelled(self) -> None:
        reason = "the call was cancelled before the question was answered"
        self._record(self._request.decided("cancelled", "user", "cancelled", reason))


_NO_CALL = CallId("")


async def ask_person(
    inquiries: "Inquiries",
    record: "Callable[[ConversationId, CallId, Decision], None]",
    question: ApprovalRequest,
    *,
    named: Sequence[str],
) -> Approval | None:
    """The yes to a question that belongs to no call, or None; the decision is on record either way.

    ``named`` are the targets in the log, which must not contain a private text itself.
    """
    verdict = Decision(
        question.operation, "deny", "user", "asked", question.why, targets=tuple(named)
    )
    try:
        outcome = await inquiries.ask(NO_CONVERSATION, _NO_CALL, question)
    except asyncio.CancelledError:
        cancelled = replace(verdict, outcome="cancelled", rule="cancelled")
        record(NO_CONVERSATION, _NO_CALL, cancelled)
        raise
    verdict = replace(verdict, elapsed=outcome.elapsed)
    answer, allowed = outcome.answer, None
    if outcome.closed == "unattended":
        verdict = replace(verdict, by="mode", rule="unattended")
    elif outcome.closed == "expired":
        verdict = replace(verdict, outcome="expired")
    elif isinstance(answer, Approval):
        choice = answer.scope if answer.choice == "scope" else answer.choice
        words = next((c.words for c in question.choices if c.id == choice), "")
        decided, allowed = ("allow", answer) if words else ("deny", None)
        verdict = replace(verdict, outcome=decided, scope=words, comment=answer.comment)
    record(NO_CONVERSATION, _NO_CALL, verdict)
    return allowed
