"""What is known of models before they are used. One table of three million bytes is read, twice (0.3 s)."""

import pytest

from sam_tui.adapters.llm.catalog import ProviderCatalog
from sam_tui.adapters.llm.choice import Wish
from sam_tui.adapters.model_facts import facts_of
from sam_tui.core.ports.model import ModelFacts
from sam_tui.core.usage import Price
from sam_tui.ui.screens.models import cost_of_switch, known_for

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


@pytest.mark.requirement("ui:model-facts")
def test_what_is_known_and_what_a_switch_costs_is_said_in_words() -> None:
    facts = ModelFacts(128_000, images=True, tools=True, price=Price(2.5, 10.0))
    assert known_for(facts) == "128k tokens · images · tools · $2.5 in, $10 out per M"
    assert known_for(ModelFacts(1_048_576, tools=False)) == "1.05M tokens · no tools"
    assert known_for(ModelFacts()) == ""
    assert cost_of_switch(0, facts) == ""
    assert "about 12,000 tokens, $0.03, without a cache" in cost_of_switch(12_000, facts)
    assert "takes 8,192: /compact" in cost_of_switch(12_000, ModelFacts(8192))
