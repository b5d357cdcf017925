"""What a question of the guard offers: scopes, each with the past calls that it would have covered."""

from collections.abc import Sequence
from dataclasses import dataclass

from sam_tui.core.authorization.grants.scopes import (
    LOOKED_AT,
    ScopeOffer,
    of_next_call,
    offers,
    rehearsal,
    simulated,
)
from sam_tui.core.authorization.grants.source_offers import sources_offers
from sam_tui.core.authorization.policy.judgement import CONNECT
from sam_tui.core.authorization.policy.policy import Judgement, Policy
from sam_tui.core.authorization.request import GuardTerms, Request


@dataclass(frozen=True, slots=True)
class QuestionOffers:
    """Collects what questions about calls in a workspace offer."""

    terms: GuardTerms
    root: str

    async def of(
        self, request: Request, judgements: Sequence[Judgement], policy: Policy
    ) -> tuple[ScopeOffer, ...]:
        """What the person can choose for the accesses of a request that were judged so."""
        operation, terms, keeps = request.operation, self.terms, self.terms.saved is not None
        sources = await terms.sources() if operation == CONNECT else ()
        past = terms.history.past(self.root, operation, limit=LOOKED_AT) if terms.history else ()
        on_offer = offers(
            operation, judgements, policy, seconds=terms.seconds, keeps=keeps, once=request.once
        )
        on_offer += sources_offers(operation, judgements, sources, policy, keeps=keeps)
        if request.ahead:
            lasting = (offer for offer in on_offer if offer.choice.id != "once")
            on_offer = (of_next_call(timed(on_offer)), *lasting)
        if request.rehearsable:
            on_offer = (*on_offer, rehearsal(judgements))
        return tuple(simulated(offer, past, policy) for offer in on_offer)


def timed(on_offer: Sequence[ScopeOffer]) -> ScopeOffer:
    """The offer that lasts a while, which every question has."""
    return next(offer for offer in on_offer if offer.choice.id == "timed")
