"""The guard: judges the accesses of a call, asks the person if it must, and records the decision once."""

from collections.abc import Sequence
from dataclasses import replace

from sam_tui.core.accesses import Access, LocatedAccess, Read, Write
from sam_tui.core.authorization.grants.grants import Grant, Grants
from sam_tui.core.authorization.grants.scopes import (
    PAST_DECISIONS,
    ScopeOffer,
    chosen_of,
    grant_seconds,
    of_next_call,
    offers,
    rehearsal,
    simulated,
)
from sam_tui.core.authorization.grants.source_offers import sources_offers
from sam_tui.core.authorization.message_calls import TOGETHER
from sam_tui.core.authorization.network.hosts import HostEntry
from sam_tui.core.authorization.outside_access import (
    AGAIN,
    located,
    operation_of,
    preview_of,
    summary_of,
    then_of,
    widened,
)
from sam_tui.core.authorization.outside_access import OutsideRun as CommandRun
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.paths.places import place_of
from sam_tui.core.authorization.policy.command_stages import wants_network
from sam_tui.core.authorization.policy.judgement import CHANGE, CONNECT
from sam_tui.core.authorization.policy.policy import Judgement, PermissionMode, Policy
from sam_tui.core.authorization.request import Explanation as Explanation
from sam_tui.core.authorization.request import (
    GuardTerms,
    Refusals,
    WaitingQuestions,
    no_preview,
    question_of,
    unallowed,
    unanswered,
)
from sam_tui.core.authorization.request import Request as Request
from sam_tui.core.authorization.rules.rule import saved_rule
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Approval, ApprovalRequest, ScopeChoice
from sam_tui.core.ports.policy import DecisionEntry
from sam_tui.core.ports.processes.sandbox import Network, OutsideAccess
from sam_tui.core.verdict import REHEARSAL, Decision

ONCE = "this call"
"""The scope of a decision for one call."""


class Guard:
    """Decides every call of one runtime: rules, then grants, then the person."""

    def __init__(
        self,
        workspace: Workspace,
        policy: Policy,
        grants: Grants,
        inquiries: Inquiries,
        terms: GuardTerms | None = None,
    ) -> None:
        terms = terms or GuardTerms()
        self.workspace = workspace
        self.policy = policy if policy.roots else replace(policy, roots=workspace.roots)
        self.grants = grants
        self._history = terms.history
        self._saved = terms.saved
        self.seconds = terms.seconds
        self.network: Network = terms.network
        self.shield = terms.shield
        self.refusals = Refusals()
        """Refused operations for which the agent may request permission."""
        self._sources = terms.sources
        self._rehearses = terms.rehearses
        self._waiting = WaitingQuestions(inquiries, terms.shield)

    def use_policy(self, policy: Policy) -> None:
        """Decide by another policy from now on; the mode stays."""
        self.policy = replace(policy, mode=self.policy.mode, roots=self.workspace.roots)

    def use_mode(self, mode: PermissionMode) -> None:
        """Decide by another mode from now on. Raises ``UsageError`` for a forbidden one."""
        self.policy = self.policy.in_mode(mode)

    def rehearsed(self, decision: Decision, accesses: Sequence[LocatedAccess]) -> bool:
        """Whether an allowed command is only rehearsed: by the person's choice, or because all are."""
        if decision.scope == REHEARSAL:
            return True
        readings = self.policy.readings(accesses)
        return self._rehearses and any(r is None or not r.calm for r in readings)

    async def decide_kept(self, run: CommandRun, words: str, changes: Sequence[Diff]) -> Decision:
        """Ask whether a rehearsed command's changes are made. Always asked, and never granted ahead."""
        question = ApprovalRequest(
            run.key,
            f"make the changes: {words} · {run.line}",
            tuple(change.path for change in changes),
            f"the command ran on a copy; nothing of this is in the workspace yet{self._planted(changes)}",
            self.workspace.root,
            preview=tuple(changes),
            asker=run.asker,
            choices=(ScopeChoice("once", "make exactly these changes", "once"),),
        )
        verdict = Decision(run.key, "deny", "user", "rehearsed", words, targets=question.targets)
        return await self._confirmed(run, question, verdict)

    def _planted(self, changes: Sequence[Diff]) -> str:
        """Name the changed files that later run or instruct somebody; empty if there are none."""
        root = self.workspace.root
        paths = [c.path for c in changes if place_of(f"{root}/{c.path}", root)]
        return f"; of it this would later run or instruct: {', '.join(paths)}" if paths else ""

    async def confirm(self, request: Request, why: str, rule: str) -> Decision:
        """Ask about a call that nothing here stops. A yes holds for this call alone."""
        question = ApprovalRequest(
            request.operation,
            request.summary,
            self.explain(request.conversation, request.operation, request.accesses).targets,
            why,
            self.workspace.root,
            preview=tuple(request.preview()),
            asker=request.asker,
            choices=(ScopeChoice("once", request.once, "once"),),
            words=request.words,
            destructive=request.destructive,
            revision=request.revision,
        )
        verdict = request.decided("deny", "user", rule, why)
        verdict = replace(verdict, scope=ONCE, targets=question.targets)
        return await self._confirmed(request, question, verdict)

    async def _confirmed(
        self, asks: Request | CommandRun, question: ApprovalRequest, verdict: Decision
    ) -> Decision:
        """``verdict`` as the person decides a question that only takes yes, once, or no."""
        if self.policy.mode == "auto":
            return replace(verdict, by="mode", rule="mode:auto")
        outcome = await self._waiting.ask(asks.conversation, asks.call, question)
        verdict = replace(verdict, elapsed=outcome.elapsed)
        if not isinstance(outcome.answer, Approval):
            return replace(verdict, by="mode", rule="unattended")
        answer = outcome.answer
        agreed = answer.choice == "once" or (answer.choice, answer.scope) == ("scope", "once")
        return replace(verdict, outcome="allow" if agreed else "deny", comment=answer.comment)

    def network_of(self, accesses: Sequence[LocatedAccess], *, lasting: bool) -> Network:
        """The network of a call that was allowed; a ``lasting`` terminal has no more than others."""
        if not self.policy.blind:
            return self.network
        readings = self.policy.readings(accesses)
        return "granted" if not lasting and any(map(wants_network, readings)) else "off"

    @property
    def writable(self) -> tuple[str, ...]:
        """The folders in which commands write: the workspace's, and in plan mode none."""
        return () if self.policy.mode == "plan" else self.workspace.roots

    def granted(self, conversation: ConversationId) -> tuple[str, ...]:
        """Real paths outside that the commands of a conversation may change now."""
        if self.policy.mode == "plan":
            return ()
        return self.grants.real_paths(conversation, CHANGE)

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
        """Return the decision that would be made now, without asking anyone or using a grant up."""
        self._heed_withdrawn()
        judgements = tuple(self.policy.judge(access, operation) for access in accesses)
        used: list[Grant] = []
        open_questions: list[Judgement] = []
        for judgement in judgements:
            if judgement.outcome == "deny":
                return Explanation("deny", judgement.reason, judgement.rule, judgements)
            if judgement.outcome != "ask":
                continue
            grant = self.grants.find(
                conversation,
                operation,
                judgement.target,
                judgement.reading,
                exactly=not judgement.plain,
            )
            if grant is None:
                open_questions.append(judgement)
            else:
                used.append(grant)
        if open_questions:
            first = open_questions[0]
            if self.policy.mode == "auto":
                why = f"auto mode never asks: {first.reason}"
                return Explanation("deny", why, "mode:auto", judgements)
            return Explanation("ask", first.reason, first.rule, judgements)
        if used:
            rule = f"grant:{used[0].id}"
            return Explanation("allow", "allowed by a grant", rule, judgements, tuple(used))
        if not judgements:
            return Explanation("allow", "touches nothing", "no-access", judgements)
        return Explanation("allow", judgements[0].reason, judgements[0].rule, judgements)

    def _heed_withdrawn(self) -> None:
        """Drop permanent permissions that the person has withdrawn, in any process."""
        saved_ids = self.policy.rules.saved_ids() if self._saved is not None else frozenset[str]()
        withdrawn = self._saved.withdrawn(saved_ids) if self._saved and saved_ids else None
        if withdrawn:
            self.policy = replace(self.policy, rules=self.policy.rules.without(withdrawn))

    async def decide(self, request: Request) -> Decision:
        """The decision on a call. Waits for the person where one must be asked."""
        decision = await self._decide(request)
        self.refusals.add(request, decision)
        return decision

    async def decide_ahead(self, request: Request) -> Decision:
        """The decision on calls to come, for which the agent asks leave. A yes becomes grants."""
        return await self._decide(replace(request, ahead=True))

    async def _decide(self, request: Request) -> Decision:
        if (denied := request.denied_ahead()) is not None:
            return denied
        explained = self._explained(request)
        if explained.outcome != "ask":
            return self._settle(request, explained)
        async with self._waiting.turn(request, explained.targets):
            # An answer to another question may have granted this one too.
            while (explained := self._explained(request)).outcome == "ask":
                if decision := await self._ask(request, explained):
                    return decision
            return self._settle(request, explained)

    def _explained(self, request: Request) -> Explanation:
        return self.explain(request.conversation, request.operation, request.accesses)

    async def decide_outside(self, run: CommandRun, access: OutsideAccess) -> Decision:
        """Decide on an outside access of a running command, while its system call waits."""
        operation = operation_of(access)
        try:
            accesses = located(access, self.workspace)
        except ToolError as error:
            return Decision(operation, "deny", "rule", "unlocated", str(error))
        if not accesses:
            reason = f"{access.path} led elsewhere when it was looked at again"
            return Decision(operation, "deny", "rule", "moved", reason, targets=(access.path,))
        what = summary_of(access, run), accesses, lambda: preview_of(access), run.asker
        request = Request(run.conversation, run.call, operation, *what, then_of(access), run.once)
        return await self.decide(replace(request, called=run.key))

    async def decide_again(
        self, run: CommandRun, refused: Sequence[OutsideAccess]
    ) -> tuple[Decision, tuple[str, ...]]:
        """Ask whether a command runs again after refusals, and return the paths it may then write to.

        Always asked, for only the person can tell whether running it twice does harm.
        """
        accesses = widened(refused, self.workspace)
        paths = tuple(a.location.real for a in accesses if a.location is not None)
        if not paths:
            reason = "nothing that it was refused can be given to it"
            return Decision(CHANGE, "deny", "rule", "nothing-to-widen", reason), ()
        request = Request(
            run.conversation,
            run.call,
            CHANGE,
            f"run it again with more to write to · {run.line}",
            accesses,
            no_preview,
            run.asker,
            AGAIN,
            "exactly this, for one more run",
        )
        explained = self._explained(request)
        if explained.outcome == "deny":
            return self._settle(request, explained), ()
        while (decision := await self._ask(request, explained)) is None:
            continue
        return decision, paths if decision.allowed else ()

    def _settle(self, request: Request, explained: Explanation) -> Decision:
        for grant in () if request.ahead else explained.grants:
            self.grants.use(grant)
        outcome = "allow" if explained.outcome == "allow" else "deny"
        ruled = "mode" if explained.rule.startswith("mode:") else "rule"
        by = "user" if explained.grants else ruled
        verdict = request.decided(outcome, by, explained.rule, explained.reason)
        return replace(verdict, targets=explained.targets)

    async def _ask(self, request: Request, explained: Explanation) -> Decision | None:
        """The person's decision; None if another answer made the question unnecessary."""
        on_offer = await self._simulated(request, explained.asking)
        question = self._question(request, explained, on_offer)
        ahead = request.allowed_ahead(question)
        outcome = ahead or await self._waiting.ask_about(request, question, self._foresee)
        verdict = request.decided("deny", "user", explained.rule, explained.reason)
        scope, touched = ", ".join(question.targets), explained.targets
        verdict = replace(verdict, scope=scope, elapsed=outcome.elapsed, targets=touched)
        if not isinstance(answer := outcome.answer, Approval):
            return unanswered(outcome, verdict)
        verdict = replace(verdict, comment=answer.comment)
        chosen = chosen_of(answer, on_offer)
        if chosen is None:
            return unallowed(answer, question, verdict)
        if chosen.choice.id == "rehearse":
            return replace(verdict, outcome="allow", scope=REHEARSAL)
        took = self._take(request, chosen) if ahead is None else TOGETHER
        self._waiting.withdraw(lambda open_: self._explained(open_).outcome != "ask")
        scope = question.timed_scope if chosen.choice.id == "timed" else took
        return replace(verdict, outcome="allow", scope=scope)

    def _foresee(self, request: Request) -> ApprovalRequest | None:
        """The question that a later call would bring as things stand; None where it would bring none."""
        explained = self._explained(request)
        if explained.outcome != "ask":
            return None
        return self._question(request, explained, self._offers(request, explained.asking))

    def _question(
        self, request: Request, explained: Explanation, on_offer: Sequence[ScopeOffer]
    ) -> ApprovalRequest:
        choices = tuple(offer.choice for offer in on_offer)
        question = question_of(request, explained, self.policy, choices)
        return replace(question, cwd=self.workspace.root, seconds=self.seconds)

    async def _simulated(
        self, request: Request, judgements: Sequence[Judgement]
    ) -> tuple[ScopeOffer, ...]:
        """Return the offered scopes with the figures of past calls."""
        sources = await self._sources() if request.operation == CONNECT else ()
        past: Sequence[DecisionEntry] = ()
        if self._history is not None:
            past = self._history.past(self.workspace.root, request.operation, limit=PAST_DECISIONS)
        on_offer = self._offers(request, judgements, sources)
        return tuple(simulated(offer, past, self.policy) for offer in on_offer)

    def _offers(
        self, request: Request, judgements: Sequence[Judgement], sources: Sequence[str] = ()
    ) -> tuple[ScopeOffer, ...]:
        keeps = self._saved is not None
        on_offer = offers(
            request.operation,
            judgements,
            self.policy,
            seconds=self.seconds,
            keeps=keeps,
            once=request.once,
        )
        on_offer += sources_offers(request.operation, judgements, sources, self.policy, keeps=keeps)
        if request.ahead:
            on_offer = (
                of_next_call(_timed(on_offer)),
                *(o for o in on_offer if o.choice.id != "once"),
            )
        if request.rehearsable:
            on_offer = (*on_offer, rehearsal(judgements))
        return on_offer

    def _take(self, request: Request, offer: ScopeOffer) -> str:
        """Make the grants of the chosen scope; returns the scope in words."""
        if offer.saved and self._saved is not None:
            rules = [saved_rule(saved, self._saved.add(saved)) for saved in offer.saved]
            self.policy = self.policy.with_rules(rules)
            return offer.choice.words
        for target in offer.targets:
            self.grants.add(
                request.conversation,
                request.operation,
                target,
                seconds=grant_seconds(offer.choice),
                uses=offer.uses,
                pattern=HostEntry.of(target) if offer.hosts else offer.pattern,
            )
        return offer.choice.words if offer.choice.span != "once" or offer.uses else ONCE


def _timed(on_offer: Sequence[ScopeOffer]) -> ScopeOffer:
    """The offer that lasts a while, which every question has."""
    return next(offer for offer in on_offer if offer.choice.id == "timed")
