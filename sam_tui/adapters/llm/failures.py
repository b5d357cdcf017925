"""Converts a provider's refusal to an error, by one set of rules for every adapter."""

import json
import math
import re
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote

from sam_tui.core import errors
from sam_tui.core.text.nesting import mapping_of

_LONGEST = 600
_LONGEST_READ = 16 * 1024
"""The most characters of a refusal that are read: a proxy's long page begins with the reason."""
_SHORTEST_KEY = 4
"""Shorter keys are not masked: they are fillers such as ``x``, and masking them would garble the text."""
_PIECE = 8
"""The least number of consecutive characters of a key that are masked, as providers quote parts of it."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Patterns as text: ``re`` compiles one, and stores it, when a request first fails.
_CONTEXT_SIZE = (
    r"(?i)(?:(?:context (?:length|size|window)|n_ctx|model length|maximum)(?:(?!\bby\b)\D){0,40}?"
    r"|(?:limit|exceed|less than|<=)(?:(?!\bby\b)[^\d(]){0,40}?|\[\d+, )(\d[\d,]{3,})"
    r"|(\d[\d,]{3,}) maximum"
)
"""The context size in a refusal, as in "maximum context length is 8192 tokens" or "n_ctx: 4096"."""
_CONTEXT = (
    r"(?i)context[ _-]?length|context[ _-]?window|maximum context|context size|prompt is too long"
    r"|prompt too long|maximum (?:prompt|model) length|input is too long|exceeds max length"
    r"|token count .*exceeds|too many (?:input )?tokens|(?:model|input) token limit|token_limit"
    r"|max_new_tokens. must be|must have less than \d+ tokens|range of input length"
    r"|reduce the length of the messages|greater than the context|exceed_context"
)
_NO_TOOLS = (
    r"(?i)not support (?:tool|function)|support tool use|tool use is not supported|auto-tool-choice"
)
_NO_MODEL = (
    r"(?is)model_not_found|model.{0,80}(does not exist|not found|is not (supported|available))"
    r"|no such model|unknown model"
)
_BAD_KEY = (
    r"(?i)(invalid|incorrect|missing|expired)[ _]api[ _]key|api[ _]key not valid"
    r"|authentication_error"
)
_QUOTA = r"(?i)insufficient_quota|billing_hard_limit|credit balance is too low"
_LIMIT = r"(?i)rate[ _]?limit|too many requests|resource[ _]?exhausted"
_BUSY = r"(?i)overloaded|server[ _]error|unavailable|timeout|internal[ _]error"


@dataclass(frozen=True, slots=True)
class FailureSource:
    """The recipient of a request: ``model`` and ``where`` in words, and secrets that are never shown."""

    model: str
    where: str
    key: str = ""
    key_variable: str = ""
    local: bool = False

    def clean(self, text: str) -> str:
        """Text from outside for display: without the key and control characters, and shortened."""
        text = text[:_LONGEST_READ]
        if len(self.key) >= _SHORTEST_KEY:
            for key in (self.key, quote(self.key, safe=""), json.dumps(self.key)[1:-1]):
                text = _without_pieces(text.replace(key, "[key]"), key)
        text = _CONTROL.sub(" ", text).strip()
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _without_pieces(text: str, key: str) -> str:
    """Text without any piece of a key that is long enough to help somebody guess the rest."""
    covered = bytearray(len(text))
    for start in range(len(key) - _PIECE + 1):
        at = text.find(key[start : start + _PIECE])
        while at >= 0:
            covered[at : at + _PIECE] = b"\1" * _PIECE
            at = text.find(key[start : start + _PIECE], at + 1)
    if not any(covered):
        return text
    parts: list[str] = []
    for at, letter in enumerate(text):
        if not covered[at]:
            parts.append(letter)
        elif at == 0 or not covered[at - 1]:
            parts.append("[key]")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class ProviderRefusal:
    """A refusal as it came. ``code`` joins the provider's own code and type."""

    status: int | None
    message: str
    code: str = ""
    retry_after: float | None = None


def read_refusal(status: int, body: bytes, headers: Mapping[str, str]) -> ProviderRefusal:
    """A refusal from an HTTP answer; ``headers`` with lower-case names."""
    text = body.decode("utf-8", "replace")
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    retry = retry_after(headers)
    if parsed is not None:
        error = read_error(parsed, status=status)
        return ProviderRefusal(status, error.message, error.code, retry)
    if "<html" in text[:2000].lower() or "<!doctype" in text[:100].lower():
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = f"a web page: {title.group(1).strip()}" if title else "a web page"
    return ProviderRefusal(status, text, "", retry)


def read_error(parsed: object, *, status: int | None = None) -> ProviderRefusal:
    """A refusal from parsed JSON, in any of the shapes providers use."""
    first = parsed
    if isinstance(parsed, list):
        first = next(iter(cast("list[object]", parsed)), None)
    error = mapping_of(first).get("error", first)
    inner = mapping_of(error)
    if not inner:
        return ProviderRefusal(status, error if isinstance(error, str) else "")
    codes = [inner.get("code"), inner.get("type"), inner.get("status")]
    if status is None:
        status = next((n for n in map(_as_status, codes) if n is not None), None)
    return ProviderRefusal(status, _message(inner), " ".join(map(str, filter(None, codes))))


def _message(error: Mapping[str, object]) -> str:
    """The message of an error, and that of the provider behind a router."""
    texts = (error.get(k) for k in ("message", "detail", "error_description", "error"))
    message = next((t if isinstance(t, str) else json.dumps(t) for t in texts if t), "")
    raw = mapping_of(error.get("metadata")).get("raw")
    return f"{message}: {raw}" if isinstance(raw, str) and raw else message


def failure(
    refusal: ProviderRefusal, source: FailureSource, *, started: bool = False
) -> errors.ModelError:
    """The error for a refusal.

    ``started``: part of the answer had come; then a failure without a clear cause is ``ModelCut``.
    """
    message = source.clean(refusal.message) or "no reason given"
    kind = _kind(refusal)
    if kind is errors.ModelUnavailable and started:
        kind = errors.ModelCut
    lead, hint = _words(kind, refusal, source)
    if kind is errors.ContextExceeded:
        limit = _told_limit(refusal.message)
        return errors.ContextExceeded(
            f"{lead}: {message}", hint=hint, status=refusal.status, limit=limit
        )
    return kind(
        f"{lead}: {message}", hint=hint, status=refusal.status, retry_after=refusal.retry_after
    )


def no_answer(beginning: bytes, source: FailureSource, hint: str = "") -> errors.ModelRejected:
    """The error for a response that is no model's; it quotes the beginning."""
    text = source.clean(beginning.decode("utf-8", "replace"))
    began = f" It began: {text[:200]}" if text else ""
    return errors.ModelRejected(f"{source.where} did not answer as a model does.{began}", hint=hint)


def _told_limit(message: str) -> int | None:
    """The model's context in tokens, where the refusal names it."""
    match = re.search(_CONTEXT_SIZE, message)
    return int((match[1] or match[2]).replace(",", "")) if match else None


def unreachable(error: BaseException, source: FailureSource) -> errors.ModelError:
    """The error for a connection that failed."""
    causes = causes_of(error)
    where, check = source.where, "Check the address and the network."
    if any(isinstance(c, socket.gaierror) for c in causes):
        return errors.ModelUnavailable(f"The name of {where} cannot be resolved.", hint=check)
    if any("CERTIFICATE_VERIFY_FAILED" in str(c) for c in causes):
        hint = "Point SSL_CERT_FILE at the certificates of your network, if it has its own."
        return errors.ModelRejected(f"The certificate of {where} is not trusted.", hint=hint)
    if any(isinstance(c, ssl.SSLError) for c in causes):
        hint = "If the server has no https, write its address with http://."
        return errors.ModelRejected(f"A secure connection to {where} could not be made.", hint=hint)
    hint = "Start the server, or check --api-base." if source.local else check
    return errors.ModelUnavailable(f"Nothing answers at {where}.", hint=hint)


def causes_of(error: BaseException) -> list[BaseException]:
    """An error and all its causes, including those of exception groups."""
    causes: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or any(current is cause for cause in causes):
            continue
        causes.append(current)
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", current).exceptions
    return causes


def _kind(refusal: ProviderRefusal) -> type[errors.ModelError]:
    status, text = refusal.status, f"{refusal.code} {refusal.message}"
    for statuses, words, kind in _BY_BOTH:
        if status in statuses and re.search(words, text):
            return kind
    if status == 429 or re.search(_LIMIT, refusal.code):
        return errors.ContextExceeded if status == 413 else errors.ModelLimited
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and not 300 <= status < 500:
        return errors.ModelUnavailable
    return _by_words(status, text)


_BY_BOTH: tuple[tuple[tuple[int | None, ...], str, type[errors.ModelError]], ...] = (
    ((None, 400, 413, 422, 500), _CONTEXT, errors.ContextExceeded),
    ((None, 400, 403, 429), _QUOTA, errors.ModelRejected),
    ((None, 400, 404, 422, 500), _NO_TOOLS, errors.ModelRejected),
)
_IMAGE = r"(?i)\bimages?\b"
_IMAGE_HINT = (
    "If it means an image of the conversation, continue before that: /rewind, or “sam-tui sessions "
    "show ID --numbers” and “fork ID --at N”."
)
_BY_STATUS: dict[int | None, type[errors.ModelError]] = {
    401: errors.ModelAuthError,
    403: errors.ModelAuthError,
    404: errors.ModelNotFound,
    408: errors.ModelUnavailable,
    413: errors.ContextExceeded,
    425: errors.ModelUnavailable,
}


def _by_words(status: int | None, text: str) -> type[errors.ModelError]:
    if re.search(_BAD_KEY, text):
        return errors.ModelAuthError
    if re.search(_NO_MODEL, text):
        return errors.ModelNotFound
    if status is not None:
        return errors.ModelRejected
    if re.search(_LIMIT, text):
        return errors.ModelLimited
    refused = "invalid_request" in text and not re.search(_BUSY, text)
    return errors.ModelRejected if refused else errors.ModelUnavailable


_WORDS: Mapping[type[errors.ModelError], tuple[str, str]] = {
    errors.ModelAuthError: (
        "{where} did not accept the key",
        "Set {variable}, or pass --api-key.",
    ),
    errors.ModelNotFound: (
        "{where} has no model {model}",
        "Check the model's name and the address: most end in /v1.",
    ),
    errors.ContextExceeded: (
        "The request is too long for {model}",
        "Send a shorter message, several parts or fewer attachments (/rewind undoes this "
        "one), or choose a model with a longer context.",
    ),
    errors.ModelLimited: (
        "{where} limits requests",
        "Wait {wait}, or choose another model.",
    ),
    errors.ModelCut: (
        "{where} broke off the answer",
        "Ask again.",
    ),
    errors.ModelUnavailable: (
        "{where} could not answer",
        "Try again later, or choose another model.",
    ),
}
"""The beginning of the message and the hint, by kind of error."""


def _words(
    kind: type[errors.ModelError], refusal: ProviderRefusal, source: FailureSource
) -> tuple[str, str]:
    """Return the beginning of the message, and the hint."""
    where = source.where
    code = f" ({refusal.status})" if refusal.status else ""
    if kind in _WORDS:
        variable = source.key_variable or "SAM_TUI_API_KEY"
        text, hint = _WORDS[kind]
        words = text.format(where=where, model=source.model)
        return words + code, hint.format(variable=variable, wait=_wait(refusal.retry_after))
    if refusal.status == 402 or re.search(_QUOTA, f"{refusal.code} {refusal.message}"):
        return f"{where} requires payment{code}", "Check the account's credit and limits."
    if re.search(_NO_TOOLS, refusal.message):
        hint = "Choose a model that supports tools, or offer this one none: --tools ''."
        return f"{where} offers no tools with {source.model}{code}", hint
    if refusal.status is not None and 300 <= refusal.status < 400:
        return f"{where} redirects elsewhere{code}", "Pass the final address with --api-base."
    hint = _IMAGE_HINT if re.search(_IMAGE, refusal.message) else ""
    return f"{where} refused the request{code}", hint


def _wait(seconds: float | None) -> str:
    """How long a provider asks to wait, in words."""
    return f"{round(seconds / 60):.6g} minutes" if seconds and seconds > 90 else "a little"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``retry-after`` (RFC 9110, 10.2.3: number or date)."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime  # 8 ms, needed by few

    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    try:  # by the server's clock: this machine's may be set differently
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, OverflowError):
        now = time.time()
    return max(0.0, moment - now)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _as_status(code: object) -> int | None:
    text = str(code)
    return int(text) if text.isdecimal() and len(text) == 3 and text[0] in "345" else None
