"""Converts litellm's exceptions to our errors, judged by the provider's response if there is one."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from sam_tui import http_library
from sam_tui.adapters.llm.failures import (
    FailureSource,
    ProviderRefusal,
    causes_of,
    failure,
    read_error,
    retry_after,
    unreachable,
)
from sam_tui.adapters.llm.litellm_wire import LiteLLMWire
from sam_tui.core.errors import ModelCut, ModelError, ModelRejected, ModelUnavailable

_INTERNAL = re.compile(r"Traceback \(most recent|Error parsing chunk")
"""Messages of litellm about a response that it failed to parse."""
_AFTERWORD = re.compile(r"\.? Handle with `litellm\.\w+`\.?$")
_PREAMBLE = re.compile(
    r"^(?:(?:litellm\.)?(?:\w+Error|Timeout|Timeout Error): |\w+(?:Exception|Error) - )+"
)


@dataclass(frozen=True, slots=True)
class LiteLLMFailures:
    """The failures of one model. ``timeout`` is the silence that ends a request, in seconds."""

    model: str
    source: FailureSource
    timeout: float

    def error_of(
        self, litellm: Any, error: Exception, wire: LiteLLMWire, *, started: bool
    ) -> ModelError:
        """The ``ModelError`` for an exception of litellm.

        It is chosen by the response, because litellm's own class, status and words are not reliable.
        """
        if isinstance(error, ModelError):
            return error
        names = litellm.exceptions
        message, source = _said(error), self.source
        refusal = wire.refusal
        if isinstance(error, names.ContextWindowExceededError):
            return failure(ProviderRefusal(400, message, "context_length_exceeded"), source)
        if refusal is not None:
            return failure(refusal, source, started=started)
        if isinstance(error, TimeoutError) or _timed_out(litellm, error):
            kind = ModelCut if started else ModelUnavailable
            text = f"{source.where} was silent for {self.timeout:g} s."
            return kind(text, hint="Allow more time with --request-timeout.")
        if isinstance(error, names.MidStreamFallbackError):
            return self._broken_off(error, message)
        if wire.unanswered:
            return self._unanswered(error)
        return self._by_litellm(litellm, error, message, started=started)

    def _broken_off(self, error: Exception, message: str) -> ModelCut:
        """The error for an answer that stopped in the middle."""
        where = self.source.where
        if _INTERNAL.search(message):
            return ModelCut(
                f"{where} sent something in the middle of the answer that does not belong to it."
            )
        if _network_error(error):
            return ModelCut(f"The connection to {where} broke in the middle of the answer.")
        return ModelCut(f"{where} broke off the answer: {self.source.clean(message)}")

    def _unanswered(self, error: Exception) -> ModelError:
        """The error for a request without a response."""
        httpx = http_library.load()
        if any(
            isinstance(c, httpx.RemoteProtocolError | httpx.ReadError) for c in causes_of(error)
        ):
            where = self.source.where
            return ModelUnavailable(f"{where} closed the connection without an answer.")
        return unreachable(error, self.source)

    def _by_litellm(
        self, litellm: Any, error: Exception, message: str, *, started: bool
    ) -> ModelError:
        """The error for an exception without a request over a watched client."""
        source, status = self.source, getattr(error, "status_code", None)
        connection = isinstance(error, litellm.exceptions.APIConnectionError)
        if connection or message == "Connection error.":
            return unreachable(error, source)
        if isinstance(status, int):
            refusal = ProviderRefusal(status, message, _code(error), retry_after(_headers(error)))
            return failure(refusal, source, started=started)
        if isinstance(error, OSError | http_library.load().HTTPError):
            refusal = ProviderRefusal(None, message or type(error).__name__)
            return failure(refusal, source, started=started)
        explanation = source.clean(f"{type(error).__name__}: {message}")
        return ModelRejected(f"litellm failed on {self.model}: {explanation}")


def _timed_out(litellm: Any, error: Exception) -> bool:
    timeouts = (litellm.exceptions.Timeout, http_library.load().TimeoutException)
    return any(isinstance(c, timeouts) and not _headers(c) for c in causes_of(error))


def _network_error(error: Exception) -> bool:
    return any(isinstance(c, OSError | http_library.load().HTTPError) for c in causes_of(error))


def _said(error: Exception) -> str:
    """The provider's words without the class names and quotes that litellm puts around them."""
    text = _PREAMBLE.sub("", str(error)).partition(" Original exception: ")[0]
    text = _AFTERWORD.sub("", text)
    try:
        inner: object = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return text
    return read_error(inner).message or text


def _headers(error: BaseException) -> Mapping[str, str]:
    """The provider's headers: which of the two places holds them differs between releases."""
    response = getattr(error, "response", None)
    return (
        getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    )


def _code(error: Exception) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        fields = cast("Mapping[str, object]", body)
        return " ".join(str(fields[k]) for k in ("code", "type") if fields.get(k))
    return str(getattr(error, "code", None) or "")
