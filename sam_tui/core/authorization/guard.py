"""The guard: judges what a call touches, asks the person where it must, and says so once."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sam_tui.core.accesses import Access, LocatedAccess, Read, Run, Type, Write
from sam_tui.core.authorization.containment import Workspace
from sam_tui.core.authorization.grants import Grant, Grants
from sam_tui.core.authorization.policy import Judgement, PermissionMode, Policy
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Approval, ApprovalRequest
from sam_tui.core.verdict import Decision

TIMED_SECONDS = 300.0
"""How long a timed grant lasts: seed 004, Temporary Grants."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call before it runs. ``preview`` is only called when a person is asked."""

    conversation: ConversationId
    call: CallId
    operation: str
    summary: str
    accesses: tuple[LocatedAccess, ...]
    preview: Callable[[], Sequence[Diff]]
    asker: str = ""
    """Who asks, where it is not the agent itself."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the guard would do with a request, and the judgement of each access in order."""

    outcome: str
    reason: str
    rule: str
    judgements: tuple[Judgement, ...]
    grants: tuple[Grant, ...] = ()


class Guard:
    """Decides every call of one runtime: rules, then grants, then the person."""

    def __init__(
        self, workspace: Workspace, policy: Policy, grants: Grants, inquiries: Inquiries
    ) -> None:
        self.workspace = workspace
        self.policy = policy
        self.grants = grants
        self._inquiries = inquiries
        self._asking: defaultdict[ConversationId, asyncio.Lock] = defaultdict(asyncio.Lock)

    def use_mode(self, mode: PermissionMode) -> None:
        """Change the mode for the decisions that follow."""
        self.policy = replace(self.policy, mode=mode)

    def locate(self, accesses: Sequence[Access]) -> tuple[LocatedAccess, ...]:
        """Resolve every declared path, once. Raises ``ToolError`` for an unusable one."""
        located: list[LocatedAccess] = []
        for access in accesses:
            match access:
                case Read(path=path):
                    located.append(LocatedAccess(access, self.workspace.locate(path)))
                case Write(path=path, follow=follow):
                    where = self.workspace.locate(path, follow=follow)
                    located.append(LocatedAccess(access, where))
                case _:
                    located.append(LocatedAccess(access, None))
        return tuple(located)

    def explain(
        self, conversation: ConversationId, operation: str, accesses: Sequence[LocatedAccess]
    ) -> Explanation:
        """What would be decided now, without asking anyone or using a grant up."""
        judgements = tuple(self.policy.judge(access) for access in accesses)
        used: list[Grant] = []
        open_questions: list[Judgement] = []
        for judgement in judgements:
            if judgement.outcome == "deny":
                return Explanation("deny", judgement.reason, judgement.rule, judgements)
            if judgement.outcome != "ask":
                continue
            grant = self.grants.find(conversation, operation, judgement.target)
            if grant is None:
                open_questions.append(judgement)
            else:
                used.append(grant)
        if open_questions and self.policy.mode == "auto":
            return Explanation(
                "deny", f"auto mode never asks: {open_questions[0].reason}", "mode:auto", judgements
            )
        if open_questions:
            first = open_questions[0]
            return Explanation("ask", first.reason, first.rule, judgements)
        if used:
            rule = f"grant:{used[0].id}"
            return Explanation("allow", "allowed by a grant", rule, judgements, tuple(used))
        if not judgements:
            return Explanation("allow", "touches nothing", "no-access", judgements)
        weightiest = judgements[0]
        return Explanation("allow", weightiest.reason, weightiest.rule, judgements)

    async def decide(self, request: Request) -> Decision:
        """The decision on a call. Waits for the person where one must be asked."""
        explained = self.explain(request.conversation, request.operation, request.accesses)
        if explained.outcome != "ask":
            return self._settle(request, explained)
        async with self._asking[request.conversation]:
            # An answer to the question before this one may have granted this one too.
            explained = self.explain(request.conversation, request.operation, request.accesses)
            if explained.outcome != "ask":
                return self._settle(request, explained)
            return await self._ask(request, explained)

    def _settle(self, request: Request, explained: Explanation) -> Decision:
        for grant in explained.grants:
            self.grants.use(grant)
        outcome = "allow" if explained.outcome == "allow" else "deny"
        by = "mode" if explained.rule.startswith("mode:") else "rule"
        if explained.grants:
            by = "user"
        return Decision(request.operation, outcome, by, explained.rule, explained.reason)

    async def _ask(self, request: Request, explained: Explanation) -> Decision:
        asked = tuple(j for j in explained.judgements if j.outcome == "ask")
        targets = tuple(j.target for j in asked)
        question = ApprovalRequest(
            operation=request.operation,
            summary=request.summary,
            targets=targets,
            why=explained.reason,
            cwd=self.workspace.root,
            preview=tuple(request.preview()),
            timed_scope=self._scope_in_words(request, targets),
            seconds=TIMED_SECONDS,
            asker=request.asker,
        )
        outcome = await self._inquiries.ask(request.conversation, request.call, question)
        verdict = Decision(
            request.operation,
            "deny",
            "user",
            explained.rule,
            explained.reason,
            scope=", ".join(targets),
            elapsed=outcome.elapsed,
        )
        if outcome.closed == "unattended":
            return replace(verdict, by="mode", rule="unattended")
        if outcome.closed == "expired":
            return replace(verdict, outcome="expired")
        if not isinstance(outcome.answer, Approval):
            return verdict
        if outcome.answer.choice == "deny":
            return replace(verdict, comment=outcome.answer.comment)
        if outcome.answer.choice == "timed":
            for target in targets:
                self.grants.add(
                    request.conversation, request.operation, target, seconds=TIMED_SECONDS
                )
        scope = "this call" if outcome.answer.choice == "once" else question.timed_scope
        return replace(verdict, outcome="allow", scope=scope, comment=outcome.answer.comment)

    def _scope_in_words(self, request: Request, targets: Sequence[str]) -> str:
        if any(isinstance(a.access, Run | Type) for a in request.accesses):
            return f"exactly this: {', '.join(targets)}, for 5 minutes"
        return f"{request.operation} on {', '.join(targets)}, for 5 minutes"
