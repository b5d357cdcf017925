"""Records each model call, and compares its request with the previous one."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

from sam_tui.core.clock import Clock
from sam_tui.core.errors import ModelError
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage, Message, ReminderMessage, ToolMessage
from sam_tui.core.ports.calls import CallLog, ModelCall, RequestPoint
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
from sam_tui.core.prompt.tally import SUMMARY
from sam_tui.core.usage import Price, SentPrefix, Usage, priced

MOST_STREAM = 256 * 1024
"""The most characters of a stream that are stored."""
_PURPOSE_ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class _Sent:
    """The parts of a conversation's last request."""

    model: str
    system: str
    tools_json: str
    messages: list[Message]
    ends: list[int]
    """For each message, the bytes of all messages up to its end."""


class CallRecorder:
    """Writes to the log; ``prices`` are the person's own, by the name of the model. ``todo`` names the
    item that a conversation works on."""

    def __init__(
        self,
        log: CallLog,
        clock: Clock,
        prices: Mapping[str, Price],
        clean: Callable[[str], str] = lambda text: text,
        todo: Callable[[ConversationId], str] = lambda _: "",
    ) -> None:
        self.log = log
        self.clock = clock
        self.clean = clean
        self.prices = prices
        self.todo = todo
        self._sent: dict[ConversationId, _Sent] = {}

    def begin(
        self, conversation: ConversationId, model: Model, request: ModelRequest
    ) -> "CallRecording":
        """A request of the conversation is about to leave."""
        return CallRecording(self, conversation, model, request)

    def prefix(self, conversation: ConversationId, model: str, request: ModelRequest) -> SentPrefix:
        """Return how many bytes of a request were also in the previous one, and remember this request."""
        before = self._sent.get(conversation)
        same = _same(before.messages, request.messages) if before else 0
        # The lists are those of the request before: most grow by two messages, and are long.
        messages, ends = (
            (before.messages, before.ends) if before else (list[Message](), list[int]())
        )
        sent = len(messages)
        del messages[same:], ends[same:]
        for message in request.messages[same:]:
            messages.append(message)
            ends.append((ends[-1] if ends else 0) + _size(message))
        self._sent[conversation] = _Sent(model, request.system, request.tools_json, messages, ends)
        head = len(request.system.encode("utf-8", "replace")) + len(request.tools_json)
        size = head + (ends[-1] if ends else 0)
        if before is None:
            return SentPrefix(size)
        if before.model != model:
            return SentPrefix(size, 0, f"model: {before.model} became {model}")
        if before.system != request.system:
            return SentPrefix(size, 0, "system prompt")
        if before.tools_json != request.tools_json:
            return SentPrefix(
                size, 0, f"tools: {_other_tool(before.tools_json, request.tools_json)}"
            )
        unchanged = head + (ends[same - 1] if same else 0)
        if same == sent:
            return SentPrefix(size, unchanged)
        return SentPrefix(size, unchanged, _block(request.messages, same))


class CallRecording:
    """The record of one model call while it runs. Used once."""

    def __init__(
        self,
        recorder: CallRecorder,
        conversation: ConversationId,
        model: Model,
        request: ModelRequest,
    ) -> None:
        self._recorder = recorder
        self._conversation = conversation
        self._model = model
        self._request = request
        self._point: RequestPoint = recorder.log.point(conversation)
        self._todo = recorder.clean(recorder.todo(conversation))
        self._at = recorder.clock.now()
        self._start = recorder.clock.monotonic()
        self._first = 0.0
        self._lines: list[str] = []
        self._length = 0
        self.prefix = recorder.prefix(conversation, model.name, request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Yield the pieces that the model streams and record them; a call that fails is recorded, too."""
        stream = self._model.stream(request)
        try:
            async for delta in stream:
                self._add(delta)
                yield delta
        except ModelError as error:
            self._record(Usage(), (), self._recorder.clean(str(error)))
            raise
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _add(self, delta: Delta) -> None:
        seconds = self._recorder.clock.monotonic() - self._start
        self._first = self._first or seconds
        if self._length < MOST_STREAM:
            line = f"{seconds * 1000:.0f} {_words(delta)}"
            self._lines.append(line)
            self._length += len(line)

    def end(self, usage: Usage, message: AssistantMessage) -> Usage:
        """It ended well: keep it. Returns the usage with its cost, where the person knows the price."""
        usage = priced(self._recorder.prices, self._model.name, usage)
        self._record(usage, tuple(call.name for call in message.calls), "")
        return usage

    def _record(self, usage: Usage, tools: tuple[str, ...], fault: str) -> None:
        seconds = self._recorder.clock.monotonic() - self._start
        call = ModelCall(
            self._at, self._model.name, _PURPOSE_ANSWER, usage, seconds, self._first, self.prefix,
            tools, fault, todo=self._todo,
        )  # fmt: skip
        head = (self._request.system, self._request.tools_json)
        self._recorder.log.record(
            self._conversation, self._point, call, head, "\n".join(self._lines)
        )


def _words(delta: Delta) -> str:
    match delta:
        case TextDelta(text=text):
            return f"text {json.dumps(text, ensure_ascii=False)}"
        case ReasoningDelta(text=text):
            return f"reasoning {json.dumps(text, ensure_ascii=False)}"
        case CallDelta():
            words = [delta.index, delta.id, delta.name, delta.arguments]
            return f"call {json.dumps(words, ensure_ascii=False)}"
        case UsageDelta(usage=usage):
            return f"usage {usage}"
        case OpaqueDelta(data=data):
            return f"provider data {', '.join(data)}"
        case TruncatedDelta():
            return "truncated"


def _same(before: Sequence[Message], now: Sequence[Message]) -> int:
    """The number of equal messages at the beginning."""
    if list(now[: len(before)]) == before:
        return len(before)
    for index, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new and old != new:
            return index
    return min(len(before), len(now))


def _size(message: Message) -> int:
    """Bytes of a message's texts."""
    texts = [message.text]
    if isinstance(message, AssistantMessage):
        texts += [f"{call.name}{call.arguments}" for call in message.calls]
    return sum(
        len(text) if text.isascii() else len(text.encode("utf-8", "replace")) for text in texts
    )


def _other_tool(before: str, now: str) -> str:
    """The name of the first tool that differs."""
    old, new = (_tools(text) for text in (before, now))
    for (name, schema), (other, changed) in zip(old, new, strict=False):
        if name != other:
            return f"{other} came before {name}"
        if schema != changed:
            return f"{name} changed"
    longer = new if len(new) > len(old) else old
    name = longer[min(len(old), len(new))][0] if len(old) != len(new) else ""
    return f"{name} {'came' if longer is new else 'went'}" if name else "their order"


def _tools(text: str) -> list[tuple[str, object]]:
    try:
        return [(str(tool["function"]["name"]), tool) for tool in json.loads(text or "[]")]
    except (ValueError, KeyError, TypeError):
        return []


def _block(messages: Sequence[Message], index: int) -> str:
    """A message named for people: its number and kind."""
    if index >= len(messages):
        return "the conversation was cut"
    message = messages[index]
    match message:
        case ReminderMessage(name=name):
            return "compaction" if name == SUMMARY else f"message {index + 1}: reminder {name}"
        case ToolMessage(name=name):
            return f"message {index + 1}: result of {message.operation or name}"
        case _:
            return f"message {index + 1}: {message.kind}"
