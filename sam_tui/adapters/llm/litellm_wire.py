"""What litellm's HTTP clients receive, counted and mended before litellm reads it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from sam_tui.adapters.llm import transport
from sam_tui.adapters.llm.intake import Intake, require_plain
from sam_tui.core.errors import ModelError
from sam_tui.core.ports.model import AnswerLimits

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
_current: ContextVar["LiteLLMWire | None"] = ContextVar("wire", default=None)
_DONE = b"data: [DONE]"
_TEXT = ("text/", "application/json", "application/x-ndjson")


class LiteLLMWire:
    """The response to one request of litellm's. ``error`` is why it was broken off here.

    ``done`` says whether the server ended its stream with ``[DONE]``, which litellm does not tell.
    """

    def __init__(self, limits: AnswerLimits, where: str) -> None:
        self._limits = limits
        self._where = where
        self.error: ModelError | None = None
        self.done = False

    async def during(self, work: Awaitable[T]) -> T:
        """Await a piece of litellm's work; responses that come meanwhile are looked through."""
        token = _current.set(self)
        try:
            return await work
        finally:
            _current.reset(token)

    async def pieces(
        self, stream: AsyncIterator[bytes], headers: "httpx.Headers"
    ) -> AsyncGenerator[bytes]:
        """The bytes of a response as litellm may read them; raises ``ModelError``."""
        try:
            require_plain(headers, self._where)
            kind = headers.get("content-type", "").lower()
            intake = Intake(self._limits, self._where, text=kind.startswith(_TEXT))
            async for data in stream:
                if lines := intake.take(data):
                    self._note(lines)
                    yield lines
            if remainder := intake.remainder():
                self._note(remainder)
                yield remainder
        except ModelError as error:
            self.error = error
            raise

    def _note(self, lines: bytes) -> None:
        self.done = self.done or lines.rstrip().endswith(_DONE)


def watch(litellm: Any) -> None:
    """Have every client that litellm makes from now on give its responses to the ``LiteLLMWire`` of their
    request. litellm has no setting for this that holds for all providers."""
    hooks = _hooks()
    handler = litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler
    openai = litellm.llms.openai.common_utils.BaseOpenAILLM
    handler.create_client = _watched(handler.create_client, hooks)
    openai._get_async_http_client = staticmethod(_watched(openai._get_async_http_client, hooks))


def _watched(make: Callable[..., Any], hooks: dict[str, list[Any]]) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        client = make(*args, **kwargs)
        client.event_hooks = {
            kind: [*client.event_hooks.get(kind, ()), *hooks[kind]] for kind in hooks
        }
        return client

    return made


def _hooks() -> dict[str, list[Any]]:
    httpx = transport.load()

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
        if _current.get() is not None:
            # Compressed event streams arrive in lumps, and a small one may hold any number of bytes.
            request.headers["accept-encoding"] = "identity"

    async def receive(response: "httpx.Response") -> None:
        wire = _current.get()
        if wire is not None:
            response.stream = Watched(wire, response)

    return {"request": [ask], "response": [receive]}
