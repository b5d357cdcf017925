"""The hosts that the person's own tools are configured to use in a folder, offered as one scope."""

from collections.abc import Sequence

from sam_tui.core.authorization.grants.scopes import HOW_LONG, ScopeOffer, by_file
from sam_tui.core.authorization.network.hosts import connected
from sam_tui.core.authorization.policy.judgement import Judgement, PolicyState
from sam_tui.core.inquiry import ScopeChoice, ScopeSpan
from sam_tui.core.ports.policy import SavedGrant


async def no_sources() -> Sequence[str]:
    """No tool was asked."""
    return ()


def sources_offers(
    operation: str,
    judgements: Sequence[Judgement],
    sources: Sequence[str],
    state: PolicyState,
    *,
    keeps: bool,
) -> tuple[ScopeOffer, ...]:
    """The package sources and remotes of a folder as one scope, where a host in question is one of them."""
    hosts = {connected(judgement.target)[0] for judgement in judgements}
    if not hosts or not hosts <= set(sources) or any(by_file(j.rule) for j in judgements):
        return ()
    where = next(iter(state.roots), "")
    named = ", ".join(sources)
    spans: tuple[ScopeSpan, ...] = ("session", "project") if keeps else ("session",)
    on_offer: list[ScopeOffer] = []
    for span in spans:
        words = f"the package sources and git remotes of this folder ({named}), {HOW_LONG[span]}"
        saved = tuple(SavedGrant(operation, where, host=host) for host in sources)
        choice = ScopeChoice(f"{span}-sources", words, span, tuple(sources))
        rules = saved if span == "project" else ()
        on_offer.append(ScopeOffer(choice, tuple(sources), saved=rules, hosts=tuple(sources)))
    return tuple(on_offer)
