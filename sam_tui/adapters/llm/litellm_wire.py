"""Watches and repairs litellm's HTTP responses, and converts its chunks and usage to ours."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sam_tui import http_library
from sam_tui.adapters.llm.deltas import ThinkTags, plausible, read_finish
from sam_tui.adapters.llm.failures import ProviderRefusal, read_error, read_refusal
from sam_tui.adapters.llm.response_bytes import (
    BEGINNING,
    EventLines,
    Intake,
    may_begin_events,
    require_plain,
)
from sam_tui.adapters.llm.wire import OWNER
from sam_tui.core.errors import ModelCut, ModelError, ModelRejected
from sam_tui.core.ports.model import AnswerLimits, CallDelta, Delta, OpaqueDelta, ReasoningDelta
from sam_tui.core.text.nesting import json_object
from sam_tui.core.usage import Usage

if TYPE_CHECKING:
    import httpx


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
        out += self._think.feed(_text(delta))
        for piece in getattr(delta, "tool_calls", None) or ():
            out += self._call(piece)
        self.started = self.started or bool(out)
        return out

    def end(self, finish: str, where: str) -> list[Delta]:
        """The last deltas of an answer that ended for the reason ``finish``, and opaque data to send
        back. Raises ``ModelRejected`` if the answer was withheld."""
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


def _text(delta: object) -> str:
    """The text of a delta, or the refusal that is in its place."""
    return str(getattr(delta, "content", None) or getattr(delta, "refusal", None) or "")


def reported(stream: object) -> list[object]:
    """Return the usages that the provider sent; litellm would add its own counts and prices."""
    chunks = getattr(stream, "chunks", None) or ()
    return [u for chunk in chunks if (u := getattr(chunk, "usage", None)) is not None]


def read_native_usage(native: Any, cost: float | None) -> Usage:
    """litellm's usage as ours, at this price."""
    prompt = getattr(native, "prompt_tokens_details", None)
    completion = getattr(native, "completion_tokens_details", None)
    written = getattr(prompt, "cache_creation_tokens", None)
    usage = Usage(
        input_tokens=native.prompt_tokens or 0,
        cached_tokens=getattr(prompt, "cached_tokens", None) or 0,
        cache_write_tokens=written or getattr(native, "cache_creation_input_tokens", None) or 0,
        output_tokens=native.completion_tokens or 0,
        reasoning_tokens=getattr(completion, "reasoning_tokens", None) or 0,
        cost=cost,
    )
    return plausible(usage)


T = TypeVar("T")
_current: ContextVar["LiteLLMWire | None"] = ContextVar("wire", default=None)
_DONE = b"data: [DONE]"
_TEXT = ("text/", "application/json", "application/x-ndjson")
_LONGEST_REFUSAL = 64 * 1024
_AT_ONCE = 8 * 1024
"""The most bytes of whole lines that litellm gets before other tasks may run, because it parses slowly."""


class LiteLLMWire:
    """The response to one request of litellm's. ``error`` is why it was broken off here.

    ``done``: the server ended its stream with ``[DONE]``, which litellm does not report;
    ``fields_only``: the received part may be the beginning of an event stream; ``stop_reason``: how
    Anthropic's answer ended, "" if it did not say, None for every other protocol.
    """

    def __init__(self, limits: AnswerLimits, where: str) -> None:
        self._limits = limits
        self._where = where
        self._sent: set[tuple[str, str]] = set()
        self._refused: Callable[[bytes], ProviderRefusal] | None = None
        self._body = b""
        self.beginning = b""
        self._event_error: ProviderRefusal | None = None
        self.error: ModelError | None = None
        self.answered = False
        self.done = False
        self.fields_only = False
        self.stop_reason: str | None = None

    @property
    def unanswered(self) -> bool:
        """Whether a request was sent that got no response."""
        return bool(self._sent) and not self.answered

    @property
    def refusal(self) -> ProviderRefusal | None:
        """The provider's refusal, by its status or an event of its stream."""
        return self._refused(self._body) if self._refused is not None else self._event_error

    async def during(self, work: Awaitable[T]) -> T:
        """Await a piece of litellm's work; this object watches the responses that come meanwhile."""
        token = _current.set(self)
        try:
            return await work
        finally:
            _current.reset(token)

    def require_first(self, request: "httpx.Request") -> None:
        """Raise the first error if litellm sends a request again: only the core repeats requests."""
        key = (request.method, str(request.url))
        if key in self._sent:
            raise sys.exception() or http_library.load().ReadError("sent twice")
        self._sent.add(key)

    def require_here(self, response: "httpx.Response") -> None:
        """Raise ``ModelRejected`` for a redirect, which litellm's clients would follow with the request."""
        status, headers = response.status_code, response.headers
        self.answered = True
        if response.has_redirect_location:
            self.error = ModelRejected(
                f"{self._where} redirects elsewhere ({status}).",
                hint="Pass the final address with --api-base.",
            )
            raise self.error
        if not response.is_success:
            self._refused = lambda body: read_refusal(status, body, headers)

    async def pieces(
        self, stream: AsyncIterator[bytes], headers: "httpx.Headers"
    ) -> AsyncGenerator[bytes]:
        """The bytes of a response, repaired for litellm; raises ``ModelError``."""
        try:
            require_plain(headers, self._where)
            kind = headers.get("content-type", "").lower()
            intake = Intake(self._limits, self._where, text=kind.startswith(_TEXT))
            self.fields_only = kind.startswith("text/event-stream")
            if kind.startswith("application/json") and self._refused is None:
                body = [intake.take(data) async for data in stream]
                events = events_of_answer(b"".join((*body, intake.remainder())))
                self._note(events)
                yield events
                return
            events_only = EventLines(self._limits, self._where)
            async for data in stream:
                whole = intake.take(data)
                if self._refused is None and kind.startswith("text/"):
                    whole = events_only.take(whole)
                for lines in _portions(whole):
                    self._note(lines)
                    yield lines
                    await asyncio.sleep(0)
            if remainder := intake.remainder():
                self._note(remainder)
                yield remainder
        except ModelError as error:
            self.error = error
            raise

    def _note(self, lines: bytes) -> None:
        if self._refused is not None:
            self._body = (self._body + lines)[:_LONGEST_REFUSAL]
            return
        self.beginning = (self.beginning + lines[:BEGINNING])[:BEGINNING]
        self.done = self.done or lines.rstrip().endswith(_DONE)
        self.fields_only = self.fields_only and may_begin_events(lines)
        if self.fields_only and any(map(_broken, lines.splitlines())):
            raise ModelCut(
                f"{self._where} sent something in the middle of the answer that does not "
                "belong to it."
            )
        for event in _notable(lines):
            if event.get("type") == "message_delta":
                self.stop_reason = _stop_reason(event.get("delta"))
            elif event.get("error") or event.get("type") == "error":
                self._event_error = read_error(event)


def events_of_answer(body: bytes) -> bytes:
    """Return events for litellm, made of a whole chat completion by a server that does not stream.

    Anything else stays as it is.
    """
    try:
        answer: Any = json.loads(body)
        choices = [dict(choice) for choice in answer["choices"]]
        for choice in choices:
            message: Any = choice.pop("message")
            pieces: Any = enumerate(message.get("tool_calls") or ())
            calls = [{"index": number, **call} for number, call in pieces]
            choice["delta"] = {**message, **({"tool_calls": calls} if calls else {})}
        chunk = json.dumps({**answer, "choices": choices, "object": "chat.completion.chunk"})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return body
    return f"data: {chunk}\n\ndata: [DONE]\n\n".encode()


def _broken(line: bytes) -> bool:
    """Whether a line is the cut beginning of an event, which litellm would skip silently."""
    begins = line.startswith(b"data:") and line[5:].lstrip().startswith(b"{")
    return begins and not line.rstrip().endswith(b"}")


def _stop_reason(delta: object) -> str:
    if not isinstance(delta, dict):
        return ""
    return str(cast("Mapping[str, object]", delta).get("stop_reason") or "")


def _portions(lines: bytes) -> Iterator[bytes]:
    """Split bytes into portions that each end with a whole line."""
    start = 0
    while start < len(lines):
        end = lines.rfind(b"\n", start, start + _AT_ONCE) + 1
        if end <= start:
            end = lines.find(b"\n", start) + 1 or len(lines)
        yield lines[start:end]
        start = end


def _notable(lines: bytes) -> Iterator[Mapping[str, object]]:
    """The server-sent events among these lines that end an answer or report an error."""
    if b'"error"' not in lines and b'"message_delta"' not in lines:
        return
    for line in lines.splitlines():
        if line.startswith(b"data:") and (b'"error"' in line or b'"message_delta"' in line):
            event = json_object(line[5:])
            if event is not None:
                yield event


def watch(litellm: Any) -> None:
    """Have every client that litellm makes from now on give its responses to the ``LiteLLMWire`` of their
    request. litellm has no setting for this that holds for all providers."""
    hooks = _hooks()
    handler = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler
    openai = litellm.llms.openai.common_utils.BaseOpenAILLM
    handler.create_client = _watched(handler.create_client, hooks)
    openai._get_async_http_client = staticmethod(_watched(openai._get_async_http_client, hooks))


def _watched(make: Callable[..., Any], hooks: dict[str, list[Any]]) -> Callable[..., Any]:
    def watched(*args: Any, **kwargs: Any) -> Any:
        client = make(*args, **kwargs)
        client.event_hooks = {
            kind: [*client.event_hooks.get(kind, ()), *hooks[kind]] for kind in hooks
        }
        return client

    return watched


def _hooks() -> dict[str, list[object]]:
    httpx = http_library.load()

    class Watched(httpx.AsyncByteStream):
        """A response's stream, read through a ``LiteLLMWire``."""

        def __init__(self, wire: LiteLLMWire, response: "httpx.Response") -> None:
            self._stream: Any = response.stream
            self._pieces = wire.pieces(self._stream, response.headers)

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._pieces

        async def aclose(self) -> None:
            await self._pieces.aclose()
            await self._stream.aclose()

    async def ask(request: "httpx.Request") -> None:
        wire = _current.get()
        if wire is not None:
            wire.require_first(request)
            # Compressed event streams arrive in lumps, and a small one may hold any number of bytes.
            request.headers["accept-encoding"] = "identity"

    async def receive(response: "httpx.Response") -> None:
        wire = _current.get()
        if wire is not None:
            wire.require_here(response)
            response.stream = Watched(wire, response)

    return {"request": [ask], "response": [receive]}
