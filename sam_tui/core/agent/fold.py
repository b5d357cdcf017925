"""Stream pieces -> one assistant message in which every call has a fresh, safe id."""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from sam_tui.core.agent.textcalls import read_text_calls
from sam_tui.core.events import ReasoningStreamed, TextStreamed
from sam_tui.core.ids import CallId, mint
from sam_tui.core.messages import AssistantMessage, ToolCall
from sam_tui.core.ports.model import (
    CallDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    TruncatedDelta,
    UsageDelta,
)
from sam_tui.core.tooling.neutral import EchoFilter, scrub_echoes
from sam_tui.core.usage import Usage

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(slots=True)
class _OpenCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])


class StreamedText:
    """What of one answer people see while it streams: as ``Fold`` keeps it, without echoes."""

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
    """Collects one answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _OpenCall] = {}
        self._opaque: dict[str, Any] = {}
        self.usage = Usage()
        self.truncated = False
        """Whether the model's limit of length was reached."""

    def add(self, delta: Delta) -> None:
        """Take one piece."""
        match delta:
            case TextDelta(text):
                self._text.append(text)
            case ReasoningDelta(text):
                self._reasoning.append(text)
            case CallDelta():
                call = self._calls.setdefault(delta.index, _OpenCall())
                call.id = call.id or delta.id
                call.name = call.name or delta.name
                call.arguments.append(delta.arguments)
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
            calls.append(ToolCall(identifier, call.name, "".join(call.arguments)))
        reasoning = scrub_echoes("".join(self._reasoning))
        return AssistantMessage(text, reasoning, tuple(calls), self._opaque or None)

    def _whole_calls(self) -> list[tuple[int, _OpenCall]]:
        """The calls in order. Of a truncated answer the last may be half of one."""
        calls = sorted(self._calls.items())
        if self.truncated and calls and not _is_object("".join(calls[-1][1].arguments)):
            calls.pop()
        return calls


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
