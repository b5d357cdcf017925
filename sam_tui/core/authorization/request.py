"""Requests to the guard, its explanations, and the refusals that it remembers."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from sam_tui.core.accesses import LocatedAccess, Use
from sam_tui.core.authorization.grants.grants import Grant
from sam_tui.core.authorization.grants.scopes import timed_words
from sam_tui.core.authorization.grants.source_offers import no_sources
from sam_tui.core.authorization.message_calls import TOGETHER, MessageCalls
from sam_tui.core.authorization.policy.policy import Judgement, Policy
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Announcement, Inquiries, InquiryOutcome
from sam_tui.core.inquiry import Approval, ApprovalRequest, Draft, ScopeChoice
from sam_tui.core.ports.policy import DecisionHistory, RuleStore
from sam_tui.core.ports.processes.sandbox import DEFAULT_NETWORK, Network
from sam_tui.core.redaction.shield import Shield
from sam_tui.core.verdict import DecidedBy, Decision, Outcome

TIMED_SECONDS = 300.0
"""Seconds that a timed grant lasts (seed 004, Temporary Grants)."""


@dataclass(frozen=True, slots=True)
class GuardTerms:
    """The person's settings about questions, and what the guard needs besides the policy.

    ``seconds`` is how long the counted choice of a question lasts, ``network`` whether confined
    commands reach the internet without a question, ``rehearses`` whether commands that do more than
    read are tried on a copy of the workspace first. ``sources`` gives the hosts that the person's own
    tools are configured to use in this folder.
    """

    seconds: float = TIMED_SECONDS
    network: Network = DEFAULT_NETWORK
    rehearses: bool = False
    sources: Callable[[], Awaitable[Sequence[str]]] = no_sources
    history: DecisionHistory | None = None
    saved: RuleStore | None = None
    shield: Shield = field(default_factory=Shield)
    """Redacts secrets in questions."""


class ShownPreview:
    """The change that a call would make, computed when a person is asked and remembered as shown."""

    def __init__(self, compute: Callable[[], Sequence[Diff]]) -> None:
        self._compute = compute
        self._shown: tuple[Diff, ...] | None = None

    def __call__(self) -> Sequence[Diff]:
        """Compute and remember the changes for the question."""
        self._shown = tuple(self._compute())
        return self._shown

    def require_unchanged(self) -> None:
        """Raises ``ToolError`` if the call would no longer have the effect that was shown."""
        if self._shown is not None and tuple(self._compute()) != self._shown:
            raise ToolError(
                "The files changed while the question was open, so the call would do "
                "something other than what was allowed. Nothing was changed.",
                hint="Read them again, then call again.",
            )


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
    """The subagent that asks; empty for the agent itself."""
    then: str = ""
    """The consequence of a yes, if the question does not show it."""
    once: str = "this call only"
    """The extent of a single yes, in words."""
    rehearsable: bool = False
    """Whether it can be tried on a copy of the workspace first."""
    called: str = ""
    """The operation of the call during which this is asked; empty if it is ``operation``."""
    words: str = ""
    """The agent's own words about it, which are shown but not judged."""
    draft: Callable[[], Draft | None] = lambda: None
    """The proposed content, if the person can change it."""
    require_unchanged: Callable[[], None] = lambda: None
    """Raises ``ToolError`` if the call would no longer have the effect that was shown."""
    remark: str = ""
    """The person's comment when they changed the proposed content."""
    revision: str = ""
    """See ``ApprovalRequest.revision``."""
    ahead: bool = False
    """Whether the request is for later calls, so that no call waits for the answer."""
    arguments: str = ""
    """The arguments of the call, as the model or a hook wrote them."""
    message: "MessageCalls[Request]" = field(default_factory=lambda: MessageCalls[Request]())
    """The calls of the same assistant message."""

    def reason(self, why: str) -> str:
        """The reason of a question, followed by what a yes brings about."""
        if self.destructive and "destructive" not in why:
            why = f"{why}; the server calls this tool destructive"
        return f"{why}. {self.then}" if self.then else why

    @property
    def destructive(self) -> bool:
        """Whether it uses a tool that its server calls destructive."""
        uses = (a.access for a in self.accesses if isinstance(a.access, Use))
        return any(use.destructive for use in uses)

    def decided(self, outcome: Outcome, by: DecidedBy, rule: str, reason: str) -> Decision:
        """A decision on this request."""
        return Decision(self.operation, outcome, by, rule, reason, asker=self.asker)

    def allowed_ahead(self, question: ApprovalRequest) -> InquiryOutcome | None:
        """The person's yes to exactly this, if they gave it before the call's turn came."""
        answer = self.message.approval(self, question)
        return answer and InquiryOutcome("answered", answer, 0.0)

    def denied_ahead(self) -> Decision | None:
        """The person's denial, if they made it before the call's turn came."""
        if (denial := self.message.denial(self.call)) is None:
            return None
        question, answer = denial
        verdict = self.decided("deny", "user", question.rule, question.why)
        verdict = replace(verdict, comment=answer.comment, targets=question.targets)
        return replace(verdict, scope=TOGETHER)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The guard's decision about a request, and the judgement of each access in order."""

    outcome: str
    reason: str
    rule: str
    judgements: tuple[Judgement, ...]
    grants: tuple[Grant, ...] = ()

    @property
    def asking(self) -> tuple[Judgement, ...]:
        """The judgements that a question is about; all, where none of them asks."""
        return tuple(j for j in self.judgements if j.outcome == "ask") or self.judgements

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the accesses, as a grant would name them."""
        return tuple(judgement.target for judgement in self.judgements if judgement.target)


def no_preview() -> Sequence[Diff]:
    """Return no changes: those of a running program are not known before."""
    return ()


def unanswered(outcome: InquiryOutcome, verdict: Decision) -> Decision | None:
    """Return the verdict on a question that nobody answered; None if the question became needless."""
    if outcome.closed == "withdrawn":
        return None
    if outcome.closed == "unattended":
        return replace(verdict, by="mode", rule="unattended")
    return replace(verdict, outcome="expired") if outcome.closed == "expired" else verdict


def unallowed(answer: Approval, question: ApprovalRequest, verdict: Decision) -> Decision:
    """Return the verdict on an answer without a choice: a denial, or the person's own change."""
    if answer.choice == "amend" and question.draft is not None:
        return replace(verdict, outcome="amended", amendment=answer.amended)
    return verdict


def question_of(
    request: Request, explained: Explanation, policy: Policy, choices: tuple[ScopeChoice, ...]
) -> ApprovalRequest:
    """Return the question for a request."""
    return ApprovalRequest(
        operation=request.operation,
        summary=request.summary,
        targets=tuple(j.target for j in explained.asking),
        why=request.reason(explained.reason),
        cwd="",
        timed_scope=timed_words(next(c for c in choices if c.id == "timed"), request.accesses),
        choices=choices,
        preview=tuple(request.preview()),
        asker=request.asker,
        words=request.words,
        remark=request.remark,
        rule=explained.rule,
        destructive=request.destructive,
        draft=request.draft(),
        trace=policy.trace_words(request.accesses, request.operation),
    )


MOST = 8
"""The newest refusals of a conversation and operation that are remembered: a person reads them all."""


@dataclass(frozen=True, slots=True)
class RememberedRefusal:
    """A refused call; ``targets`` are the targets of its accesses at that time."""

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
        """Remember a refused request, unless a rule or hook refused it: no permission overrides those."""
        settled = decision.outcome in ("allow", "amended") or decision.by in ("rule", "hook")
        if settled or not decision.targets:
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
        """Remove and return all of an operation, oldest first."""
        return tuple(self._kept.pop((conversation, called), ()))


class WaitingQuestions:
    """The guard's open questions. Their displayed text is redacted."""

    def __init__(self, inquiries: Inquiries, shield: Shield) -> None:
        self._inquiries = inquiries
        self._shield = shield
        self._turns: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()
        self._open: list[tuple[Request, ApprovalRequest]] = []

    def turn(self, request: Request, targets: Sequence[str]) -> asyncio.Lock:
        """The lock of questions about the same targets: while one is asked, others wait."""
        alike = (request.conversation, request.operation, *targets)
        return self._turns.setdefault(alike, asyncio.Lock())

    async def ask(
        self, conversation: ConversationId, call: CallId, question: ApprovalRequest
    ) -> InquiryOutcome:
        """Ask a question that no other answer can make unnecessary."""
        return await self._inquiries.ask(conversation, call, question.redacted(self._shield.redact))

    async def ask_about(
        self,
        request: Request,
        question: ApprovalRequest,
        foresee: Callable[[Request], ApprovalRequest | None],
    ) -> InquiryOutcome:
        """Ask about a call; the outcome is ``withdrawn`` where that became needless meanwhile. Later calls
        of its message are announced with it, as ``foresee`` has them."""
        message, redact = request.message, self._shield.redact
        waiting = request, question.redacted(redact)
        announcement = Announcement(
            message.answered, lambda: message.announce(request.call, foresee, redact)
        )
        self._open.append(waiting)
        try:
            outcome = await self._inquiries.ask(
                request.conversation, request.call, waiting[1], announcement
            )
        finally:
            self._open = [other for other in self._open if other is not waiting]
        message.remember(outcome)
        return outcome

    def withdraw(self, needless: Callable[[Request], bool]) -> None:
        """Withdraw the open questions about requests that no longer need one."""
        for request, question in self._open:
            if needless(request):
                self._inquiries.withdraw(question)
