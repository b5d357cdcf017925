"""Models through litellm, which knows every provider; no other module imports it."""

import asyncio
import gc
import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sam_tui import http_library
from sam_tui.adapters.llm.endpoint import host_of, is_loopback, timeouts
from sam_tui.adapters.llm.failures import FailureSource, failure, no_answer
from sam_tui.adapters.llm.litellm_failures import LiteLLMFailures
from sam_tui.adapters.llm.litellm_wire import (
    LiteLLMWire,
    StreamedAnswer,
    read_native_usage,
    reported,
    watch,
)
from sam_tui.adapters.llm.providers import wants_strict
from sam_tui.adapters.llm.wire import Dialect, chat_messages, dump
from sam_tui.core.errors import ModelCut, ModelError, ModelNotFound, ModelRejected
from sam_tui.core.ports.model import Delta, ModelRequest, UsageDelta
from sam_tui.core.usage import Usage


def cost_of(litellm: Any, model: str, native: Any) -> float | None:
    """US dollars for a usage in litellm's own form."""
    try:
        parts = litellm.cost_per_token(model=model, usage_object=native)
    except (*_unknown(litellm), ValueError, KeyError, TypeError):
        return None
    return float(sum(parts))


def context_of(litellm: Any, model: str) -> int | None:
    """Tokens that a request may hold."""
    try:
        return litellm.get_model_info(model).get("max_input_tokens")
    except (*_unknown(litellm), ValueError, KeyError):
        return None


def _unknown(litellm: Any) -> tuple[type[Exception], ...]:
    return (litellm.exceptions.ModelNotMappedError, litellm.exceptions.BadRequestError)


_loading = threading.Lock()
_ready: list[Any] = []
"""Holds litellm once it is imported and silenced: the process has one such module."""

_ENVIRONMENT = {
    # No network access for price lists, beta headers and tokenizers.
    "LITELLM_OFFLINE_MODE": "True",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # Otherwise litellm loads a .env file it finds above itself: the workspace's, in a local venv.
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_SUPPRESS_STARTUP_OUTPUT": "True",
}
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def load() -> Any:
    """litellm, imported offline and silent. Takes seconds the first time; safe from any thread.

    Raises ``ModelRejected`` when it cannot be imported.
    """
    with _loading:
        if _ready:
            return _ready[0]
        os.environ.update(_ENVIRONMENT)
        enabled = gc.isenabled()
        # The collector's pauses over a growing heap are what would stall the UI, not the import.
        gc.disable()
        try:
            http_library.load()
            import litellm
        except ImportError as error:
            raise ModelRejected(
                "litellm is not installed.", hint="Use --provider direct."
            ) from error
        finally:
            if enabled:
                gc.enable()
        gc.freeze()
        _configure(litellm)
        _ready.append(litellm)
        return litellm


def _configure(litellm: Any) -> None:
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    # Its aiohttp sessions are not closed when a stream is cancelled.
    litellm.disable_aiohttp_transport = True
    # It breaks off an answer that has the same piece 100 times, as long tables do.
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    watch(litellm)
    # It uses pydantic in ways that pydantic warns about, in the middle of a stream, on stderr.
    for module in ("litellm", "pydantic"):
        warnings.filterwarnings("ignore", module=module)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.addHandler(logging.NullHandler())
        logger.propagate = False


def warm() -> threading.Thread:
    """Load litellm, and make its first call, on a daemon thread; for after the first frame."""
    thread = threading.Thread(target=_warm, name="warm-litellm", daemon=True)
    thread.start()
    return thread


def _warm() -> None:
    try:
        litellm = load()
    except ModelError:
        return  # The first request will say so.
    question = [{"role": "user", "content": "x"}]
    # The first call fills caches for 140 ms; a mock answer does it without a network.
    asyncio.run(litellm.acompletion(model="gpt-4o", messages=question, mock_response="x"))


def known_context(model: str) -> int | None:
    """The context of a model in tokens by litellm's list; None if it is not loaded or lacks the model."""
    return context_of(_ready[0], model) if _ready else None


def known_sight(model: str) -> bool | None:
    """Whether a model takes images by litellm's list; None if it is not loaded or does not say."""
    if not _ready:
        return None
    try:
        return _ready[0].get_model_info(model).get("supports_vision")
    except (*_unknown(_ready[0]), ValueError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class LiteLLMOptions:
    """Options of calls. ``timeout`` is in seconds between bytes.

    ``priced``: whether list prices hold at ``api_base``. ``sight``: whether the model takes images, if
    litellm does not say. ``extra`` goes to litellm unchanged.
    """

    api_base: str = ""
    api_key: str = field(default="", repr=False)
    key_variable: str = ""
    timeout: float = 300.0
    connect_timeout: float = 10.0
    priced: bool = True
    sight: Callable[[], bool | None] = lambda: None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


class LiteLLMModel:
    """Any litellm model string as a ``Model``."""

    def __init__(self, model: str, options: LiteLLMOptions | None = None) -> None:
        self._model = model
        self._options = options or LiteLLMOptions()
        self._tools: tuple[str, list[object]] = ("[]", [])

    @property
    def name(self) -> str:
        """The name in the status bar."""
        return self._model

    @property
    def host(self) -> str:
        """Host and port of the address, else the provider."""
        return self._source.where

    @property
    def context_tokens(self) -> int | None:
        """The context by litellm's table, once litellm is loaded."""
        return known_context(self._model)

    @property
    def sees_images(self) -> bool | None:
        """Whether it takes images, where that is known."""
        sight = known_sight(self._model)
        return self._options.sight() if sight is None else sight

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The answer as it comes; raises ``ModelError`` only. Never tries again."""
        litellm = _ready[0] if _ready else await asyncio.to_thread(load)
        answer = StreamedAnswer(self._provider(litellm))
        wire = LiteLLMWire(request.limits, self._source.where)
        stream: Any = None
        try:
            asked = litellm.acompletion(**self._arguments(litellm, request))
            stream = await asyncio.wait_for(wire.during(asked), self._patience)
            while (chunk := await wire.during(anext(stream, None))) is not None:
                for delta in answer.read(chunk):
                    yield delta
                _forget(stream)
        except Exception as error:  # litellm raises exceptions of any class, its own bugs included
            failed = wire.error or self._failures.error_of(
                litellm, error, wire, started=answer.started
            )
            raise failed from error
        finally:
            if stream is not None and hasattr(stream, "aclose"):
                await stream.aclose()
        assert stream is not None
        sent = reported(stream)
        finish = str(stream.received_finish_reason or "")
        finish = finish if wire.stop_reason is None else wire.stop_reason
        self._require_whole(finish, wire, started=answer.started or bool(sent))
        for delta in answer.end(finish, self._source.where):
            yield delta
        if answer.usage is not None and sent:
            yield UsageDelta(self._priced(litellm, answer.usage, sent))

    async def close(self) -> None:
        """Do nothing: litellm keeps its connections for the process."""

    def _require_whole(self, finish: str, wire: LiteLLMWire, *, started: bool) -> None:
        """Raise if the stream was cut or was no answer: litellm treats both as finished answers."""
        if finish or wire.done:
            return
        where = self._source.where
        if wire.refusal is not None:
            raise failure(wire.refusal, self._source, started=started)
        if not (started or wire.fields_only):
            raise no_answer(wire.beginning, self._source)
        raise ModelCut(f"{where} ended the stream before the answer was complete.")

    @property
    def _patience(self) -> float:
        """Seconds for a response to begin; the time before its status line counts as silence."""
        return self._options.connect_timeout + self._options.timeout

    @property
    def _failures(self) -> LiteLLMFailures:
        return LiteLLMFailures(self._model, self._source, self._options.timeout)

    @property
    def _source(self) -> FailureSource:
        options, base = self._options, self._options.api_base
        where = host_of(base) if base else self._model.partition("/")[0]
        local = bool(base) and is_loopback(base)
        return FailureSource(self._model, where, options.api_key, options.key_variable, local)

    def _provider(self, litellm: Any) -> str:
        try:
            return str(litellm.get_llm_provider(self._model)[1])
        except litellm.exceptions.BadRequestError as error:
            raise ModelNotFound(
                f"No provider is known for the model {self._model!r}.",
                hint="Write provider/model, such as anthropic/claude-sonnet-4-5, or pass "
                "--api-base.",
            ) from error

    def _arguments(self, litellm: Any, request: ModelRequest) -> dict[str, Any]:
        options = self._options
        provider = self._provider(litellm)
        dialect = Dialect(
            owner=f"litellm:{provider}",
            strict=provider == "mistral" or wants_strict(self._model),
            echo_reasoning=provider in ("deepseek", "moonshot"),
            images=lambda: self.sees_images is not False,
        )
        arguments: dict[str, Any] = {
            **options.extra,
            "model": self._model,
            # Through JSON: no lone surrogates, and nothing of ours that litellm could change.
            "messages": json.loads(dump(chat_messages(request.system, request.messages, dialect))),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": timeouts(options.timeout, options.connect_timeout),
            "num_retries": 0,
            "max_retries": 0,
            # Fields a provider does not know are left out instead of refused.
            "drop_params": True,
        }
        if tools := self._tool_list(request.tools_json):
            arguments["tools"] = tools
        if options.api_base:
            arguments["api_base"] = options.api_base
        if options.api_key:
            arguments["api_key"] = options.api_key
        if provider == "anthropic" or "claude" in self._model.lower():
            arguments["cache_control_injection_points"] = [
                {"location": "message", "role": "system"},
                {"location": "message", "index": -1},
            ]
        return arguments

    def _tool_list(self, tools_json: str) -> list[object]:
        if self._tools[0] != tools_json:
            self._tools = (tools_json, json.loads(tools_json or "[]"))
        return self._tools[1]

    def _priced(self, litellm: object, native: object, reported: Sequence[object]) -> Usage:
        costs = [c for u in reported if isinstance(c := getattr(u, "cost", None), int | float)]
        if costs:
            return read_native_usage(native, float(costs[-1]))
        return read_native_usage(
            native, cost_of(litellm, self._model, native) if self._options.priced else None
        )


def _forget(stream: Any) -> None:
    """Drop litellm's copy of an answer for its log: every piece as an object, and all its text, copied
    with each piece. Usage stays, because litellm reports it at the end."""
    if stream.chunks and getattr(stream.chunks[-1], "usage", None) is None:
        del stream.chunks[-1]
    stream.response_uptil_now = ""
