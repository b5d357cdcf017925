"""What a turn may spend: when it ends, in which words, and who is asked of the turns that run."""

from dataclasses import replace
from typing import Any, cast

import pytest

from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS, Budget, Budgets, Limits, unpriced
from sam_tui.core.errors import BudgetExhausted
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import ModelCatalog, ModelOffer
from sam_tui.core.usage import Price, Usage
from tests.fakes.engine_kit import RawModel

USED = Usage(60, 5, 5, 40, 10, 0.5)


def end_of(budget: Budget) -> str:
    """Why the next call is refused, with the way on; empty where it is not. Nothing is counted then."""
    before = budget.steps
    if not budget.spent:
        return ""
    with pytest.raises(BudgetExhausted) as refused:
        budget.take_step()
    assert budget.steps == before
    return f"{refused.value.limit}: {refused.value} {refused.value.hint}"


REACHED = "Continue with another message, or raise --max-"


@pytest.mark.requirement("budget:counts")
@pytest.mark.parametrize(
    ("limits", "usage", "end"),
    [
        (Limits(), USED, ""),
        (Limits(tokens=101), USED, ""),
        (Limits(tokens=100), USED,
         f"tokens: The limit of 100 tokens was reached. {REACHED}tokens."),
        (Limits(tokens=1_000), Usage(input_tokens=1_000),
         f"tokens: The limit of 1,000 tokens was reached. {REACHED}tokens."),
        (Limits(tokens=1_000), Usage(output_tokens=999), ""),
        (Limits(tokens=1_000), Usage(),
         "tokens: The limit of 1,000 tokens cannot be enforced: the model does not report its usage."
         " Use --max-turns instead."),
        (Limits(cost=0.75), USED, ""),
        (Limits(cost=0.5), USED, f"cost: The limit of $0.5 was reached. {REACHED}cost."),
        (Limits(cost=0.5), replace(USED, cost=None),
         "cost: The limit of $0.5 cannot be enforced: the price of the model is not known."
         " Use --max-tokens or --max-turns instead."),
        (Limits(cost=0.5), Usage(cost=0.1),
         "cost: The limit of $0.5 cannot be enforced: the model does not report its usage."
         " Use --max-turns instead."),
        (Limits(tokens=100, cost=0.5), USED,
         f"tokens: The limit of 100 tokens was reached. {REACHED}tokens."),
        (Limits(tokens=999, cost=0.5), USED, f"cost: The limit of $0.5 was reached. {REACHED}cost."),
    ],
)  # fmt: skip
def test_a_limit_of_tokens_or_dollars_ends_a_turn_in_its_own_words(
    limits: Limits, usage: Usage, end: str
) -> None:
    budget = Budget(limits=limits)
    assert end_of(budget) == ""
    budget.spend(usage)
    assert end_of(budget) == end
    parent = Budget(1, limits=limits)
    child = Budget(9, parent=parent)
    parent.steps = 1  # its steps are its own
    assert end_of(child) == ""
    child.spend(usage)
    assert (child.usage, parent.usage) == (usage, usage)
    assert end_of(child) == end
    child.spend(USED)
    assert parent.usage == usage.plus(USED)
    assert child.unmetered is (usage.input_tokens == usage.output_tokens == 0)  # for good
    assert parent.unpriced is (usage.cost is None)  # for good, too


@pytest.mark.requirement("budget:counts")
def test_one_answer_without_a_price_ends_a_turn_with_a_limit_of_dollars() -> None:
    parent = Budget(limits=Limits(cost=5.0))
    parent.spend(USED)
    assert end_of(parent) == ""
    Budget(parent=parent).spend(replace(USED, cost=None))
    assert "the price of the model is not known" in end_of(parent)


@pytest.mark.requirement("budget:counts")
def test_calls_are_counted_up_to_the_limit_and_no_further() -> None:
    budget = Budget(2)
    assert [budget.take_step(), end_of(budget), budget.take_step()] == [1, "", 2]
    assert end_of(budget) == f"turns: The limit of 2 model calls was reached. {REACHED}turns."
    budget.max_steps = 3
    assert budget.take_step() == 3
    assert Budget().max_steps == DEFAULT_STEPS == Limits().steps == 300
    assert (MOST_STEPS, Limits().raised, Budget(0).spent) == (1000, 1000, True)


@pytest.mark.requirement("memory:iterations")
@pytest.mark.parametrize(
    ("steps", "own", "parents", "raised", "reach"),
    [(5, 9, None, 9, 9), (50, 9, None, 9, 50), (5, 9, 20, 9, 9), (5, 9, 7, 7, 7), (5, 9, 0, 0, 5)],
)
def test_the_agent_raises_its_steps_no_further_than_its_parent_may(
    steps: int, own: int, parents: int | None, raised: int, reach: int
) -> None:
    parent = None if parents is None else Budget(5, limits=Limits(raised=parents))
    budget = Budget(steps, parent=parent, limits=Limits(raised=own))
    assert (budget.raised, budget.reach) == (raised, reach)


class Prices:
    """A catalogue that knows one price."""

    def price(self, offer: ModelOffer) -> Price | None:
        """That of the model ``priced``."""
        return Price(1.0) if offer == ModelOffer("priced", "priced", "") else None


@pytest.mark.requirement("budget:counts")
def test_a_limit_of_dollars_warns_of_a_model_whose_price_nobody_knows() -> None:
    model, catalog = RawModel(), cast("ModelCatalog", Prices())
    model.host = "a.org"
    warning = unpriced(Limits(cost=1.0), model, catalog)
    assert warning.startswith("The price of raw is not known, so --max-cost ends each turn")
    assert unpriced(Limits(), model, catalog) == ""
    assert unpriced(Limits(cost=1.0), None, catalog) == ""
    model.name = "priced"
    assert unpriced(Limits(cost=1.0), model, catalog) == ""
    model.name, model.host = "scripted", ""
    assert unpriced(Limits(cost=1.0), model, catalog) == ""


@pytest.mark.requirement("budget:counts")
def test_the_turns_that_run_are_known_by_conversation_for_as_long_as_they_do() -> None:
    budgets, (one, two) = Budgets(), (RawModel(), RawModel())
    c, d = ConversationId("c"), ConversationId("d")

    def gate(key: str) -> str:
        return f"not {key}"

    def known() -> list[Any]:
        return [(budgets.get(x), budgets.model(x), budgets.gate(x)) for x in (c, d)]

    first, second = Budget(1), Budget(2)
    nothing = (None, None, None)
    with budgets.running(c, first, one), budgets.running(d, second, two, gate):
        assert known() == [(first, one, None), (second, two, gate)]
        assert [budgets.conversation(m) for m in (one, two, RawModel())] == [c, d, None]
    with pytest.raises(KeyError), budgets.running(c, first, one):
        raise KeyError
    assert (known(), budgets.conversation(one)) == ([nothing, nothing], None)
