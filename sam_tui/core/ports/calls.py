"""The log of model calls: request, answer, duration and cost of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message
from sam_tui.core.usage import SentPrefix, Usage

UsageKey = Literal["day", "model", "folder", "conversation", "turn", "tool", "todo"]


@dataclass(frozen=True, slots=True)
class RequestPoint:
    """The state of a conversation at a request: its last compaction and last message."""

    compaction: int
    position: int


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model. ``at`` in seconds since the epoch, ``seconds`` and ``first`` from then on.

    ``purpose`` is ``answer`` or ``notes``; ``tools`` are the operations that its answer called,
    ``fault`` is why it failed, ``todo`` is the item in progress when it began. ``number`` counts a
    conversation's calls from 1; the log gives it.
    """

    at: float
    model: str
    purpose: str
    usage: Usage
    seconds: float
    first: float
    prefix: SentPrefix
    tools: tuple[str, ...] = ()
    fault: str = ""
    number: int = 0
    todo: str = ""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A sent request, and the response as lines of milliseconds, kind and text."""

    system: str
    tools_json: str
    messages: Sequence[Message]
    stream: str


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage under one key. ``calls`` counts model calls; a tool gets its share of them."""

    key: str
    calls: float
    usage: Usage


class CallLog(Protocol):
    """The calls of every conversation. Raises ``errors.StorageError``."""

    def point(self, conversation: ConversationId) -> RequestPoint:
        """The present point of a conversation."""
        ...

    def record(
        self,
        conversation: ConversationId,
        point: RequestPoint,
        call: ModelCall,
        request: tuple[str, str],
        stream: str,
    ) -> int:
        """Keep a call; ``request`` is its system prompt and tools. Returns its number."""
        ...

    def calls(self, conversation: ConversationId) -> Sequence[ModelCall]:
        """The calls of a conversation, oldest first."""
        ...

    def request(self, conversation: ConversationId, number: int) -> SentRequest | None:
        """The request and answer of a call, or None if no call has this number."""
        ...

    def totals(
        self, by: UsageKey, *, since: float = 0.0, conversation: ConversationId | None = None
    ) -> Sequence[UsageRow]:
        """Return what was used since a time, by a key: days in order, all else the dearest first."""
        ...
