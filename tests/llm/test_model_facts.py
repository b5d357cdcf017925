"""What is known of models before they are used. A table of three million bytes is read six times: 0.3 s."""

from dataclasses import replace

import pytest

from sam_tui.adapters.llm.catalog import ProviderCatalog
from sam_tui.adapters.llm.choice import Wish
from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.model_facts import facts_of
from sam_tui.core.ports.model import ModelFacts, ModelOffer
from sam_tui.core.usage import Price
from sam_tui.ui.screens.models import cost_of_switch, known_for
from tests.fakes.openai_server import FakeServer, Reply
from tests.llm.folding import answer

KNOWN = "openai/gpt-4o"


@pytest.mark.requirement("ui:model-facts")
async def test_a_providers_own_models_are_known_and_the_persons_prices_count() -> None:
    own = Price(1.0, 2.0)
    environment = {"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
    offers = await ProviderCatalog(environment, servers=[], facts=facts_of).offers()
    for offer in offers:
        facts = offer.facts
        if offer.model == "scripted":
            assert facts == ModelFacts()
        else:
            assert facts.context_tokens and facts.context_tokens > 100_000 and facts.images
            assert facts.tools and facts.price and 0 < facts.price.input < facts.price.output
    at_home = ProviderCatalog(
        {},
        servers=[],
        wish=Wish(KNOWN, "http://127.0.0.1:9/v1"),
        prices=lambda: {KNOWN: own},
        facts=facts_of,
    )

    class Current:
        name, host, context_tokens = KNOWN, "127.0.0.1:9", 8192

    (offer, *_) = await at_home.offers(Current())  # pyright: ignore[reportArgumentType]
    # At another address a name may mean another model: its window is what it says itself.
    assert offer.facts == ModelFacts(8192, price=own)


@pytest.mark.requirement("model:cost-never-guessed")
async def test_prices_are_known_or_unknown_and_never_guessed() -> None:
    own = Price(1.0, 2.0)
    used = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    used["prompt_tokens_details"] = {"cached_tokens": 400}  # pyright: ignore[reportArgumentType]

    async def cost(model: str, prices: dict[str, Price], **usage: float) -> float | None:
        """The cost of a call of a provider's own model, with the provider on this machine."""
        catalog = ProviderCatalog(
            {"OPENAI_API_KEY": "k"}, servers=[], prices=lambda: prices, facts=facts_of
        )
        opened = catalog.open(ModelOffer(model, model, ""))
        assert isinstance(opened, DirectModel) and opened.endpoint.priced
        async with FakeServer([Reply(text="ok", usage={**used, **usage})]) as server:
            opened.endpoint = replace(opened.endpoint, base=server.base)
            (usage_of,) = (await answer(opened)).usages
            await opened.close()
        return usage_of.cost

    listed, personal = await cost(KNOWN, {}), await cost(KNOWN, {KNOWN: own})
    assert listed is not None and personal is not None
    assert abs(listed - (600 * 2.5e-6 + 400 * 1.25e-6 + 50 * 1e-5)) < 1e-12
    assert abs(personal - (1000 * 1e-6 + 50 * 2e-6)) < 1e-12
    assert await cost(KNOWN, {}, cost=0.5) == 0.5
    assert await cost("openai/gpt-99-imaginary", {}) is None


@pytest.mark.requirement("ui:model-facts")
def test_what_is_known_and_what_a_switch_costs_is_said_in_words() -> None:
    facts = ModelFacts(128_000, images=True, tools=True, price=Price(2.5, 10.0))
    assert known_for(facts) == "128k tokens · images · tools · $2.5 in, $10 out per M"
    assert known_for(ModelFacts(1_048_576, tools=False)) == "1.05M tokens · no tools"
    assert known_for(ModelFacts()) == ""
    assert cost_of_switch(0, facts) == ""
    assert "about 12,000 tokens, $0.03, without a cache" in cost_of_switch(12_000, facts)
    assert "takes 8,192: /compact" in cost_of_switch(12_000, ModelFacts(8192))
