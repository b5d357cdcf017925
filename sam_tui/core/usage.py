"""Tokens and money of model calls."""

from dataclasses import dataclass


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
