"""A server that wants the model to answer it: a person allows each answer, and a budget holds them all.

The model gets the server's messages, nothing of the conversation, and no tools. Source: the Model
Context Protocol, "Sampling".
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sam_tui.core.accesses import LocatedAccess, Use
from sam_tui.core.agent.budget import Budgets
from sam_tui.core.agent.tokens import text_tokens
from sam_tui.core.authorization.guard import Guard, Request
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import AssistantMessage, Message, UserMessage
from sam_tui.core.ports.model import (
    AnswerLimits,
    Delta,
    Model,
    ModelRequest,
    TextDelta,
    TruncatedDelta,
    UsageDelta,
)
from sam_tui.core.usage import Price, Usage, priced
from sam_tui.core.verdict import Decision

CREATE_MESSAGE: Final = "mcp.create_message"
"""The operation of a sampling request. Rules can deny it; only the person can allow it."""
Charge = Callable[[ConversationId, Usage], None]
Record = Callable[[ConversationId, CallId, Decision, Sequence[LocatedAccess]], None]


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A text that a server asks the model for, of at most ``most`` tokens, up to the first of ``stops``."""

    server: str
    messages: Sequence[UserMessage | AssistantMessage]
    most: int
    system: str = ""
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sampling answer: its text, the model that gave it, and why the text ended."""

    text: str
    model: str
    ending: Literal["endTurn", "maxTokens", "stopSequence"]


class Sampler:
    """The answers that servers get of one runtime. ``tokens`` is what each server may have the model
    read and write in one conversation; ``charge`` counts it there as well. ``prices`` are the person's
    own."""

    def __init__(
        self,
        guard: Guard,
        budgets: Budgets,
        tokens: int,
        *,
        record: Record,
        charge: Charge,
        prices: Mapping[str, Price],
    ) -> None:
        self._guard = guard
        self._budgets = budgets
        self._tokens = tokens
        self._record = record
        self._charge = charge
        self._prices = prices
        self._used: Counter[tuple[ConversationId, str]] = Counter()

    async def answer(
        self, conversation: ConversationId, call: CallId, sampling: SamplingRequest
    ) -> Sampled:
        """Ask the person, then the model of the turn that called the server.

        Raises ``ToolError`` for a no, without a turn, and where a budget is used up; ``ModelError``.
        The server gets the texts of these errors, but neither the person's comment nor a rule's reason.
        """
        budget, model = self._budgets.get(conversation), self._budgets.model(conversation)
        if budget is None or model is None:
            raise ToolError("No turn of a model waits for this server.")
        size = sum(text_tokens(text) for _, text in _spoken(sampling)) + sampling.most
        left = self._tokens - self._used[conversation, sampling.server]
        if size > left or budget.spent:
            raise ToolError(
                f"{sampling.server} may use {max(0, left):,} more tokens of the model in this"
                f" conversation, and asks for {size:,}."
            )
        # Counted before the question: requests that wait side by side cannot use the same rest. A
        # refused request stays counted, so that a server cannot ask for ever.
        self._used[conversation, sampling.server] += size
        await self._allow(conversation, call, sampling, model)
        shield = self._guard.shield
        request = ModelRequest(
            shield.redact(sampling.system),
            "[]",
            tuple(_redacted(message, shield.redact) for message in sampling.messages),
            AnswerLimits(calls=1),
        )
        text, usage, ending = await _read(model.stream(request), sampling)
        self._used[conversation, sampling.server] += usage.input_tokens + usage.output_tokens - size
        usage = priced(self._prices, model.name, usage)
        budget.spend(usage)
        self._charge(conversation, usage)
        return Sampled(shield.redact(text), model.name, ending)

    async def _allow(
        self, conversation: ConversationId, call: CallId, sampling: SamplingRequest, model: Model
    ) -> None:
        access = LocatedAccess(Use(sampling.server, "sampling"), None)
        request = Request(
            conversation,
            call,
            CREATE_MESSAGE,
            f"have {model.name} answer the MCP server {sampling.server}, in at most"
            f" {sampling.most:,} tokens",
            (access,),
            lambda: (_preview(sampling),),
            once="this answer, which the server receives",
        )
        judged = self._guard.policy.judge(access, CREATE_MESSAGE)
        if judged.outcome == "deny":
            decision = request.decided("deny", judged.by, judged.rule, judged.reason)
        elif self._guard.policy.mode == "bypass":
            decision = request.decided("allow", "mode", "mode:bypass", "the mode allows everything")
        else:
            why = "you pay for what it reads and writes; it sees nothing of this conversation"
            decision = await self._guard.confirm(request, why, "sampling")
        self._record(conversation, call, decision, (access,))
        if not decision.allowed:
            raise ToolError("The answer was refused.")


async def _read(
    stream: AsyncIterator[Delta], sampling: SamplingRequest
) -> tuple[str, Usage, Literal["endTurn", "maxTokens", "stopSequence"]]:
    """The answer, no longer than was asked for: what would come after is not waited for."""
    text, usage = "", Usage()
    ending: Literal["endTurn", "maxTokens", "stopSequence"] = "endTurn"
    try:
        async for delta in stream:
            match delta:
                case UsageDelta(usage):
                    pass
                case TruncatedDelta():
                    ending = "maxTokens"
                case TextDelta(piece):
                    text += piece
                    ends = [at for stop in sampling.stops if (at := text.find(stop)) >= 0]
                    if ends:
                        text, ending = text[: min(ends)], "stopSequence"
                        break
                    if text_tokens(text) > sampling.most:
                        prefix = text.encode("utf-8", "replace")[: sampling.most * 4]
                        text, ending = prefix.decode("utf-8", "ignore"), "maxTokens"
                        break
                case _:
                    pass
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if not usage.output_tokens:  # cut off before the provider reported it
        read = sum(text_tokens(spoken) for _, spoken in _spoken(sampling))
        usage = Usage(input_tokens=read, output_tokens=text_tokens(text))
    return text, usage, ending


def _spoken(sampling: SamplingRequest) -> list[tuple[str, str]]:
    """The role and text of each message, in order, the system prompt first."""
    system = [("system", sampling.system)] if sampling.system else []
    return system + [(message.kind, message.text) for message in sampling.messages]


def _preview(sampling: SamplingRequest) -> Diff:
    """Return everything that the model will get, for the person who is asked."""
    lines = [
        line
        for role, text in _spoken(sampling)
        for line in (f"[{role}]", *(text.splitlines() or [""]))
    ]
    return Diff.of_text(f"the request of {sampling.server} to the model", "\n".join(lines))


def _redacted(message: UserMessage | AssistantMessage, redact: Callable[[str], str]) -> Message:
    text = redact(message.text)
    return UserMessage(text) if isinstance(message, UserMessage) else AssistantMessage(text)
