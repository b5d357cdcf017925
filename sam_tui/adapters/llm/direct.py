"""Models with the OpenAI chat completions API, reached without a library in between."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sam_tui import __version__, http_library
from sam_tui.adapters.llm import response_bytes
from sam_tui.adapters.llm.deltas import ChunkReader, read_finish, read_usage
from sam_tui.adapters.llm.endpoint import Endpoint, client_for
from sam_tui.adapters.llm.failures import failure, no_answer, read_error, read_refusal, unreachable
from sam_tui.adapters.llm.wire import RequestWriter
from sam_tui.core.errors import ModelCut, ModelError, ModelRejected, ModelUnavailable
from sam_tui.core.ports.model import AnswerLimits, Delta, ModelRequest, UsageDelta
from sam_tui.core.text.nesting import json_object
from sam_tui.core.usage import Price

if TYPE_CHECKING:
    import httpx

_BODY_LIMIT = 1024 * 1024
_PATIENCE = 5.0
"""Seconds to wait for the usage and ``[DONE]`` once the finish reason came."""
_LINGER = 0.25
"""Seconds to wait for the end of a response after ``[DONE]``, so that its connection is kept."""


class DirectModel:
    """An OpenAI-compatible endpoint as a ``Model``.

    ``pace`` sets the rate of reads, ``sight`` returns whether the model takes images, ``price`` its price;
    both return None if unknown. ``price`` may read a large file: it runs in a thread.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        pace: Callable[[], response_bytes.ReadPace] = response_bytes.ReadPace,
        *,
        sight: Callable[[], bool | None] = lambda: None,
        price: Callable[[], Price | None] = lambda: None,
    ) -> None:
        self.endpoint = endpoint
        self._pace = pace
        self._sight = sight
        self._price = price
        dialect = replace(endpoint.dialect, images=lambda: sight() is not False)
        self._writer = RequestWriter(endpoint.model, dialect, endpoint.options)
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        """The name in the status bar."""
        return self.endpoint.name

    @property
    def host(self) -> str:
        """Host and port of the endpoint."""
        return self.endpoint.source.where

    @property
    def context_tokens(self) -> int | None:
        """None: such endpoints report their limit only when a request exceeds it."""
        return None

    @property
    def sees_images(self) -> bool | None:
        """Whether it takes images, where that is known."""
        return self._sight()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The answer as it comes; raises ``ModelError`` only. Never tries again."""
        httpx = http_library.load()
        answer = _Answer(self.endpoint, request.limits)
        try:
            async with self._answering(request) as response:
                await answer.accept(response)
                pieces = response.aiter_bytes()
                with response_bytes.paced(response, self._pace()):
                    async for data in pieces:
                        for delta in answer.feed(data):
                            yield delta
                        if answer.complete:
                            break
                for delta in await _tail(pieces, answer):
                    yield delta
        except httpx.HTTPError as error:
            # A fault after the answer was complete does not make it incomplete.
            if not answer.complete:
                raise self._broken(error, started=answer.started) from error
        for delta in answer.end():
            yield await self._with_cost(delta) if isinstance(delta, UsageDelta) else delta

    async def _with_cost(self, delta: UsageDelta) -> UsageDelta:
        """The usage with its cost, where the server reported none and public prices apply to it."""
        usage = delta.usage
        if usage.cost is not None or not self.endpoint.priced:
            return delta
        price = await asyncio.to_thread(self._price)
        return delta if price is None else UsageDelta(replace(usage, cost=price.of(usage)))

    async def close(self) -> None:
        """Release connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _answering(self, request: ModelRequest) -> AsyncGenerator["httpx.Response"]:
        """The response, once it has begun; the time before its status line counts as silence."""
        patience = self.endpoint.connect_timeout + self.endpoint.timeout
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(patience):
                    response = await stack.enter_async_context(self._open(request))
            except TimeoutError:
                raise http_library.load().ReadTimeout("no status line") from None
            yield response

    def _open(self, request: ModelRequest) -> Any:
        if self._client is None:
            self._client = client_for(self.endpoint)
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            # Compressed event streams arrive in lumps.
            "accept-encoding": "identity",
            "user-agent": f"sam-tui/{__version__}",
        }
        if self.endpoint.key:
            headers["authorization"] = f"Bearer {self.endpoint.key}"
        body = self._writer.body(request)
        return self._client.stream("POST", self.endpoint.url, content=body, headers=headers)

    def _broken(self, error: Exception, *, started: bool) -> ModelError:
        """The error for a connection that failed."""
        httpx = http_library.load()
        where, timeout = self.endpoint.source.where, self.endpoint.timeout
        if isinstance(error, httpx.ConnectTimeout):
            seconds = self.endpoint.connect_timeout
            return ModelUnavailable(f"No connection to {where} within {seconds:g} s.", hint=_CHECK)
        if isinstance(error, httpx.ConnectError):
            return unreachable(error, self.endpoint.source)
        if isinstance(error, httpx.TimeoutException):
            kind = ModelCut if started else ModelUnavailable
            return kind(
                f"{where} was silent for {timeout:g} s.",
                hint="Allow more time with --request-timeout.",
            )
        if started:
            return ModelCut(f"The connection to {where} broke in the middle of the answer.")
        if isinstance(error, httpx.TransportError) and not isinstance(
            error, httpx.UnsupportedProtocol | httpx.LocalProtocolError
        ):
            return ModelUnavailable(f"{where} closed the connection without an answer.")
        return ModelRejected(f"The request to {where} could not be made.", hint=_CHECK)


_CHECK = "Check the address and the network."


class _Answer:
    """One HTTP response while it is read: turns bytes into deltas, and checks that it ends properly."""

    def __init__(self, endpoint: Endpoint, limits: AnswerLimits) -> None:
        self._endpoint = endpoint
        self._reader = ChunkReader(endpoint.dialect.owner)
        self._intake = response_bytes.Intake(limits, endpoint.source.where)
        self._lines = response_bytes.EventLines(limits, endpoint.source.where)
        self._parser = response_bytes.EventParser()
        self._plain = False
        self._fields_only = False
        self._ending = False
        self._body: list[bytes] = []
        self._start = b""
        self._events = 0
        self.done = False

    @property
    def started(self) -> bool:
        """Whether part of the answer came."""
        return self._reader.produced

    @property
    def complete(self) -> bool:
        """Whether the provider said that the answer is whole."""
        return self.done or bool(self._reader.finish)

    @property
    def _broken_off(self) -> bool:
        """Whether the received part is only the beginning of an answer."""
        return self._fields_only or bool(self._events and (self.started or not self._plain))

    async def accept(self, response: "httpx.Response") -> None:
        """Check status and type; raises for anything but a stream or a JSON answer."""
        response_bytes.require_plain(response.headers, self._endpoint.source.where)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200 or kind in ("text/html", "application/xhtml+xml"):
            body = await _bounded(response)
            refusal = read_refusal(response.status_code, body, response.headers)
            if response.status_code == 200:
                hint = "Check --api-base: most addresses end in /v1."
                where = self._endpoint.source.where
                raise ModelRejected(f"{where} answered with a web page, not a model.", hint=hint)
            raise failure(refusal, self._endpoint.source)
        self._plain = kind == "application/json"
        self._fields_only = kind == "text/event-stream"

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas in the lines that ``data`` completes."""
        if len(self._start) < response_bytes.BEGINNING:
            self._start += data[: response_bytes.BEGINNING]
        lines = self._intake.take(data)
        if self._plain:
            self._body.append(lines)
            return []
        self._note_beginning(lines)
        return self._events_of(self._parser.feed(self._lines.take(lines)))

    def _note_beginning(self, lines: bytes) -> None:
        if not self._events:
            self._fields_only = self._fields_only and response_bytes.may_begin_events(lines)

    def _events_of(self, events: Sequence[bytes]) -> list[Delta]:
        return [delta for event in events for delta in self._event(event)]

    def end(self) -> list[Delta]:
        """The last deltas; ModelCut or ModelRejected when the answer was not whole."""
        out: list[Delta] = []
        if not self.done:
            remainder = self._intake.remainder()
            if self._plain:
                out += self._event(b"".join((*self._body, remainder)))
            else:
                self._ending = True
                self._note_beginning(remainder)
                out += self._events_of([*self._parser.feed(remainder), *self._parser.close()])
        where = self._endpoint.source.where
        if not self.complete:
            if self._broken_off:
                raise self._cut()
            raise no_answer(self._start, self._endpoint.source, _CHECK)
        out += self._reader.end()
        if not self._reader.finish and not self.started and not out:
            raise ModelCut(f"{where} ended the stream without an answer.")
        out += read_finish(self._reader.finish, where, started=self.started)
        if self._reader.usage:
            out.append(UsageDelta(read_usage(self._reader.usage)))
        return out

    def _event(self, data: bytes) -> list[Delta]:
        if self.done or not data.strip():
            return []
        if data.strip() == b"[DONE]":
            self.done = True
            return []
        chunk = json_object(data)
        if chunk is None:
            return self._garbled()
        if chunk.get("error") or self._parser.failed:
            raise failure(read_error(chunk), self._endpoint.source, started=self.started)
        self._events += 1
        out = self._reader.read(chunk)
        if self._reader.finish == "error":
            raise failure(read_error(chunk), self._endpoint.source, started=self.started)
        return out

    def _cut(self) -> ModelCut:
        where = self._endpoint.source.where
        return ModelCut(f"{where} ended the stream before the answer was complete.")

    def _garbled(self) -> list[Delta]:
        where = self._endpoint.source.where
        if self._ending and self._fields_only:
            raise self._cut()
        if self._plain or not self._events:
            raise ModelRejected(f"{where} did not answer as a model does.", hint=_CHECK)
        raise ModelCut(f"{where} sent something in the middle of the answer that is not JSON.")


async def _tail(pieces: AsyncIterator[bytes], answer: _Answer) -> list[Delta]:
    """The deltas after the finish reason; reads to the end, so that the connection can be used again.

    Bytes behind ``[DONE]`` belong to no answer, and do not prolong the wait.
    """
    out: list[Delta] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(None if answer.done else _PATIENCE):
            while not answer.done:
                data = await anext(pieces, None)
                if data is None:
                    return out
                out += answer.feed(data)
        async with asyncio.timeout(_LINGER):
            async for _ in pieces:
                pass
    return out


async def _bounded(response: "httpx.Response") -> bytes:
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > _BODY_LIMIT:
            break
    return bytes(body)
