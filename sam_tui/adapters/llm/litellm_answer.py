"""litellm's chunks as deltas, and its usage as ours."""

from typing import Any, cast

from sam_tui.adapters.llm.deltas import ThinkTags, read_finish
from sam_tui.adapters.llm.wire import OWNER
from sam_tui.core.ports.model import CallDelta, Delta, OpaqueDelta, ReasoningDelta
from sam_tui.core.usage import Usage


class StreamedAnswer:
    """litellm's chunks as deltas."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._blocks: list[dict[str, Any]] = []
        self._think = ThinkTags()
        self.usage: Any = None
        self.started = False

    def read(self, chunk: Any) -> list[Delta]:
        """The deltas of one chunk; the usage chunk has no choices."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self.usage = usage
        choices: Any = getattr(chunk, "choices", None)
        if not choices:
            return []
        delta = choices[0].delta
        out: list[Delta] = []
        if thought := getattr(delta, "reasoning_content", None):
            out.append(ReasoningDelta(str(thought)))
        for block in getattr(delta, "thinking_blocks", None) or ():
            self._keep(block)
        if text := getattr(delta, "content", None):
            out += self._think.feed(str(text))
        for piece in getattr(delta, "tool_calls", None) or ():
            out += self._call(piece)
        self.started = self.started or bool(out)
        return out

    def end(self, finish: str, where: str) -> list[Delta]:
        """What is left to say once the answer ended for the reason ``finish``, and what must be sent
        back with it. Raises ``ModelRejected`` where the answer was withheld."""
        out = [*self._think.end(), *read_finish(finish, where, started=self.started)]
        if self._blocks:
            data = {OWNER: f"litellm:{self._provider}", "thinking_blocks": self._blocks}
            out.append(OpaqueDelta(data))
        return out

    def _call(self, piece: Any) -> list[Delta]:
        index = int(piece.index)
        function = piece.function
        return [CallDelta(index, piece.id or "", function.name or "", function.arguments or "")]

    def _keep(self, block: Any) -> None:
        """Join the pieces of a thinking block: text first, then its signature."""
        new = cast("dict[str, Any]", block if isinstance(block, dict) else block.model_dump())
        last = self._blocks[-1] if self._blocks else None
        if last is None or last.get("type") != "thinking" or last.get("signature"):
            self._blocks.append(dict(new))
            return
        if new.get("type") != "thinking":
            self._blocks.append(dict(new))
            return
        last["thinking"] = (last.get("thinking") or "") + (new.get("thinking") or "")
        if new.get("signature"):
            last["signature"] = new["signature"]


def reported(stream: Any) -> list[Any]:
    """The usages that the provider sent. litellm's own end in a count and a price of its making."""
    chunks = getattr(stream, "chunks", None) or ()
    return [u for chunk in chunks if (u := getattr(chunk, "usage", None)) is not None]


def read_native_usage(native: Any, cost: float | None) -> Usage:
    """litellm's usage as ours, at this price."""
    prompt = getattr(native, "prompt_tokens_details", None)
    completion = getattr(native, "completion_tokens_details", None)
    written = getattr(prompt, "cache_creation_tokens", None)
    return Usage(
        input_tokens=native.prompt_tokens or 0,
        cached_tokens=getattr(prompt, "cached_tokens", None) or 0,
        cache_write_tokens=written or getattr(native, "cache_creation_input_tokens", None) or 0,
        output_tokens=native.completion_tokens or 0,
        reasoning_tokens=getattr(completion, "reasoning_tokens", None) or 0,
        cost=cost,
    )
