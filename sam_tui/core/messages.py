"""The messages of a conversation, and their JSON form.

A conversation is a list of messages. Every ``ToolCall`` in an ``AssistantMessage`` is answered by
exactly one ``ToolMessage`` before the next ``AssistantMessage`` or ``UserMessage``.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sam_tui.core.ids import CallId

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; ``arguments`` is raw text, possibly invalid JSON."""

    id: CallId
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message that the person typed."""

    text: str
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that models are shown; ``mime`` is its type, ``data`` its bytes as Base64."""

    name: str
    mime: str
    data: str


@dataclass(frozen=True, slots=True)
class ReminderMessage:
    """The text of a reminder; ``name`` is the injector's, ``text`` its unwrapped content.

    ``images`` are shown with it.
    """

    name: str
    text: str
    kind: Literal["reminder"] = "reminder"
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """An answer of the model. ``opaque`` is provider data that must be sent back unchanged."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    opaque: dict[str, Any] | None = None
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one call, as the model reads it.

    ``operation`` and ``summary`` describe the call to people; empty if unknown.
    """

    call_id: CallId
    name: str
    text: str
    ok: bool
    kind: Literal["tool"] = "tool"
    operation: str = ""
    summary: str = ""


Message = UserMessage | ReminderMessage | AssistantMessage | ToolMessage


@cache
def _adapter() -> "TypeAdapter[Message]":
    """Built on first use: only who reads a stored conversation needs pydantic."""
    from pydantic import Discriminator, TypeAdapter

    # Without it every message is tried as each kind: four times the work for a long conversation.
    return TypeAdapter(Annotated[Message, Discriminator("kind")])


def dump_message(message: Message) -> str:
    """A message as one JSON object, without spaces."""
    return json.dumps(_fields(message), ensure_ascii=False, separators=(",", ":"), default=_fields)


def _fields(value: "DataclassInstance") -> dict[str, object]:
    """A message or a call by its fields. ``asdict`` would copy all of an answer's opaque data."""
    named = {field.name: getattr(value, field.name) for field in fields(value)}
    return {key: field for key, field in named.items() if key != "images" or field}


def load_message(text: str) -> Message:
    """The inverse of ``dump_message``; raises ``ValueError`` on anything else."""
    return _adapter().validate_json(text)


def unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls that no result follows, in call order (after a crash, say)."""
    answered = {m.call_id for m in messages if isinstance(m, ToolMessage)}
    return [c for c in calls_of(messages) if c.id not in answered]


def calls_of(messages: Iterable[Message]) -> list[ToolCall]:
    """All calls in the messages, in order."""
    return [c for m in messages if isinstance(m, AssistantMessage) for c in m.calls]
