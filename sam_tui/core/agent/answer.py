"""Stream pieces -> one assistant message within its limits, in which every call has a fresh, safe id."""

import json
import re
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

from sam_tui.core.errors import AnswerTooLarge
from sam_tui.core.events import ReasoningStreamed, TextStreamed
from sam_tui.core.ids import CallId, mint
from sam_tui.core.messages import AssistantMessage, ToolCall
from sam_tui.core.ports.model import (
    AnswerLimits,
    CallDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    TruncatedDelta,
    UsageDelta,
)
from sam_tui.core.text.nesting import Nesting, json_object
from sam_tui.core.tooling.neutralization import EchoFilter, scrub_echoes
from sam_tui.core.usage import Usage


class DeltaSink(Protocol):
    """Receives the pieces of an answer."""

    def add(self, delta: Delta) -> None:
        """A piece came."""
        ...


async def receive(stream: AsyncIterator[Delta], sinks: Collection[DeltaSink]) -> None:
    """Pass every piece of the stream to each sink as it arrives, and close the stream at the end or on an
    error."""
    try:
        async for delta in stream:
            for sink in sinks:
                sink.add(delta)
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


@dataclass(slots=True)
class _Arguments:
    size: int = 0
    nesting: Nesting = field(default_factory=Nesting)


class Meter:
    """Counts one answer. Every method raises ``AnswerTooLarge``."""

    def __init__(self, limits: AnswerLimits) -> None:
        self._limits = limits
        self._size = 0
        self._calls: dict[int, _Arguments] = {}

    def add(self, delta: Delta) -> None:
        """Count a piece, before anything is made of it."""
        match delta:
            case TextDelta(text) | ReasoningDelta(text):
                self._add(_size(text))
            case CallDelta():
                self._add_call(delta)
            case _:
                pass

    def check(self, message: AssistantMessage) -> None:
        """Look at a whole answer: it may have calls that came as text."""
        self._check_calls(len(message.calls))

    def _add(self, size: int) -> None:
        self._size += size
        if self._size > self._limits.size:
            what = f"The model answered with more than {self._limits.size:,} bytes."
            raise AnswerTooLarge(what, setting="answer_bytes")

    def _add_call(self, delta: CallDelta) -> None:
        size = _size(delta.arguments)
        self._add(size + _size(delta.name) + _size(delta.id))
        call = self._calls.setdefault(delta.index, _Arguments())
        self._check_calls(len(self._calls))
        limits = self._limits
        call.size += size
        if call.size > limits.arguments:
            what = f"The model sent a call with more than {limits.arguments:,} bytes of arguments."
            raise AnswerTooLarge(what, setting="argument_bytes")
        call.nesting.feed(delta.arguments)
        if call.nesting.deepest > limits.depth:
            what = f"The model nested the arguments of a call more than {limits.depth} deep."
            raise AnswerTooLarge(what, setting="argument_depth")

    def _check_calls(self, count: int) -> None:
        if count > self._limits.calls:
            what = f"The model sent more than {self._limits.calls} calls in one message."
            raise AnswerTooLarge(what, setting="answer_calls")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FENCE = re.compile(r"```(?:json)?\s*\n(?=\{)")


@dataclass(frozen=True, slots=True)
class TextCalls:
    """Calls that a model wrote as text: (name, arguments as JSON) in order, and the text without them."""

    calls: tuple[tuple[str, str], ...]
    text: str


def read_text_calls(text: str, is_tool: Callable[[str], bool]) -> TextCalls:
    """The calls of an answer that has none of the provider's own; the text stays where there are none."""
    if _OPEN in text:
        bodies, left = _tagged(text)
        calls = tuple(filter(None, (_call(body, is_tool) for body in bodies)))
        return TextCalls(calls, left.strip() if calls else text)
    ended = text.rstrip()
    fenced = _FENCE.search(ended) if ended.endswith("}\n```") else None
    body = ended[fenced.end() : -3].strip() if fenced else ended.lstrip()
    if not body.startswith("{"):
        return TextCalls((), text)
    call = _call(body, is_tool)
    if call is None:
        return TextCalls((), text)
    return TextCalls((call,), text[: fenced.start()].strip() if fenced else "")


_FOREIGN = re.compile(
    r"<tool_call>|<function=|<function_calls>|<invoke name=|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|<｜tool▁calls?▁begin｜>|^(?:FUNCTION|Calling tool:) "
)
"""The beginnings of calls that models write as text, in the formats of other programs."""
_ENDS = (">", "}", "]", ")")
_NAMES = re.compile(r"[\w.]+")
_NAME_WITHIN = 200


def writes_call(text: str, is_tool: Callable[[str], bool]) -> bool:
    """Whether an answer ends with a call written as text in a foreign form, which nothing runs."""
    ended = text.rstrip()
    start = _FOREIGN.search(ended) if ended.endswith(_ENDS) else None
    if start is None:
        return False
    words = _NAMES.findall(ended, start.end(), start.end() + _NAME_WITHIN)
    return any(word not in ("name", "function") and is_tool(word) for word in words)


def _tagged(text: str) -> tuple[list[str], str]:
    """The objects between tags as texts, and the text around them."""
    bodies: list[str] = []
    left: list[str] = []
    done, start = 0, text.find(_OPEN)
    while start >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        body = text[start + len(_OPEN) : end].strip()
        if body.startswith("{") and body.endswith("}"):
            bodies.append(body)
            left.append(text[done:start])
            done = end + len(_CLOSE)
        start = text.find(_OPEN, end)
    return bodies, "".join([*left, text[done:]])


def _call(body: str, is_tool: Callable[[str], bool]) -> tuple[str, str] | None:
    fields = json_object(body) or {}
    name = fields.get("name")
    arguments = fields.get("arguments", fields.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict) or not is_tool(name):
        return None
    return name, json.dumps(arguments, ensure_ascii=False)


_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(slots=True)
class _OpenCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])

    def add(self, delta: CallDelta) -> None:
        """Take one piece: the first id and the first name count, arguments follow each other."""
        self.id = self.id or delta.id
        self.name = self.name or delta.name
        self.arguments.append(delta.arguments)


class StreamedText:
    """The text and reasoning of one answer as people see it while it streams: what ``Fold`` keeps, without
    echoes."""

    def __init__(
        self, publish: Callable[[type[TextStreamed | ReasoningStreamed], str], None]
    ) -> None:
        self._tell = publish
        self._text = EchoFilter()
        self._reasoning = EchoFilter()

    def add(self, delta: Delta) -> None:
        """Show a piece, or what of it is certain to be no echo."""
        match delta:
            case TextDelta(text):
                self._say(ReasoningStreamed, self._reasoning.remainder())
                self._say(TextStreamed, self._text(text))
            case ReasoningDelta(text):
                self._say(ReasoningStreamed, self._reasoning(text))
            case CallDelta():
                self._tell(TextStreamed, "")  # nothing to show, but the model is not silent
            case _:
                pass

    def end(self) -> None:
        """The answer is whole."""
        self._say(ReasoningStreamed, self._reasoning.remainder())
        self._say(TextStreamed, self._text.remainder())

    def _say(self, kind: type[TextStreamed | ReasoningStreamed], text: str) -> None:
        if text:
            self._tell(kind, text)


class Fold:
    """Builds one assistant message from the pieces of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _OpenCall] = {}
        self._opaque: dict[str, object] = {}
        self.usage = Usage()
        self.truncated = False
        """Whether the model's limit of length was reached."""

    def add(self, delta: Delta) -> None:
        """Add one piece of the stream to the message."""
        match delta:
            case TextDelta(text):
                self._text.append(text)
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case CallDelta():
                self._calls.setdefault(delta.index, _OpenCall()).add(delta)
            case OpaqueDelta(data):
                self._opaque.update(data)
            case UsageDelta(usage):
                self.usage = usage
            case TruncatedDelta():
                self.truncated = True

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    def message(
        self, used_ids: Collection[CallId], is_tool: Callable[[str], bool] = lambda _: False
    ) -> AssistantMessage:
        """The whole answer. Ids that are missing, unsafe or ``used_ids`` are replaced; a last call that
        was truncated is left out.

        An answer without calls may hold some as text; ``is_tool`` says which tool names exist.
        """
        used: set[CallId] = set()
        text = scrub_echoes(self.text)
        if not self._calls:
            text_calls = read_text_calls(text, is_tool)
            text = text_calls.text
            for index, (name, arguments) in enumerate(text_calls.calls):
                self._calls[index] = _OpenCall("", name, [arguments])
        calls: list[ToolCall] = []
        for _, call in self._whole_calls():
            identifier = CallId(call.id)
            if not _SAFE_ID.fullmatch(call.id) or identifier in used_ids or identifier in used:
                identifier = CallId(mint("call"))
            used.add(identifier)
            calls.append(ToolCall(identifier, call.name, _as_object("".join(call.arguments))))
        reasoning = scrub_echoes("".join(self._reasoning))
        return AssistantMessage(text, reasoning, tuple(calls), self._opaque or None)

    def _whole_calls(self) -> list[tuple[int, _OpenCall]]:
        """The calls in order. Of a truncated answer the last may be half of one."""
        calls = sorted(self._calls.items())
        if self.truncated and calls and not _is_object("".join(calls[-1][1].arguments)):
            calls.pop()
        return calls


def _is_object(text: str) -> bool:
    return json_object(text) is not None


def _as_object(text: str) -> str:
    """Arguments as one JSON object where models send it as a JSON text, or with line ends in its texts."""
    if not text or _is_object(text):
        return text
    try:
        value = json.loads(text, strict=False)
        if isinstance(value, str):
            value = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text
