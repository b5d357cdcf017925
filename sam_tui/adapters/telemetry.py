"""OpenTelemetry: traces and metrics of an agent's work, for a collector that the person names.

Events become spans and counts (names, numbers and outcomes alone: no prompt, argument, path or answer),
which go out in batches, as OTLP over HTTP in JSON, from a thread of their own.
"""

import json
import logging
import os
import queue
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from sam_tui import __version__
from sam_tui.core import events
from sam_tui.core.clock import Clock
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import Model
from sam_tui.core.usage import Usage

logger = logging.getLogger(__name__)

MOST_WAITING = 64
"""The most batches that wait; further ones are dropped, so that a slow collector delays nothing."""
SECONDS = 5.0
"""Seconds that the collector may take for one batch, and at the end for all that wait."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\xa0-\xff]*")
"""A valid value of a header (RFC 9110, 5.5)."""
_Batch = tuple[str, bytes]


class OtlpSender:
    """Sends batches to one collector, whose address is http or https.

    ``headers`` are as ``OTEL_EXPORTER_OTLP_HEADERS`` has them: ``name=value,name=value``.
    """

    def __init__(self, endpoint: str, headers: str = "") -> None:
        address = urlsplit(endpoint)
        self._secure, self._folder = address.scheme == "https", address.path.rstrip("/")
        self._host, self._port = address.hostname or "", address.port
        valid, unfit = headers_of(headers)
        for name in unfit:
            logger.warning("telemetry: a header is left out, %r cannot be sent", name)
        self._headers = {"Content-Type": "application/json", **valid}
        self._batches: queue.Queue[_Batch | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def send(self, path: Literal["/v1/traces", "/v1/metrics"], body: dict[str, object]) -> None:
        """Queue one batch for sending; never waits."""
        data = json.dumps(body, separators=(",", ":")).encode()
        try:
            self._batches.put_nowait((f"{self._folder}{path}", data))
        except queue.Full:
            logger.warning("telemetry: the collector is too slow, a batch was dropped")

    def close(self) -> None:
        """Wait a short time until the queued batches are sent."""
        try:
            self._batches.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(SECONDS)

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                self._post(*batch)
            except (OSError, ValueError) as error:
                logger.warning("telemetry: %s cannot be reached: %s", self._host, error)

    def _post(self, path: str, data: bytes) -> None:
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        kind = HTTPSConnection if self._secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=SECONDS)
        try:
            connection.request("POST", path, data, self._headers)
            status = connection.getresponse().status
        except HTTPException as error:
            raise ValueError(f"it does not speak HTTP: {error}") from None
        finally:
            connection.close()
        if status >= 300:
            logger.warning("telemetry: the collector answered %s to %s", status, path)


def headers_of(text: str) -> tuple[dict[str, str], list[str]]:
    """The valid headers of a text, and the names of those that cannot be sent."""
    headers: dict[str, str] = {}
    unfit: list[str] = []
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, value = entry.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if _NAME.fullmatch(name) and _VALUE.fullmatch(value):
            headers[name] = value
        else:
            unfit.append(name.partition(":")[0][:50])  # what follows may be the key
    return headers, unfit


Value = str | int | float | bool
Attributes = dict[str, Value]
_Series = tuple[str, tuple[tuple[str, Value], ...]]
MOST_SPANS = 2000
"""The most spans of one turn, and the most events; further spans are only counted."""
UNKNOWN = "unknown"
"""Replaces the name of an operation that does not exist, because a model can put any text there."""
_NANO = 1_000_000_000


@dataclass(slots=True)
class _OpenTurn:
    """A running turn, with the spans and events that ended in it."""

    trace: str
    span: str
    parent: str
    began: float
    spans: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    requested_at: float = 0.0
    left_out: int = 0


class TelemetryRecorder:
    """Listens to one runtime. ``model`` gives the model that answers in a conversation."""

    def __init__(
        self, sender: OtlpSender, clock: Clock, model: Callable[[ConversationId], Model | None]
    ) -> None:
        self._sender = sender
        self._clock = clock
        self._model = model
        self._resource = {
            "attributes": _attributes({"service.name": "sam-tui", "service.version": __version__})
        }
        self._scope = {"name": "sam-tui", "version": __version__}
        self._turns: dict[ConversationId, _OpenTurn] = {}
        self._parents: dict[ConversationId, _OpenTurn] = {}
        self._counts: dict[_Series, int | float] = {}
        self._since = clock.now()

    def take(self, event: events.Event) -> None:
        """Record an event of the bus."""
        match event:
            case events.TurnStarted(conversation=conversation):
                self._begin(conversation)
            case events.SubagentStarted(conversation=parent, child=child) if parent in self._turns:
                self._parents[child] = self._turns[parent]
            case events.TurnFinished():
                self._end(event)
            case (
                events.RequestSent()
                | events.Answered()
                | events.ToolFinished()
                | events.DecisionMade()
                | events.ModelRetried()
            ):
                turn = self._turns.get(event.conversation)
                if turn is not None:
                    self._within(turn, event)
            case _:
                pass

    def _begin(self, conversation: ConversationId) -> None:
        parent = self._parents.pop(conversation, None)
        trace = parent.trace if parent else os.urandom(16).hex()
        above = parent.span if parent else ""
        self._turns[conversation] = _OpenTurn(trace, os.urandom(8).hex(), above, self._clock.now())

    def _within(
        self,
        turn: _OpenTurn,
        event: events.RequestSent
        | events.Answered
        | events.ToolFinished
        | events.DecisionMade
        | events.ModelRetried,
    ) -> None:
        now = self._clock.now()
        match event:
            case events.RequestSent():
                turn.requested_at = now
            case events.Answered(usage=usage):
                self._asked(turn, event, usage)
            case events.ModelRetried(status=status):
                turn.events.append(_event("model_retried", now, {"http.status": status or 0}))
                self._count("sam_tui.model.retries", 1)
            case events.ToolFinished(ok=ok, seconds=seconds):
                operation = event.operation if event.resolved else UNKNOWN
                attributes: Attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": operation,
                    "sam_tui.ok": ok,
                }
                self._add(turn, f"execute_tool {operation}", now - seconds, attributes)
                self._count("sam_tui.calls", 1, operation=operation, ok=ok)
            case events.DecisionMade(decision=decision):
                words: Attributes = {
                    "operation": decision.operation,
                    "outcome": decision.outcome,
                    "by": decision.by,
                }
                turn.events.append(_event("decision", now, words))
                self._count("sam_tui.decisions", 1, outcome=decision.outcome, by=decision.by)

    def _asked(self, turn: _OpenTurn, event: events.Answered, usage: Usage) -> None:
        running = self._model(event.conversation)
        model = running.name if running is not None else ""
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "sam_tui.usage.cached_tokens": usage.cached_tokens,
            "sam_tui.calls": len(event.message.calls),
        }
        self._add(turn, f"chat {model}".strip(), turn.requested_at or turn.began, attributes)
        self._count("sam_tui.tokens", usage.input_tokens, type="input", model=model)
        self._count("sam_tui.tokens", usage.output_tokens, type="output", model=model)
        if usage.cost is not None:
            self._count("sam_tui.cost", usage.cost, model=model)

    def _add(self, turn: _OpenTurn, name: str, began: float, attributes: Attributes) -> None:
        if len(turn.spans) >= MOST_SPANS:
            turn.left_out += 1
            return
        identity = {"traceId": turn.trace, "spanId": os.urandom(8).hex()}
        turn.spans.append({
            **identity,
            "parentSpanId": turn.span,
            "name": name,
            "kind": 1,
            **_times(began, self._clock.now()),
            "attributes": _attributes(attributes),
        })

    def _end(self, finished: events.TurnFinished) -> None:
        turn = self._turns.pop(finished.conversation, None)
        if turn is None:
            return
        attributes: Attributes = {
            "gen_ai.conversation.id": finished.conversation,
            "sam_tui.reason": finished.reason,
            "sam_tui.steps": finished.steps,
            "sam_tui.spans_left_out": turn.left_out,
        }
        whole = {
            "traceId": turn.trace,
            "spanId": turn.span,
            "parentSpanId": turn.parent,
            "name": "turn",
            "kind": 1,
            **_times(turn.began, self._clock.now()),
            "attributes": _attributes(attributes),
            "events": turn.events[:MOST_SPANS],
            "status": {"code": 1 if finished.reason == "finished" else 2},
        }
        self._count("sam_tui.turns", 1, reason=finished.reason)
        scoped = {"scope": self._scope, "spans": [*turn.spans, whole]}
        spans = {"resource": self._resource, "scopeSpans": [scoped]}
        self._sender.send("/v1/traces", {"resourceSpans": [spans]})
        self._sender.send("/v1/metrics", self._metrics())

    def _count(self, name: str, value: float, **attributes: Value) -> None:
        if value:
            series = name, tuple(attributes.items())
            self._counts[series] = self._counts.get(series, 0) + value

    def _metrics(self) -> dict[str, Any]:
        """The counts since the last call, which resets them."""
        points: dict[str, list[dict[str, Any]]] = {}
        times = _times(self._since, self._clock.now())
        window = {
            "startTimeUnixNano": times["startTimeUnixNano"],
            "timeUnixNano": times["endTimeUnixNano"],
        }
        for (name, attributes), value in self._counts.items():
            number = {"asInt": str(value)} if isinstance(value, int) else {"asDouble": value}
            point = {**window, "attributes": _attributes(dict(attributes)), **number}
            points.setdefault(name, []).append(point)
        self._counts.clear()
        self._since = self._clock.now()
        sums = [
            {
                "name": name,
                "sum": {"aggregationTemporality": 1, "isMonotonic": True, "dataPoints": entries},
            }
            for name, entries in points.items()
        ]
        scoped = {"scope": self._scope, "metrics": sums}
        return {"resourceMetrics": [{"resource": self._resource, "scopeMetrics": [scoped]}]}


def _event(name: str, at: float, attributes: Attributes) -> dict[str, object]:
    return {
        "name": name,
        "timeUnixNano": str(round(at * _NANO)),
        "attributes": _attributes(attributes),
    }


def _times(began: float, ended: float) -> dict[str, str]:
    start, end = round(began * _NANO), round(max(began, ended) * _NANO)
    return {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}


def _attributes(values: Attributes) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Value) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}
