"""The number of tokens that messages take, estimated without a tokenizer, and how many they may take."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from sam_tui.core.errors import ContextExceeded
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
)

OUTPUT_TOKENS = 8000
"""The tokens that are reserved for the answer, but at most a quarter of the context."""
SMALLEST = 256
"""The least tokens for messages with which a conversation can continue."""
RESERVE = 0.15
"""The share of a context that remains free because token counts are estimates (spec/sam.md 6.7)."""

_PARTS = {
    "user": "your messages",
    "reminder": "reminders",
    "assistant": "answers and calls",
    "tool": "results of",
}
PER_IMAGE = 1_600
"""The tokens of a large image, as Anthropic counts them; other providers count fewer."""
_PER_MESSAGE, _PER_CALL, _WRAPPER = 4, 20, 9


def estimate(message: Message) -> int:
    """Tokens of one message: a quarter of its UTF-8 bytes, 4 for its frame and 20 for each call."""
    match message:
        case UserMessage(text=text):
            return _PER_MESSAGE + text_tokens(text)
        case ReminderMessage(text=text):
            return _PER_MESSAGE + text_tokens(text) + _WRAPPER + PER_IMAGE * len(message.images)
        case ToolMessage(text=text):
            return _PER_MESSAGE + text_tokens(text)
        case AssistantMessage():
            body = text_tokens(message.text) + _thought(message)
            calls = sum(
                _PER_CALL + text_tokens(call.name) + text_tokens(call.arguments)
                for call in message.calls
            )
            return _PER_MESSAGE + body + calls


@dataclass(frozen=True, slots=True)
class ContextPart:
    """The estimated share of a request that one kind of content takes: tokens, and how many items."""

    name: str
    tokens: int
    count: int


def context_parts(system: str, tools: str, messages: Sequence[Message]) -> list[ContextPart]:
    """Return the parts of a request: system prompt, tools, and messages by kind, the largest first."""
    tokens: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for message in messages:
        name = _PARTS[message.kind]
        if isinstance(message, ToolMessage):
            name = f"{name} {message.operation or message.name}"
        tokens[name] += estimate(message)
        counts[name] += 1
    parts = [ContextPart(name, size, counts[name]) for name, size in tokens.most_common()]
    fixed = (("system prompt", system), ("tools", tools))
    return [*(ContextPart(name, text_tokens(text), 1) for name, text in fixed), *parts]


def total(messages: Sequence[Message]) -> int:
    """The estimated tokens of all messages."""
    return sum(map(estimate, messages))


def free(context: int, *, output: int) -> int:
    """Tokens of a context that a request may take: without the reserve and the answer, of which
    ``output`` is the longest answer; of a small context a quarter is reserved for it."""
    return context - round(context * RESERVE) - min(output, context // 4)


def room(context: int, *, fixed: int, output: int) -> int:
    """Return how many tokens messages may take in a model's context.

    ``fixed`` is the size of the beginning of every request (system prompt and tools,
    ``text_tokens`` of each), ``output`` as in ``free``. Raises ``ContextExceeded`` if that leaves
    less than ``SMALLEST``.
    """
    request = free(context, output=output)
    if request - fixed < SMALLEST:
        needed = ceil((fixed + SMALLEST) / (1 - RESERVE - 0.25))
        raise ContextExceeded(
            f"The model takes {context:,} tokens, of which {context - request:,} are reserved for"
            " its answer and for inexact estimates. The shortest system prompt and tools take about"
            f" {fixed:,} of the other {request:,}, and a conversation needs {SMALLEST}.",
            hint=f"Choose a model that takes about {needed:,} tokens or more, or a shorter system"
            " prompt.",
        )
    return request - fixed


def text_tokens(text: str) -> int:
    """Tokens of a text: a quarter of its UTF-8 bytes, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return (size + 3) // 4


def clip(text: str, most: int) -> str:
    """The text in at most ``most`` tokens: its beginning and its end around a mark."""
    if text_tokens(text) <= most:
        return text
    data = text.encode("utf-8", "replace")
    mark = f"\n[… {len(text)} characters in all; recall_history finds the rest …]\n"
    free = most * 4 - len(mark.encode())
    if free < 40:
        return data[: max(0, most * 4 - 3)].decode("utf-8", "ignore") + "…"
    head = data[: free * 2 // 3].decode("utf-8", "ignore")
    return head + mark + data[len(data) - free // 3 :].decode("utf-8", "ignore")


def _thought(message: AssistantMessage) -> int:
    """Reasoning goes back as text or inside the provider's own data, not both."""
    opaque = len(json.dumps(message.opaque, default=str)) // 4 if message.opaque else 0
    return max(opaque, text_tokens(message.reasoning))
