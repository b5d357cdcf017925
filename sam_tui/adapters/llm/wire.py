"""Converts core messages to OpenAI chat messages, in request bodies that only grow at their end."""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, assert_never

from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.model import ModelRequest

OWNER = "provider"
"""The key of ``AssistantMessage.opaque`` that names the provider of the data; no other gets them."""

_BRIDGE = "Understood."
_REMEMBERED = 8
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_NAME_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences of an endpoint.

    ``owner``: whose opaque data is sent back. ``strict``: a user message must not follow a user or a
    tool message, and call ids are nine letters or digits (Mistral, and chat templates made after it).
    ``echo_reasoning``: reasoning is sent back with the answer (DeepSeek and Moonshot refuse tool results
    otherwise). ``stream_options``: whether the field is known (Mistral refuses it). ``images``: whether
    the model takes any; the words of their reminder are sent in any case.
    """

    owner: str = ""
    strict: bool = False
    echo_reasoning: bool = False
    stream_options: bool = True
    images: Callable[[], bool] = lambda: True


def chat_messages(
    system: str, messages: Iterable[Message], dialect: Dialect
) -> list[dict[str, Any]]:
    """The whole conversation as OpenAI chat messages, the system prompt first."""
    out = [_system(system)] if system else []
    for message in messages:
        entry = _entry(message, dialect)
        last = out[-1] if out else None
        if dialect.strict and last is not None and entry["role"] == "user":
            if last["role"] == "user":
                last["content"] = _joined(last["content"], entry["content"])
                continue
            if last["role"] == "tool":
                out.append({"role": "assistant", "content": _BRIDGE})
        out.append(entry)
    return out


def dump(value: object) -> bytes:
    """Compact JSON in UTF-8; lone surrogates become question marks."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


@dataclass(slots=True)
class _Transcript:
    """The bytes of a conversation's last request, without the closing brackets."""

    buffer: bytearray
    head: int
    sent: list[Message] = field(default_factory=list[Message])
    ends: list[int] = field(default_factory=list[int])

    def update(self, messages: Sequence[Message], dialect: Dialect) -> None:
        """Reuse the bytes of messages that are the same objects, and append the new ones."""
        same = 0
        for old, new in zip(self.sent, messages, strict=False):
            if old is not new:
                break
            same += 1
        if same < len(self.sent):
            del self.sent[same:], self.ends[same:]
            del self.buffer[self.ends[-1] if same else self.head :]
        for message in messages[same:]:
            if not self.buffer.endswith(b"["):
                self.buffer += b","
            self.buffer += dump(_entry(message, dialect))
            self.sent.append(message)
            self.ends.append(len(self.buffer))


class RequestWriter:
    """Writes request bodies for one endpoint.

    ``messages`` is the last field, so a request without its closing ``]}`` is a prefix of the next
    one of the conversation, as ``ModelRequest.messages`` only grows. A message is serialised once:
    the bytes of the last few conversations are kept, and compared by message identity.
    """

    def __init__(self, model: str, dialect: Dialect, options: Mapping[str, Any]) -> None:
        self._dialect = dialect
        self._start = self._opening(model, dialect, options)
        self._kept: OrderedDict[tuple[str, str, int], _Transcript] = OrderedDict()

    @staticmethod
    def _opening(model: str, dialect: Dialect, options: Mapping[str, Any]) -> bytes:
        fields: dict[str, Any] = {"model": model, "stream": True}
        if dialect.stream_options:
            fields["stream_options"] = {"include_usage": True}
        extra = {k: v for k, v in options.items() if k not in ("model", "stream", "messages")}
        return dump({**fields, **extra})[:-1]

    def body(self, request: ModelRequest) -> bytes:
        """Return the request as JSON bytes; ``tools_json`` is spliced in unchanged."""
        if self._dialect.strict:
            # Neighbours merge here, so bytes cannot be kept by message.
            chat = chat_messages(request.system, request.messages, self._dialect)
            return self._head(request.tools_json) + dump(chat) + b"}"
        transcript = self._transcript(request)
        transcript.update(request.messages, self._dialect)
        return b"".join((transcript.buffer, b"]}"))

    def _head(self, tools_json: str) -> bytes:
        tools = b"" if tools_json.strip() in ("", "[]") else b',"tools":' + tools_json.encode()
        return self._start + tools + b',"messages":'

    def _transcript(self, request: ModelRequest) -> _Transcript:
        first = id(request.messages[0]) if request.messages else 0
        key = (request.system, request.tools_json, first)
        transcript = self._kept.get(key)
        if transcript is None:
            buffer = bytearray(self._head(request.tools_json) + b"[")
            if request.system:
                buffer += dump(_system(request.system))
            transcript = self._kept[key] = _Transcript(buffer, len(buffer))
        self._kept.move_to_end(key)
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)
        return transcript


def _system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _entry(message: Message, dialect: Dialect) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": message.text}
        case ReminderMessage():
            text = f"<system-reminder>\n{message.text}\n</system-reminder>"
            if not message.images or not dialect.images():
                return {"role": "user", "content": text}
            parts = [{"type": "image_url", "image_url": {"url": f"data:{image.mime};base64,{image.data}"}}
                     for image in message.images]  # fmt: skip
            return {"role": "user", "content": [{"type": "text", "text": text}, *parts]}
        case ToolMessage():
            call = _call_id(message.call_id, dialect)
            return {"role": "tool", "tool_call_id": call, "content": message.text}
        case AssistantMessage():
            return _assistant(message, dialect)
        case _:
            assert_never(message)


Content = str | Sequence[Mapping[str, object]]


def _joined(first: Content, second: Content) -> Content:
    """The contents of two messages as one."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts: list[Mapping[str, object]] = []
    for content in (first, second):
        parts += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return parts


def _assistant(message: AssistantMessage, dialect: Dialect) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.calls:
        entry["content"] = message.text or None
        entry["tool_calls"] = [_call(call, dialect) for call in message.calls]
    if dialect.echo_reasoning and (message.reasoning or message.calls):
        entry["reasoning_content"] = message.reasoning
    return entry | _opaque(message, dialect.owner)


def _opaque(message: AssistantMessage, owner: str) -> dict[str, Any]:
    """A provider's own opaque data, unchanged; never another provider's."""
    opaque = message.opaque or {}
    if not owner or opaque.get(OWNER) != owner:
        return {}
    return {key: value for key, value in opaque.items() if key != OWNER}


def _call(call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    # Providers refuse a whole history because of one name or argument text that they would not write.
    name = _NAME_UNSAFE.sub("_", call.name)[:64] or "unknown"
    arguments = call.arguments if is_object(call.arguments) else "{}"
    function = {"name": name, "arguments": arguments}
    return {"id": _call_id(call.id, dialect), "type": "function", "function": function}


def _call_id(call: str, dialect: Dialect) -> str:
    if not dialect.strict or _SHORT_ID.fullmatch(call):
        return call
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:9]


def is_object(text: str) -> bool:
    """Whether a text is one JSON object by the standard (no NaN)."""
    try:
        return isinstance(json.loads(text, parse_constant=_no_constant), dict)
    except (ValueError, RecursionError):
        return False


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
