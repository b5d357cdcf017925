"""Converts chat completion chunks to deltas, and tolerates omissions and repetitions of servers."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sam_tui.adapters.llm.wire import OWNER
from sam_tui.core.errors import ModelRejected
from sam_tui.core.ids import mint
from sam_tui.core.ports.model import (
    CallDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    TruncatedDelta,
)
from sam_tui.core.text.nesting import Nesting, mapping_of
from sam_tui.core.usage import Usage

_OPEN, _CLOSE = "<think>", "</think>"
_TRUNCATED = frozenset({
    *("length", "max_tokens", "max_output_tokens", "model_length"),
    "model_context_window_exceeded",
})
"""Finish reasons of an answer that was cut off."""
_WITHHELD = frozenset({"content_filter", "safety", "refusal"})


class ThinkTags:
    """Separates ``<think>`` reasoning at the very start of the content from the answer after it."""

    def __init__(self) -> None:
        self._state = "start"
        self._held = ""

    def feed(self, text: str) -> list[Delta]:
        """Return the deltas for a piece of content; a possible half of a tag is held back."""
        if self._state == "text":
            return [TextDelta(text)] if text else []
        self._held += text
        if self._state == "start":
            seen = self._held.lstrip()
            if len(seen) < len(_OPEN) and _OPEN.startswith(seen):
                return []
            if not seen.startswith(_OPEN):
                return self._release()
            self._state, self._held = "thinking", seen[len(_OPEN) :]
        if self._state == "thinking":
            return self._think()
        return self._after()

    def end(self) -> list[Delta]:
        """The rest of the content at its end."""
        buffered, self._held = self._held, ""
        if not buffered:
            return []
        return [ReasoningDelta(buffered) if self._state == "thinking" else TextDelta(buffered)]

    def _think(self) -> list[Delta]:
        thought, closed, remainder = self._held.partition(_CLOSE)
        if closed:
            self._state, self._held = "after", remainder
            return [*([ReasoningDelta(thought)] if thought else []), *self._after()]
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:n])), 0)
        self._held = thought[len(thought) - keep :]
        thought = thought[: len(thought) - keep]
        return [ReasoningDelta(thought)] if thought else []

    def _after(self) -> list[Delta]:
        self._held = self._held.lstrip()
        return self._release() if self._held else []

    def _release(self) -> list[Delta]:
        buffered, self._held, self._state = self._held, "", "text"
        return [TextDelta(buffered)] if buffered else []


@dataclass(slots=True)
class _OpenCall:
    """An open call: its place in the message, its id and index at the server, its text's length."""

    index: int
    wire_id: str
    nesting: Nesting = field(default_factory=Nesting)

    @property
    def complete(self) -> bool:
        return self.nesting.closed


class CallPieces:
    """Assigns pieces to calls, even if the server sends odd indexes and ids.

    A piece begins a new call if its index is new; if it has no index, but a new id or a name after a
    complete call; or if its index comes again with another id and a name. Missing and repeated ids are
    replaced by new ones.
    """

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []
        self._by_wire_index: dict[int, _OpenCall] = {}
        self._by_wire_id: dict[str, _OpenCall] = {}
        self._ids: set[str] = set()

    def feed(self, piece: Mapping[str, Any]) -> CallDelta | None:
        """The delta for one entry of ``delta.tool_calls``; None if the entry is empty."""
        function = mapping_of(piece.get("function"))
        name, wire_id = _text(function.get("name")), _text(piece.get("id"))
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else _dumped(arguments)
        index = piece.get("index")
        index = index if isinstance(index, int) else None
        call = self._under_way(index, wire_id, name)
        if call is not None:
            if not text:
                return None
            call.nesting.feed(text)
            return CallDelta(call.index, "", "", text)
        if not (name or wire_id or text):
            return None
        call = self._begin(index, wire_id)
        call.nesting.feed(text)
        identifier = wire_id if wire_id and wire_id not in self._ids else mint("call")
        self._ids.add(identifier)
        return CallDelta(call.index, identifier, name, text)

    def _begin(self, wire_index: int | None, wire_id: str) -> _OpenCall:
        """A new call, stored by the server's index and id."""
        call = _OpenCall(len(self._calls), wire_id)
        self._calls.append(call)
        self._by_wire_id.setdefault(wire_id, call)
        if wire_index is not None:
            self._by_wire_index[wire_index] = call
        return call

    def _under_way(self, index: int | None, wire_id: str, name: str) -> _OpenCall | None:
        if index is None:
            return self._without_index(wire_id, name)
        call = self._by_wire_index.get(index)
        if call is None or not name:
            return call
        if wire_id and call.wire_id:
            return call if wire_id == call.wire_id else None
        return None if call.complete else call

    def _without_index(self, wire_id: str, name: str) -> _OpenCall | None:
        if wire_id:
            call = self._by_wire_id.get(wire_id)
            # The id of a complete call on another whole call is a repeated id, not a continuation.
            return None if call and name and call.complete else call
        last = self._calls[-1] if self._calls else None
        return None if last is None or (name and last.complete) else last


class ChunkReader:
    """Reads the chunks of one answer.

    ``finish`` is the finish reason once one came; ``usage`` the raw usage object; ``produced``
    whether anything of the answer was seen.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._think = ThinkTags()
        self._calls = CallPieces()
        self._details: list[dict[str, Any]] = []
        self.finish = ""
        self.usage: Mapping[str, Any] = {}
        self.produced = False

    def read(self, chunk: Mapping[str, Any]) -> list[Delta]:
        """The deltas of one chunk (or of a whole, unstreamed completion)."""
        choices = chunk.get("choices")
        listed = cast("list[Any]", choices) if isinstance(choices, list) else []
        choice = mapping_of(listed[0] if listed else None)
        usage = mapping_of(chunk.get("usage")) or mapping_of(choice.get("usage"))
        if usage:
            self.usage = usage
        delta = mapping_of(choice.get("delta")) or mapping_of(choice.get("message"))
        out = self._content(delta) if delta else []
        if out:
            self.produced = True
        finish = choice.get("finish_reason")
        if finish:
            self.finish = str(finish)
        return out

    def end(self) -> list[Delta]:
        """The last deltas of a complete answer."""
        out = self._think.end()
        if self._details:
            out.append(OpaqueDelta({OWNER: self._owner, "reasoning_details": self._details}))
        return out

    def _content(self, delta: Mapping[str, Any]) -> list[Delta]:
        out: list[Delta] = []
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            out.append(ReasoningDelta(thought))
        content = delta.get("content") or delta.get("refusal")
        if isinstance(content, str):
            out += self._think.feed(content)
        elif isinstance(content, list):
            out += _parts(cast("list[Any]", content))
        pieces = map(self._calls.feed, _mappings(delta.get("tool_calls")))
        out += [piece for piece in pieces if piece is not None]
        for detail in _mappings(delta.get("reasoning_details")):
            self._keep(detail)
        return out

    def _keep(self, detail: Mapping[str, Any]) -> None:
        """Join OpenRouter's reasoning details: pieces of one block share type and index."""
        last = self._details[-1] if self._details else None
        keys = ("type", "index")
        if last is None or any(last.get(k) != detail.get(k) for k in keys):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            grows = key in ("text", "summary", "data") and isinstance(last.get(key), str)
            last[key] = last[key] + value if grows and isinstance(value, str) else value


def read_finish(reason: str, where: str, *, started: bool) -> list[Delta]:
    """The deltas of a finish reason. Raises ``ModelRejected`` if the answer was withheld."""
    if reason.lower() in _WITHHELD:
        what = "the rest of the answer" if started else "the answer"
        raise ModelRejected(f"{where} withheld {what} because of its content filter.")
    return [TruncatedDelta()] if reason.lower() in _TRUNCATED else []


_MOST_TOKENS, _MOST_DOLLARS = 10**12, 10**6
"""More tokens and dollars than one answer can use; larger values of a provider are ignored."""


def plausible(usage: Usage) -> Usage:
    """The usage, without the numbers that no answer can have."""
    return Usage(
        _count(usage.input_tokens),
        _count(usage.cached_tokens),
        _count(usage.cache_write_tokens),
        _count(usage.output_tokens),
        _count(usage.reasoning_tokens),
        _dollars(usage.cost),
    )


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """Usage in the forms of OpenAI, DeepSeek and OpenRouter; the cost only if the server reports it."""
    prompt = mapping_of(raw.get("prompt_tokens_details"))
    completion = mapping_of(raw.get("completion_tokens_details"))
    cached = prompt.get("cached_tokens") or raw.get("prompt_cache_hit_tokens")
    written = prompt.get("cache_write_tokens") or prompt.get("cache_creation_tokens")
    return Usage(
        input_tokens=_count(raw.get("prompt_tokens")),
        cached_tokens=_count(cached),
        cache_write_tokens=_count(written or raw.get("cache_creation_input_tokens")),
        output_tokens=_count(raw.get("completion_tokens")),
        reasoning_tokens=_count(completion.get("reasoning_tokens")),
        cost=_dollars(raw.get("cost")),
    )


def _parts(content: list[Any]) -> list[Delta]:
    """Content as a list of typed parts (Mistral's reasoning models)."""
    out: list[Delta] = []
    for item in content:
        part = mapping_of(item)
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            texts = cast("list[Any]", inner) if isinstance(inner, list) else [{"text": inner}]
            thought = "".join(_text(mapping_of(t).get("text")) for t in texts)
            out += [ReasoningDelta(thought)] if thought else []
        elif text := _text(part.get("text")):
            out.append(TextDelta(text))
    return out


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    return map(mapping_of, cast("list[Any]", value) if isinstance(value, list) else ())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dumped(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value <= _MOST_TOKENS else 0


def _dollars(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MOST_DOLLARS else None
