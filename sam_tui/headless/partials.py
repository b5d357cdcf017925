"""Pieces of an answer as Anthropic-style stream events: messages, blocks and deltas."""

from typing import Any, Literal

Block = Literal["text", "thinking"]
_DELTA: dict[Block, str] = {"text": "text_delta", "thinking": "thinking_delta"}


class Partials:
    """The message being streamed; each method gives the events that it causes."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._block: Block | None = None
        self._index = 0

    def begin(self) -> list[dict[str, Any]]:
        """A request left: a message begins, and whatever streamed before is void."""
        self._block, self._index = None, 0
        message: dict[str, Any] = {
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
        }
        return [{"type": "message_start", "message": message}]

    def piece(self, block: Block, text: str) -> list[dict[str, Any]]:
        """A piece of text or thinking arrived."""
        events: list[dict[str, Any]] = []
        if self._block != block:
            events += self._end_block()
            self._block = block
            start = {"type": block, block: ""}
            events.append({
                "type": "content_block_start",
                "index": self._index,
                "content_block": start,
            })
        delta = {"type": _DELTA[block], block: text}
        return [*events, {"type": "content_block_delta", "index": self._index, "delta": delta}]

    def end(self, stop_reason: str) -> list[dict[str, Any]]:
        """The message is whole."""
        return [
            *self._end_block(),
            {"type": "message_delta", "delta": {"stop_reason": stop_reason}},
            {"type": "message_stop"},
        ]

    def _end_block(self) -> list[dict[str, Any]]:
        if self._block is None:
            return []
        event = {"type": "content_block_stop", "index": self._index}
        self._block, self._index = None, self._index + 1
        return [event]
