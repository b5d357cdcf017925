"""What a stream of deltas comes to, for comparison."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from sam_tui.core.ids import CallId
from sam_tui.core.messages import AssistantMessage, Message, ToolCall, UserMessage
from sam_tui.core.ports.model import (
    CallDelta,
    Delta,
    Model,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    TruncatedDelta,
    UsageDelta,
)
from sam_tui.core.usage import Usage


@dataclass
class Folded:
    """A whole answer. ``calls`` are (id, name, arguments) in order of index."""

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    opaque: dict[str, Any] = field(default_factory=dict[str, Any])
    usages: list[Usage] = field(default_factory=list[Usage])
    pieces: int = 0
    truncated: bool = False

    @property
    def arguments(self) -> list[Any]:
        """The arguments of each call, parsed."""
        return [json.loads(arguments) for _, _, arguments in self.calls]

    @property
    def message(self) -> AssistantMessage:
        """The answer as it stands in a conversation."""
        calls = tuple(ToolCall(CallId(i), n, a) for i, n, a in self.calls)
        return AssistantMessage(self.text, self.reasoning, calls, self.opaque or None)


def fold(deltas: Iterable[Delta]) -> Folded:
    """Everything the deltas said."""
    out = Folded()
    for delta in deltas:
        out.pieces += 1
        match delta:
            case TextDelta(text):
                out.text += text
            case ReasoningDelta(text):
                out.reasoning += text
            case CallDelta(index, id_, name, arguments):
                assert index <= len(out.calls)
                if index == len(out.calls):
                    out.calls.append(("", "", ""))
                old = out.calls[index]
                out.calls[index] = (old[0] or id_, old[1] or name, old[2] + arguments)
            case OpaqueDelta(data):
                out.opaque |= data
            case UsageDelta(usage):
                out.usages.append(usage)
            case TruncatedDelta():
                out.truncated = True
    return out


def request(*messages: Message, tools: str = "[]", system: str = "Be calm.") -> ModelRequest:
    """A request; without messages the person says hi."""
    return ModelRequest(system, tools, list(messages) or [UserMessage("hi")])


async def answer(model: Model, asked: ModelRequest | None = None) -> Folded:
    """Stream an answer to its end."""
    return fold([delta async for delta in model.stream(asked or request())])


async def until_text(deltas: AsyncIterator[Delta]) -> None:
    """Read until the first piece of text."""
    async for delta in deltas:
        if isinstance(delta, TextDelta):
            return


LITELLM_WARNINGS = pytest.mark.filterwarnings("ignore:::(pydantic|litellm)")
"""What litellm makes pydantic warn of. The adapter filters it, but pytest puts its filters back."""

USAGE: Mapping[str, Any] = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 7},
    "cost": 0.25,
}
"""A usage object as OpenRouter sends it."""
