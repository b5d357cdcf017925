"""Tokens and money of model calls."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals of one or more model calls. ``cost`` is in US dollars, None when the price is unknown.

    ``input_tokens`` counts all of the prompt, ``cached_tokens`` the part of it the provider had.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum; the cost stays unknown only while neither side knows one."""
        costs = [c for c in (self.cost, other.cost) if c is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            sum(costs) if costs else None,
        )

    def since(self, before: "Usage") -> "Usage":
        """Return the usage added since an earlier total."""
        return Usage(
            self.input_tokens - before.input_tokens,
            self.cached_tokens - before.cached_tokens,
            self.cache_write_tokens - before.cache_write_tokens,
            self.output_tokens - before.output_tokens,
            self.reasoning_tokens - before.reasoning_tokens,
            None if self.cost is None else self.cost - (before.cost or 0.0),
        )


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in US dollars for a million tokens; ``cached`` is for cached input."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None

    def of(self, usage: Usage) -> float:
        """The cost of this usage."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(0, usage.input_tokens - usage.cached_tokens)
        spent = fresh * self.input + usage.cached_tokens * cached
        return (spent + usage.output_tokens * self.output) / 1_000_000


def priced(prices: Mapping[str, Price], model: str, usage: Usage) -> Usage:
    """The usage with its cost by the person's own prices, if the provider reported none."""
    price = prices.get(model)
    if price is None or usage.cost is not None or not usage.input_tokens:
        return usage
    return replace(usage, cost=price.of(usage))


@dataclass(frozen=True, slots=True)
class SentPrefix:
    """The part of a request that the previous one contained, in bytes of its texts.

    ``culprit`` names the first block that differs where the request does not extend the one before.
    """

    size: int
    same: int = 0
    culprit: str = ""
