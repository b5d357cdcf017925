"""A side question: it has the conversation's context, makes no call and is not stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.messages import AssistantMessage, Message, UserMessage, unanswered
from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.usage import Usage, priced

if TYPE_CHECKING:
    from sam_tui.core.agent.history import History
    from sam_tui.core.agent.turn import TurnEngine
    from sam_tui.core.ports.model import Model

LONGEST = 200_000
"""The most characters of an answer that are read."""
_ASIDE = (
    "\n\n(This is asked aside. Answer briefly from what you read above, without any call; neither the"
    " question nor your answer stays in the conversation.)"
)


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """The model's answer to a side question, and its usage."""

    text: str
    usage: Usage


def complete(messages: Sequence[Message]) -> list[Message]:
    """The messages up to the last answer whose calls all have their results."""
    whole = list(messages)
    while unanswered(whole):
        last = max(i for i, message in enumerate(whole) if isinstance(message, AssistantMessage))
        del whole[last:]
    return whole


async def ask_aside(
    engine: "TurnEngine", model: "Model | None", history: "History | None", question: str
) -> SideAnswer:
    """Ask it, also while a turn runs. Its cost counts in the conversation.

    The request begins as the conversation's own does, so that the provider's cache holds. Raises
    ``UsageError`` without a question, ``ConfigurationError`` without a model, ``ModelError``.
    """
    from sam_tui.core.agent.context_window import opening

    if not question.strip():
        raise UsageError("There is no question.", hint="Write it after the command.")
    if model is None:
        raise ConfigurationError("No model is chosen.", hint="Choose one with --model.")
    shield = engine.executor.shield
    shield.refresh()
    requests = opening(engine.requests, engine.executor.registry, engine.room.context(model))
    before = complete(history.messages) if history is not None else []
    request = requests.build([*before, UserMessage(shield.redact(question) + _ASIDE)])
    parts: list[str] = []
    usage, length = Usage(), 0
    async for delta in model.stream(request):
        if isinstance(delta, UsageDelta):
            usage = delta.usage
        elif isinstance(delta, TextDelta) and length < LONGEST:
            parts.append(delta.text)
            length += len(delta.text)
    usage = _priced(engine, model, usage)
    if history is not None:
        history.add_usage(usage)
    text = shield.redact("".join(parts)[:LONGEST]).strip()
    return SideAnswer(text or "The model sent no text: it may have tried to call a tool.", usage)


def _priced(engine: "TurnEngine", model: "Model", usage: Usage) -> Usage:
    recorder = engine.recorder
    return usage if recorder is None else priced(recorder.prices, model.name, usage)
