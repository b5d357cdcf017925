"""The contents and cost of the next request, what compaction removes first, and what the cache saved."""

from typing import TYPE_CHECKING

from sam_tui.core.agent.tokens import context_parts, estimate, text_tokens, total
from sam_tui.core.usage import Price, SentPrefix, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sam_tui.core.agent.session import Session
    from sam_tui.core.messages import Message
    from sam_tui.core.runtime import Runtime

_FIRST = 5
"""How many of the messages that a compaction would remove first are named."""


def context_share(runtime: "Runtime", session: "Session | None", usage: Usage) -> str:
    """The share of the context window that a request and its answer used, and the next request's cost.

    A ``~`` marks an estimate.
    """
    model = session.model if session is not None else None
    if session is None or model is None:
        return ""
    window = runtime.engine.room.context(model)
    counted = usage.input_tokens + usage.output_tokens
    used = counted or text_tokens(runtime.engine.requests.fixed_text) + total(session.messages)
    share = f"ctx {'' if counted else '~'}{round(100 * used / window)}%" if window else ""
    recorder = runtime.engine.recorder
    price = recorder.prices.get(model.name) if recorder is not None else None
    cost = next_cost(usage, price)
    return share if cost is None else f"{share} next ~{dollars(cost)}".lstrip()


def next_cost(usage: Usage, price: Price | None) -> float | None:
    """The cost of the next request without its answer: all tokens sent and answered so far, the cached
    ones at the price for cached tokens; None where no price is known."""
    if not usage.input_tokens:
        return None
    sent = usage.input_tokens + usage.output_tokens
    if price is not None:
        return price.of(Usage(input_tokens=sent, cached_tokens=usage.cached_tokens))
    if usage.cost is None:
        return None
    # Without prices for input and output, both count at their average price.
    return usage.cost * usage.input_tokens / sent


def dollars(cost: float) -> str:
    """An amount of money in few characters."""
    return f"${cost:.2f}" if cost >= 0.1 else f"${cost:.4f}"


def cache_share(usage: Usage) -> str:
    """The cached share of a request in words; empty if nothing of it was cached."""
    if not usage.cached_tokens or not usage.input_tokens:
        return ""
    return f"cache {round(100 * usage.cached_tokens / usage.input_tokens)}%"


def cache_miss(prefix: SentPrefix | None, usage: Usage) -> str:
    """Return why a request did not extend the one before it, in words; empty if it did."""
    if prefix is None or not prefix.culprit:
        return ""
    share = prefix.same / prefix.size if prefix.size else 0
    return (
        f"The cache starts again at {prefix.culprit}: {share:.0%} of the request was sent "
        f"before, and the provider read {usage.cached_tokens:,} of {usage.input_tokens:,} "
        "tokens from its cache."
    )


def context_in_words(runtime: "Runtime", session: "Session") -> str:
    """The parts of the next request with their sizes, the pins, and what a compaction removes first."""
    requests, model = runtime.engine.requests, session.model
    window = runtime.engine.room.context(model) if model is not None else None
    parts = context_parts(requests.system, requests.tools_json, session.messages)
    used = sum(part.tokens for part in parts)
    lines = [f"{used:>9,}  tokens in all, estimated at four bytes each, as are the parts below"]
    counted = [c.usage for c in runtime.calls.calls(session.conversation) if c.usage.input_tokens]
    if counted:
        sent, answered = counted[-1].input_tokens, counted[-1].output_tokens
        last = (
            f"tokens of the last request, and {answered:,} of its answer, as the provider counted"
        )
        lines.insert(0, f"{sent:>9,}  {last}")
    if window:
        lines.append(
            f"{window:>9,}  tokens that {model.name if model else ''} takes: {used / window:.0%}"
        )
    lines += [*_money(runtime, session), ""]
    lines += [
        f"{part.tokens:>9,}  {part.tokens / max(1, used):>4.0%}  {part.name}"
        + (f" ({part.count})" if part.count > 1 else "")
        for part in parts
    ]
    return "\n".join([
        *lines,
        "",
        *_pinned(runtime, session),
        "",
        *_first_to_leave(session.messages),
    ])


def _money(runtime: "Runtime", session: "Session") -> list[str]:
    """The cost so far, and an estimate for the open todos by the cost of completed ones."""
    rows = runtime.calls.totals("conversation", conversation=session.conversation)
    cost = rows[0].usage.cost if rows else None
    if cost is None:
        return []
    items = runtime.todos.items(session.conversation)
    done = sum(item.status == "completed" for item in items)
    line = f"{dollars(cost):>9}  spent in this conversation"
    if not done or done == len(items):
        return [line]
    forecast = cost * (len(items) - done) / done
    return [
        f"{line}; about {dollars(forecast)} more for {len(items) - done} open todos of {len(items)}"
    ]


def _pinned(runtime: "Runtime", session: "Session") -> list[str]:
    items = runtime.todos.items(session.conversation)
    todos = sum(item.status != "completed" for item in items)
    pins = runtime.conversations.pins(session.conversation)
    return [
        "Always in the context: system prompt and tools, instructions, your last message,",
        f"{todos} open todo{'s' * (todos != 1)}, {len(pins)} pin{'s' * (len(pins) != 1)} of yours (/pin)",
        *(f"    {' '.join(pin.split())[:90]}" for pin in pins),
    ]


def _first_to_leave(messages: "Sequence[Message]") -> list[str]:
    lines = [
        "When it no longer fits, the oldest leave first, calls together with their results;",
        "recall_history still finds them, /compact does it now. The first would be:",
    ]
    leaving = [message for message in messages[:-1] if message.kind != "reminder"]
    return lines + [
        f"{estimate(message):>9,}  {message.kind}: {' '.join(message.text.split())[:80] or 'calls'}"
        for message in leaving[:_FIRST]
    ]
